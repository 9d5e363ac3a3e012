import {readFileSync} from 'node:fs'
import {delimiter, join} from 'node:path'
import {fileURLToPath} from 'node:url'

const containerfile = fileURLToPath(new URL('../../Containerfile', import.meta.url))

/**
 * How a process of the image is started from its assembled folder, without a container: the Containerfile's ENTRYPOINT with the
 * programs of that folder, which stand first in PATH too. The demo and a test of the chart run their pods so.
 *
 * @param folder as `assembleRootfs` has written it
 */
export function imageEntrypoint(folder: string): {entrypoint: string[]; env: Record<string, string>} {
  const text = /^ENTRYPOINT (\[.*\])$/m.exec(readFileSync(containerfile, 'utf8'))?.[1]
  if (text === undefined) throw new Error('the Containerfile has no ENTRYPOINT in JSON form')
  const words = JSON.parse(text) as string[]
  return {
    entrypoint: words.map((word) => join(folder, word)),
    env: {
      PATH: [join(folder, 'usr/bin'), join(folder, 'usr/sbin'), process.env['PATH'] ?? '/usr/bin:/bin'].join(delimiter),
      NODE_ENV: 'production',
    },
  }
}
