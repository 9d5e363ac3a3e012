import {spawnSync} from 'node:child_process'
import {createHash} from 'node:crypto'
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {kubeadmCorefile} from '../../test/cluster/bed/index.ts'
import {expectThat, type Narrator} from './narrator.ts'

const entry = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

/** The part of the demo that needs nothing but Node: plan, apply and clean on a Corefile that is a file. */
export async function withoutCluster(tell: Narrator): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'srcip-demo-'))
  const file = join(folder, 'Corefile')
  const hash = () => createHash('sha256').update(readFileSync(file)).digest('hex')
  const names = ['--host', 'shop.example.org', '--target', 'srcip-proxy.srcip.svc.cluster.local']
  const srcip = (...args: string[]) => {
    tell.command(`kubectl srcip ${args.join(' ').replaceAll(file, 'Corefile')}`)
    const {status, stdout, stderr} = spawnSync(process.execPath, [entry, ...args], {encoding: 'utf8'})
    expectThat(status === 0, 'exit code 0', {status, stderr})
    return stdout
  }
  try {
    writeFileSync(file, kubeadmCorefile())
    const before = hash()
    await tell.step('Plan the edit of a Corefile', async () => {
      for (const line of srcip('coredns', 'plan', '-f', file, ...names)
        .trim()
        .split('\n'))
        tell.fact(line)
      expectThat(hash() === before, 'plan to write nothing')
    })
    await tell.step('Apply it', async () => {
      srcip('coredns', 'apply', '-f', file, '--in-place', ...names)
      expectThat(readFileSync(file, 'utf8').includes('shop.example.org'), 'the host in the Corefile')
      tell.fact(`Corefile sha256 ${before} -> ${hash()}`)
    })
    await tell.step('Clean it', async () => {
      srcip('coredns', 'clean', '-f', file, '--in-place')
      expectThat(hash() === before, `the Corefile of before, sha256 ${before}`, hash())
      tell.fact(`Corefile sha256 ${hash()}, as before`)
    })
  } finally {
    rmSync(folder, {recursive: true, force: true})
  }
}
