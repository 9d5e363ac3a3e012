/** Longest text of a remote side that is shown. */
const shownLength = 200

/**
 * Makes text from a registry, an archive or a header safe to print: no control characters (terminal escapes),
 * no line breaks, at most 200 characters.
 */
export function cleanText(text: string, length: number = shownLength): string {
  // Control characters of C0, DEL and C1, and the bidirectional overrides that reorder a terminal line.
  const printable = text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g, ' ').trim()
  return printable.length > length ? `${printable.slice(0, length)}…` : printable
}

const secretParameter =
  /([?&](?:token|access_token|refresh_token|password|_state|sig|signature|x-[a-z0-9-]+)=)[^&\s"']*/gi

/** Removes user information and the query of an address: presigned addresses and upload states are secrets. */
export function redactUrl(address: string | URL): string {
  try {
    const url = new URL(String(address))
    return `${url.protocol}//${url.host}${url.pathname}${url.search === '' ? '' : '?…'}`
  } catch {
    return cleanText(String(address)).replace(secretParameter, '$1…')
  }
}

/** Removes what looks like a credential from free text (an error message of a server or of the operating system). */
export function redactText(text: string): string {
  return cleanText(text, 1000)
    .replace(/\b(bearer|basic)\s+[A-Za-z0-9+/=._~-]{8,}/gi, '$1 …')
    .replace(secretParameter, '$1…')
    .replace(
      /("?(?:token|access_token|refresh_token|identitytoken|password|secret|auth)"?\s*[:=]\s*"?)[^\s"',}]+/gi,
      '$1…',
    )
    .replace(/(https?:\/\/)[^/\s@]+@/gi, '$1')
}
