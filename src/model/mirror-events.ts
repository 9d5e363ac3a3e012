/** What a copy, export or verification reports while it works. Names are stable: `--events jsonl` prints them as they are. */
export type CopyEvent =
  | {readonly type: 'blob.start'; readonly digest: string; readonly repository: string; readonly size: number}
  | {readonly type: 'blob.progress'; readonly digest: string; readonly done: number; readonly size: number}
  | {
      readonly type: 'blob.skip'
      readonly digest: string
      readonly repository: string
      readonly size: number
      readonly reason: 'exists' | 'mounted'
    }
  | {readonly type: 'blob.retry'; readonly digest: string; readonly repository: string; readonly reason: string}
  | {
      readonly type: 'blob.done'
      readonly digest: string
      readonly repository: string
      readonly size: number
      readonly ms: number
    }
  | {readonly type: 'manifest.done'; readonly digest: string; readonly repository: string}
  | {readonly type: 'tag.done'; readonly repository: string; readonly tag: string; readonly digest: string}
  | {
      readonly type: 'tag.conflict'
      readonly repository: string
      readonly tag: string
      readonly held: string
      readonly wanted: string
    }
  | {readonly type: 'extra.skipped'; readonly subject: string; readonly name: string; readonly reason: string}
  | {readonly type: 'item.start'; readonly item: string}
  | {readonly type: 'item.total'; readonly item: string; readonly blobs: number; readonly bytes: number}
  | {readonly type: 'item.done'; readonly item: string; readonly status: string; readonly digest: string}
  | {readonly type: 'item.failed'; readonly item: string; readonly reason: string}
  | {readonly type: 'host.wait'; readonly host: string; readonly reason: string; readonly waitMs: number}
  | {
      readonly type: 'request.retry'
      readonly host: string
      readonly what: string
      readonly reason: string
      readonly waitMs: number
    }
  | {readonly type: 'warning'; readonly message: string}

export type CopyEventSink = (event: CopyEvent) => void
