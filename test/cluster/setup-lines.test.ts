import {afterAll, beforeAll, expect, test} from 'vitest'
import {freePorts, startCoredns} from '../support/coredns-process.ts'
import {setupLines} from '../support/setup-lines.ts'
import {stateFolder, type StateFolder} from './bed/state-folder.ts'
import {describeWithParts} from './bed/suite.ts'

const versions = ['1.14.7', '1.11.3']

await describeWithParts('errors of setup on real CoreDNS', ['coredns-1.14.7', 'coredns-1.11.3'], (parts) => {
  let state: StateFolder
  beforeAll(() => {
    state = stateFolder('setup')
  })
  afterAll(() => state?.release())

  const tried = setupLines.filter(([, version]) => versions.includes(version))

  test.each(tried.map((one, index) => [...one, index] as const))('%s in %s', async (line, version, message, index) => {
    const [port = 0] = await freePorts(1)
    const bound = line.startsWith('bind') ? line : `${line}\n bind 127.0.0.1`
    const started = await startCoredns({
      binary: parts[version === '1.11.3' ? 'coredns-1.11.3' : 'coredns-1.14.7'],
      folder: state.path,
      name: String(index),
      corefile: `.:${port} {\n ${bound}\n}\n`,
      guard: (child) => state.guard(child),
    })
    await started.stop()
    const said = started
      .output()
      .split('\n')
      .filter((text) => text.startsWith('plugin/'))
      .join('\n')
      .replaceAll(`${state.path}/Corefile.${index}`, 'FILE')
    expect([started.serving, said]).toEqual([message === undefined, message ?? ''])
  })
})
