/**
 * Lays rows out as kubectl does: upper-case headers, columns three blanks apart, no lines, no padding at the end of a row.
 * Cells must not hold line breaks or control characters; those are shown escaped, since cells can carry hostile text.
 */
export function layoutTable(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  showHeaders = true,
): string {
  const all = (showHeaders ? [headers, ...rows] : rows).map((row) => row.map(printable))
  const widths = headers.map((_, column) => all.reduce((width, row) => Math.max(width, (row[column] ?? '').length), 0))
  return all
    .map((row) =>
      row
        .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd((widths[column] ?? 0) + 3)))
        .join('')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('')
}

/**
 * Characters that steer a terminal or cannot be seen on it: C0 and C1 controls, bidirectional and zero-width characters, line
 * and paragraph separators, tags.
 */
const unsafe =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu

/** The same without the line breaks between JSON values; within them they are escaped already. */
const unsafeInJson = new RegExp(unsafe.source.replace('\\u0000-\\u001f', '\\u0000-\\u0009\\u000b-\\u001f'), 'gu')

/** Makes text safe for a terminal: what steers it or cannot be seen is shown as \xNN, \uNNNN or \u{N}. */
export function printable(text: string): string {
  return text.replace(unsafe, (character) => {
    const code = character.codePointAt(0) ?? 0
    if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
    return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`
  })
}

/** Characters of one line of a message that are shown: a word of a hostile file may be as long as the file. */
const longestLine = 4000

/** Makes a message safe for a terminal, line by line; tabs stay, and a line that nobody would read is cut. */
export function printableLines(text: string): string {
  return text.split('\n').map(printableLine).join('\n')
}

function printableLine(line: string): string {
  const shown = line.slice(0, longestLine).split('\t').map(printable).join('\t')
  const more = line.length - longestLine
  return more > 0 ? `${shown} ... (${more} more characters)` : shown
}

/** Does text hold anything that steers a terminal or cannot be seen on it, line breaks apart? */
export function hasUnsafe(text: string): boolean {
  return text.search(unsafeInJson) >= 0
}

/** Keeps JSON text the same document, and makes it safe for a terminal: `JSON.stringify` itself escapes C0 controls only. */
export function printableJson(json: string): string {
  return json.replace(unsafeInJson, (character) =>
    [...Array(character.length).keys()]
      .map((unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
