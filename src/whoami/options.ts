import {parseCidr, type Cidr} from '../proxy/index.ts'

/** What `whoami` listens on and whom it believes. */
export interface WhoamiOptions {
  /** Address to listen on; `::` is every address. */
  readonly listen: string
  /** 0 asks the system for a port. Absent: not served. */
  readonly ports: {
    readonly http?: number | undefined
    readonly https?: number | undefined
    readonly tcp?: number | undefined
  }
  /** PEM text; needed for `https`. */
  readonly certificate?: {readonly cert: string; readonly key: string} | undefined
  readonly trusted: readonly Cidr[]
  /** A trusted peer that omits the header is cut, as `proxy --accept-proxy` does. */
  readonly demandsHeader: boolean
  /** Milliseconds that a connection may take for its first bytes on `tcp`, and for a header that has begun. */
  readonly headerTimeout: number
  readonly maxConnections: number
}

/** Ranges as flags and environment give them: several in one text stand with spaces or commas between. Throws a usage error that names the text. */
export function parseTrusted(texts: readonly string[]): Cidr[] {
  return texts.flatMap((text) => text.split(/[\s,]+/).filter(Boolean)).map(parseCidr)
}
