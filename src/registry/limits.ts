/**
 * Upper bounds on everything that a registry, an archive or a plan file can choose the size of.
 * A server that sends more is answered with an error that names it; nothing is read without a bound.
 */
export const limits = {
  /** Bytes of a manifest that we would push; the distribution spec asks registries to take at least 4 MB. */
  manifest: 4 * 1024 * 1024,
  /** Bytes read before a manifest is called too large, so that the message can say so. */
  manifestRead: 8 * 1024 * 1024,
  /** Bytes of a token endpoint's answer. */
  token: 256 * 1024,
  /** Bytes of an error body that are looked at. */
  errorBody: 64 * 1024,
  /** Bytes of response headers. */
  headers: 64 * 1024,
  /** Bytes of one page of referrers or tags, and how many pages are followed. */
  page: 8 * 1024 * 1024,
  pages: 100,
  /** Bytes of an index.json of a layout or archive. */
  layoutIndex: 16 * 1024 * 1024,
  /** Nesting of indexes and of referrers of referrers. */
  depth: 8,
  referrerDepth: 5,
  /** Descriptors in one graph. */
  descriptors: 10_000,
  /** Bytes of one blob, unless the caller allows more. */
  blob: 64 * 1024 ** 3,
  /** Entries of an archive, and bytes of one pax header. */
  archiveEntries: 100_000,
  paxHeader: 64 * 1024,
  /** A chart archive: bytes in, bytes out, entries. */
  chartIn: 32 * 1024 * 1024,
  chartOut: 128 * 1024 * 1024,
  chartEntries: 20_000,
  /** Largest chunk that a server may ask for (OCI-Chunk-Min-Length). */
  chunk: 256 * 1024 * 1024,
  /** Redirects followed for one request. */
  redirects: 5,
} as const
