import type {EventSink} from '../../model/events.ts'

/** Runs a piece of work as a step that listeners see begin and end; an error is passed on after it was told. */
export async function announce<T>(
  onEvent: EventSink,
  {step, title, changed}: {readonly step: string; readonly title: string; readonly changed: (result: T) => boolean},
  work: () => Promise<T>,
): Promise<T> {
  onEvent({type: 'step-started', step, title})
  try {
    const result = await work()
    onEvent({type: 'step-done', step, title, changed: changed(result)})
    return result
  } catch (error) {
    onEvent({type: 'step-failed', step, title, reason: error instanceof Error ? error.message : String(error)})
    throw error
  }
}
