import type {Log} from '../kube/index.ts'

/**
 * What nobody has caught ends the process with 1 (controller.md 3.8), since nothing is known of its state any more; its last line is one
 * of the log like every other. Returns what takes the listeners away again.
 */
export function sayLastWords(log: Log): () => void {
  const end = (what: string) => (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error)
    const stack = error instanceof Error ? error.stack : undefined
    log.error(`this is a bug in srcip: ${what}: ${message}`, {...(stack === undefined ? {} : {stack}), exitCode: 1})
    process.exit(1)
  }
  const rejected = end('unhandled rejection')
  const thrown = end('uncaught exception')
  process.on('unhandledRejection', rejected)
  process.on('uncaughtException', thrown)
  return () => {
    process.off('unhandledRejection', rejected)
    process.off('uncaughtException', thrown)
  }
}
