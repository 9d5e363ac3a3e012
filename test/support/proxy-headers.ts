import {readFileSync} from 'node:fs'

/** One row of the byte table of case B36. */
export interface HeaderRow {
  readonly name: string
  readonly bytes: Buffer
  readonly nginx: string
  readonly haproxy: string
  readonly ours: string
}

/** The byte table of case B36. */
export function headerRows(): HeaderRow[] {
  const file = new URL('../cases/B36-proxy-header-byte-table/headers.tsv', import.meta.url)
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.flatMap((line) => {
    const [name, hex, nginx, haproxy, ours] = line.split('\t')
    if (line.startsWith('#') || !name || !hex || !nginx || !haproxy || !ours) return []
    return [{name, bytes: Buffer.from(hex === '-' ? '' : hex, 'hex'), nginx, haproxy, ours}]
  })
}
