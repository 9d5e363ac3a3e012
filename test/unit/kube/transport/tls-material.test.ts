import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, expect, test} from 'vitest'
import {systemClock} from '../../../../src/kube/clock.ts'
import type {Log} from '../../../../src/kube/index.ts'
import {TlsFiles} from '../../../../src/kube/transport/tls-material.ts'
import {testAuthority} from '../../../support/certificates.ts'
import {configFor} from '../../../support/kube-configs.ts'

const folder = mkdtempSync(join(tmpdir(), 'srcip-tls-'))
afterAll(() => rmSync(folder, {recursive: true, force: true}))

test('first connections at the same time share one material, and no change of files is reported', async () => {
  const file = join(folder, 'ca.crt')
  writeFileSync(file, testAuthority('ca').cert)
  const said: string[] = []
  const say = (text: string): void => void said.push(text)
  const log: Log = {debug: say, info: say, warn: say, error: say}
  const files = new TlsFiles(configFor('https://192.0.2.1:6443', {certificateAuthority: {file}}), systemClock, log)
  const materials = await Promise.all(Array.from({length: 8}, () => files.material(undefined)))
  expect(new Set(materials).size).toBe(1)
  expect(said).toEqual([])
})
