import type {Clock} from '../../src/kube/index.ts'

/** A clock without waiting: every timer is due at once and takes the clock to its time. For code that has one wait at a time. */
export function jumpClock(): Clock {
  let now = 0
  return {
    now: () => now,
    wall: () => Date.UTC(2026, 0, 1) + now,
    after(ms, run) {
      let live = true
      setImmediate(() => {
        if (!live) return
        now += ms
        run()
      })
      return () => {
        live = false
      }
    },
  }
}
