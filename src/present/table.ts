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
  const widths = headers.map((_, column) => Math.max(0, ...all.map((row) => (row[column] ?? '').length)))
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

/** Makes text safe for a terminal: control characters (also C1 and bidirectional overrides) are shown as \xNN or \uNNNN. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (character) => {
    const code = character.charCodeAt(0)
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
  })
}
