/** 1536 -> "1.5 KiB"; whole bytes below one KiB. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return unit === 0 ? `${value} B` : `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`
}

/**
 * Reads a size such as `4G`, `512MiB`, `1000000`: K, M, G, T are powers of 1024 as in tools that cut files.
 * @returns bytes, or undefined when the text is no size
 */
export function parseBytes(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?$/i.exec(text.trim())
  if (match === null) return undefined
  const power = ['', 'K', 'M', 'G', 'T'].indexOf((match[2] ?? '').toUpperCase())
  const bytes = Math.floor(Number(match[1]) * 1024 ** power)
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined
}
