import {spawn, type ChildProcess} from 'node:child_process'
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, expect, test} from 'vitest'
import {
  parseVersion,
  planEdit,
  reloadHash,
  type ParseOptions,
  type PrepareHostAnswers,
} from '../../plugins/coredns/src/index.ts'
import {freePorts} from './bed/api-server.ts'
import {describeWithParts} from './bed/suite.ts'

const versions = ['1.14.7', '1.11.3'] as const
const inputs = new URL('../cases/reload-hash/', import.meta.url)
const target = 'srcip-proxy.srcip.svc.cluster.local'

interface Running {
  readonly folder: string
  readonly options: ParseOptions
  /** Waits until CoreDNS has logged this many hashes, and returns them. */
  hashes(count: number): Promise<string[]>
}

/** The file under test resolves nothing in a cluster: the first block is taken for every host. */
const anyBlock: PrepareHostAnswers = () => () => ({blocks: [0], caughtBy: []})

let stop: (() => void) | undefined
afterEach(() => {
  stop?.()
  stop = undefined
})

/** Starts CoreDNS on the prepared Corefile with imports and environment, in a folder of its own. */
async function start(program: string, version: string): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'srcip-hash-'))
  mkdirSync(join(folder, 'custom'))
  const files = new Map<string, Uint8Array>()
  for (const name of ['Corefile', 'custom/a.override', 'custom/b.override']) {
    const bytes = readFileSync(new URL(name, inputs))
    writeFileSync(join(folder, name), bytes)
    if (name !== 'Corefile') files.set(join(folder, name), bytes)
  }
  const [dns, metrics] = await freePorts(2)
  const known = new Map([
    ['DNSPORT', String(dns)],
    ['METRICS', String(metrics)],
    ['NAME', 'x.example'],
  ])
  const process = spawn(program, ['-conf', join(folder, 'Corefile')], {env: Object.fromEntries(known)})
  stop = () => {
    process.kill('SIGKILL')
    rmSync(folder, {recursive: true, force: true})
  }
  const hashes = hashReader(process)
  const release = parseVersion(version) as NonNullable<ParseOptions['version']>
  return {
    folder,
    hashes,
    options: {path: join(folder, 'Corefile'), files, env: {known, others: 'unset'}, version: release},
  }
}

function hashReader(process: ChildProcess): Running['hashes'] {
  let log = ''
  for (const stream of [process.stdout, process.stderr])
    stream?.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const found = (): string[] =>
    [...log.matchAll(/Running configuration SHA512 = ([0-9a-f]+)/g)].map((match) => match[1] ?? '')
  return async (count) => {
    const deadline = Date.now() + 30_000
    while (found().length < count) {
      if (Date.now() > deadline || process.exitCode !== null)
        throw new Error(`no hash number ${count} in the log:\n${log}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return found()
  }
}

await describeWithParts('the hash that CoreDNS logs', ['coredns-1.14.7', 'coredns-1.11.3'], (parts) => {
  for (const version of versions) {
    test(
      `${version}: at start, after an edit in the Corefile, after one in an import key`,
      {timeout: 90_000},
      async () => {
        const {folder, options, hashes} = await start(parts[`coredns-${version}`], version)
        const corefile = readFileSync(join(folder, 'Corefile'))
        expect((await hashes(1)).at(-1)).toBe(reloadHash(corefile, options).value)

        const hosts = Array.from({length: 150}, (_, index) => ({
          name: `h${index}.shop.example`,
          kind: 'exact' as const,
          target,
        }))
        const request = {
          corefile,
          parse: options,
          hosts,
          answers: anyBlock,
          dnsPort: options.env?.known.get('DNSPORT') as string,
        }
        const first = planEdit(request)
        expect(first.files.map(({file}) => file)).toEqual([''])
        writeFileSync(join(folder, 'Corefile'), first.files[0]?.after as Uint8Array)
        expect((await hashes(2)).at(-1)).toBe(first.hash.value)

        const key = join(folder, 'custom', 'srcip.override')
        const second = planEdit({...request, corefile: first.files[0]?.after as Uint8Array, importKeys: [key]})
        expect(second.files.map(({file}) => file)).toEqual(['', key])
        // As a volume does it: both at once, so that no tick reads one without the other.
        writeFileSync(key, second.files[1]?.after as Uint8Array)
        writeFileSync(join(folder, 'Corefile'), second.files[0]?.after as Uint8Array)
        const seen = await hashes(3)
        if (seen.at(-1) !== second.hash.value) expect((await hashes(seen.length + 1)).at(-1)).toBe(second.hash.value)
      },
    )
  }
})
