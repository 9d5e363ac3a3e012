import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {expect, test} from 'vitest'
import {readSnapshotFiles} from '../../../src/kube/index.ts'
import {readInput} from '../../../src/registry/images/input.ts'

const cases = fileURLToPath(new URL('../../cases/doctor/', import.meta.url))

test('mirror plan -f takes the images of a snapshot, each once a place, and says that these are not all', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'srcip-images-'))
  try {
    const path = join(folder, 'cluster.json')
    const files = ['base.yaml', 'parts/ingress-nginx.yaml', 'parts/kube-proxy.yaml'].map((name) => join(cases, name))
    writeFileSync(path, JSON.stringify(await readSnapshotFiles(files)))
    const {wanted, warnings} = await readInput(path, [])
    expect(new Set(wanted.map(({reference}) => `${reference.host}/${reference.repository}:${reference.tag}`))).toEqual(
      new Set([
        'registry.example.org/coredns/coredns:v1.14.7',
        'registry.k8s.io/ingress-nginx/controller:v1.12.1',
        'registry.k8s.io/kube-proxy:v1.36.0',
      ]),
    )
    expect(warnings).toEqual([expect.stringContaining('is a snapshot: it holds what receives traffic')])
  } finally {
    rmSync(folder, {recursive: true, force: true})
  }
})
