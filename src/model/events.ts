/**
 * What long work says while it goes on. The plain log on stderr, `--events jsonl` and the audit log are listeners of these;
 * nothing in an event is secret.
 */
export type SrcipEvent =
  | {readonly type: 'step-started'; readonly step: string; readonly title: string}
  | {
      readonly type: 'step-progress'
      readonly step: string
      readonly message: string
      readonly done?: number
      readonly total?: number
    }
  | {
      readonly type: 'step-done'
      readonly step: string
      readonly title: string
      readonly changed: boolean
      readonly detail?: string
    }
  | {readonly type: 'step-failed'; readonly step: string; readonly title: string; readonly reason: string}
  | {readonly type: 'warning'; readonly message: string}
  | {readonly type: 'info'; readonly message: string}

/** Receives events as they happen; must not throw. */
export type EventSink = (event: SrcipEvent) => void
