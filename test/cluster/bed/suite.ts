import {describe, test} from 'vitest'
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
  body: (parts: Record<Name, string>) => void,
): Promise<void> {
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
