import {start, type Bed, type BedOptions} from './bed.ts'
import {partPaths, type PartName} from './parts.ts'

/**
 * A suite that needs real parts. With a part missing its tests are skipped by name, with the reason in the title, and
 * counted; with `CI=true` one failing test takes their place. `body` gets the paths, to be used in hooks and tests.
 *
 *     await describeWithParts('real CoreDNS', ['coredns-1.14.7'], (parts) => { test('…', …) })
 */
export async function describeWithParts<Name extends PartName>(
  title: string,
  names: readonly Name[],
  body: (parts: Record<Name, string>) => void | Promise<void>,
): Promise<void> {
  // Only inside a test run: the demo uses this library without vitest.
  const {describe, test} = await import('vitest')
  const paths = await partPaths(names)
  if (!('missing' in paths)) {
    describe(title, () => body(paths))
    return
  }
  const reason = String(paths.missing)
  if (process.env['CI'] === 'true') {
    test(title, () => {
      throw new Error(`missing part: ${reason}`)
    })
    return
  }
  const none = Object.fromEntries(names.map((name) => [name, ''])) as Record<Name, string>
  describe.skip(`${title} [skipped, missing part ${reason}]`, () => body(none))
}

/**
 * A bed for a suite: started before its tests and ended after them, with its logs kept when one of them failed.
 * Call it inside the body of `describeWithParts(title, BED_PARTS, …)`; the answer gives the bed to hooks and tests.
 */
export async function bedForSuite(options: BedOptions = {}): Promise<() => Bed> {
  const {afterAll, afterEach, beforeAll} = await import('vitest')
  let bed: Bed | undefined
  // A hook that fails leaves no test result: then nothing was good yet.
  let failed = true
  let ran = 0
  beforeAll(async () => {
    bed = await start(options)
  })
  afterEach(({task}) => {
    failed = (ran > 0 && failed) || task.result?.state === 'fail'
    ran += 1
  })
  afterAll(() => bed?.stop(failed ? {keep: true} : {}))
  return () => {
    if (bed === undefined) throw new Error('the bed is not started yet: use it in hooks and tests only')
    return bed
  }
}
