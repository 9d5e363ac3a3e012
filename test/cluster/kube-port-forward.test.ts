import {fileURLToPath} from 'node:url'
import {beforeAll, expect, test} from 'vitest'
import {BED_PARTS, bedForSuite, describeWithParts} from './bed/index.ts'

const program = (name: string): string => fileURLToPath(new URL(`../support/${name}`, import.meta.url))

// From the laptop of the bed, which reaches the API and no pod.
await describeWithParts('port-forward and logs through a real API server', BED_PARTS, async () => {
  const current = await bedForSuite({
    users: [{name: 'reader', groups: ['readers']}],
    images: {'bed/pipes:1': {entrypoint: [process.execPath, program('pipes-main.ts')]}},
  })

  beforeAll(async () => {
    await current().create(
      {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'talk'}},
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {namespace: 'talk', name: 'pipes'},
        spec: {containers: [{name: 'pipes', image: 'bed/pipes:1'}]},
      },
    )
    await current().waitReady('talk')
  })

  async function talk(mode: string, options: {user?: string} = {}): Promise<Record<string, unknown>> {
    const {stdout, stderr} = await current().cli([process.execPath, program('pod-talk-main.ts'), mode], options)
    if (stdout === '') throw new Error(stderr)
    return JSON.parse(stdout) as Record<string, unknown>
  }

  test('bytes go both ways unaltered, with back-pressure; failures say what failed', async () => {
    const results = await talk('all')
    const echoed = {begins: 'hello x', length: 200_006}
    expect(results).toMatchObject({
      echo: echoed,
      many: Array.from({length: 8}, () => echoed),
      download: {bytes: 32 * 1024 * 1024, inOrder: true},
      upload: {answer: String(8 * 1024 * 1024)},
      closedPort: {
        exitCode: 30,
        message: expect.stringMatching(/port-forward to pod\/talk\/pipes failed: .*(refused|9)/),
      },
      noPod: {exitCode: 32, status: 404, message: expect.stringContaining('pod/talk/nobody')},
      logs: {tail: 2, limited: 5, follow: true},
      noLog: {exitCode: 32, status: 404},
      pods: 1,
    })
    // While nobody read, only as much was taken as a stream holds.
    expect((results['download'] as {buffered: number}).buffered).toBeLessThan(4 * 1024 * 1024)
    expect((results['upload'] as {waits: number}).waits).toBeGreaterThan(0)
  })

  test('without the right to it: exit 31, and the right is named', async () => {
    const {denied} = await talk('denied', {user: 'reader'})
    expect(denied).toMatchObject({
      exitCode: 31,
      status: 403,
      message: expect.stringContaining('create pods/portforward "pipes" in namespace "talk"'),
    })
  })
})
