/*
 * Secrets leave no trace in a snapshot. What is kept of an object is chosen by allow-lists (the other files of this
 * folder); here is the second line of defence, for texts that must be kept: Corefiles, settings, arguments.
 */

/** What stands in place of a secret, or of a text that is not read. */
export const masked = '<masked>'

/** Words that make the name of a setting, key, flag or field suspicious. */
const secretWord =
  /passw|passphrase|secret|token|credential|htpasswd|api[-_.]?key|access[-_.]?key|private[-_.]?key|auth[-_.]?key|(?:encryption|signing|master|shared|hmac|tsig|license|admin)[-_.]?key|keyring|encrypt[-_.]?salt|authorization|bearer|\bpwd\b|\bpsk\b/i

/** Texts that are secrets whatever they are called. None of these backtracks over more than it takes. */
const secretForms: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z0-9 ]{1,40}-----[\s\S]*?(?:-----END [A-Z0-9 ]{1,40}-----|$)/g, masked],
  // base64 of "-----BEGIN ", as kubeconfigs hold it
  [/LS0tLS1CRUdJTi[A-Za-z0-9+/=]*/g, masked],
  [/\b(bearer|basic|digest)[ \t]+[^\s"',]{6,}/gi, `$1 ${masked}`],
  // a JSON web token
  [/\beyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?/g, masked],
  // hashes of passwords: crypt(3), htpasswd
  [/\$(?:apr1|2[abxy]|5|6|7|y|argon2[a-z]{0,2})\$[^\s"',]{6,}/g, masked],
  [/:\/\/[^\s/@]{1,1000}@/g, `://${masked}@`],
  [
    /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abprs]-[\w-]{10,}|\bdop_v1_[0-9a-f]{20,}/g,
    masked,
  ],
]

/** True when a thing of this name is likely to hold a secret. */
export function isSecretName(name: string): boolean {
  return secretWord.test(name)
}

/**
 * A text without what looks like a secret: PEM blocks, authorization headers, tokens, passwords in URLs, and the value
 * behind a suspicious name (`password=`, `"token": `, `client_secret X`), with the block below it where it has one.
 * Works in a time that grows with the text. Masking twice changes nothing.
 */
export function maskText(text: string): string {
  let result = text
  for (const [form, instead] of secretForms) result = result.replace(form, instead)
  return secretWord.test(result) ? maskLines(result) : result
}

/** The value of a named thing: all of it when the name is suspicious, else what in it looks like a secret. */
export function maskNamed(name: string, value: string): string {
  return value !== '' && isSecretName(name) ? masked : maskText(value)
}

function maskLines(text: string): string {
  const lines: string[] = []
  // Indentation of the name whose block is left out.
  let block: number | undefined
  for (const line of text.split('\n')) {
    const indent = line.length - line.trimStart().length
    // Items of a YAML list may stand as far out as their name.
    if (block !== undefined && (line.trim() === '' || indent > block || (indent === block && /^\s*-\s/.test(line)))) {
      const named = lines.at(-1) ?? ''
      if (!named.endsWith(masked)) lines[lines.length - 1] = `${named.trimEnd()} ${masked}`
      continue
    }
    block = undefined
    const result = secretWord.test(line) ? maskLine(line) : {line, opens: false}
    lines.push(result.line)
    if (result.opens) block = indent
  }
  return lines.join('\n')
}

/** `opens`: the value continues in the lines below, further in. */
function maskLine(line: string): {line: string; opens: boolean} {
  const words = new RegExp(secretWord, 'gi')
  let done = ''
  let rest = line
  for (;;) {
    words.lastIndex = 0
    const found = words.exec(rest)
    if (found === null) return {line: done + rest, opens: false}
    const end = found.index + found[0].length + /^[\w.-]*/.exec(rest.slice(found.index + found[0].length))![0].length
    const after = rest.slice(end)
    const head = rest.slice(0, end)
    const assigned = /^(["']?[ \t]*=[ \t]*|["'][ \t]*:[ \t]*|[ \t]*:(?:[ \t]+|$))/.exec(after)
    if (assigned !== null) {
      const value = after.slice(assigned[0].length)
      const before = done + head + assigned[0]
      if (/^[|>]|^$|^[[{]\s*$/.test(value.trim()))
        return {line: value.trim() === '' ? before : before + masked, opens: true}
      const taken = valueLength(value, assigned[0].includes('='))
      if (taken === 0) return {line: done + rest, opens: false}
      done = before + masked
      rest = value.slice(taken)
      continue
    }
    // `client_secret VALUE`, as plugins of a Corefile have it; not `secret.example.org {`.
    if (done === '' && /^[ \t]*[A-Za-z_-]+$/.test(head) && /^[ \t]+[^\s{]/.test(after))
      return {line: `${head} ${masked}`, opens: false}
    done += head
    rest = after
  }
}

/** Characters of an assigned value: a quoted text, one word behind `=`, else the rest of the line. */
function valueLength(value: string, word: boolean): number {
  if (value.startsWith(masked)) return masked.length
  const quote = value[0]
  if (quote === '"' || quote === "'") {
    for (let at = 1; at < value.length; at++) {
      if (value[at] === '\\') at++
      else if (value[at] === quote) return at + 1
    }
    return value.length
  }
  return word ? /^\S*/.exec(value)![0].length : value.length
}
