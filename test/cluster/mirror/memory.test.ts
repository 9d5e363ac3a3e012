import {createHash} from 'node:crypto'
import http from 'node:http'
import {readFileSync, rmSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {mirror, run} from './command.ts'
import {blob, digestAt, document, image, noise, pointer, push, pushBlob, types, type Document} from './images.ts'
import {describeWith} from './parts.ts'
import {Registries, type TestRegistry} from './registries.ts'

const entry = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))
/** Bytes that the process may ever hold resident, whatever it carries. */
const most = 150_000_000
const gibibyte = 1024 ** 3

await describeWith('memory, whatever the sizes', ['registry-3', 'time'], (parts) => {
  const registries = new Registries()
  const at = (name: string) => join(registries.path, name)
  const lock = at('big.lock.yaml')
  let source: TestRegistry
  let target: TestRegistry
  let big: Document
  let count = 0
  let layer: {digest: string; size: number}

  beforeAll(async () => {
    ;[source, target] = await Promise.all([
      registries.start(parts['registry-3']),
      registries.start(parts['registry-3']),
    ])
    layer = await pushGibibyte(source.host, 'acme/big')
    const config = blob('{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}', types.config)
    await pushBlob(source.host, 'acme/big', config)
    big = document(types.manifest, {
      schemaVersion: 2,
      mediaType: types.manifest,
      config: pointer(config),
      layers: [{mediaType: types.layer, ...layer}],
    })
    await push(source.host, 'acme/big', big, ['1.0'])
    await mirror(['plan', `${source.host}/acme/big:1.0`, '--output-file', lock], [source.host])
  })
  afterAll(() => registries.stop())

  /** Runs a command line of the shell in which `$srcip` is the command, watched by GNU time. @returns the most it held, in bytes */
  async function peak(line: string): Promise<number> {
    const report = at('peak')
    rmSync(report, {force: true})
    const srcip = `${parts.time} -f %M -o ${report} ${process.execPath} ${entry} mirror`
    const plain = `--plain-http ${source.host} --plain-http ${target.host}`
    const done = await run(
      'bash',
      ['-c', `set -o pipefail; ${line.replace('$srcip', srcip).replace('$plain', plain)}`],
      {
        HOME: '/nonexistent',
        TMPDIR: registries.path,
      },
    )
    expect(done.code, done.stderr).toBe(0)
    return Number(readFileSync(report, 'utf8').trim().split('\n').at(-1)) * 1024
  }

  test('one layer of 1 GiB: copied streaming and over the disk, exported, imported, read back', async () => {
    const archive = at('big.tar')
    const peaks = {
      copy: await peak(`$srcip copy ${source.host}/acme/big:1.0 --to ${target.host}/copy $plain`),
      spooled: await peak(`$srcip copy ${source.host}/acme/big:1.0 --to ${target.host}/spooled --spool always $plain`),
      verify: await peak(`$srcip verify --plan-file ${lock} --to ${target.host}/copy --deep $plain`),
      pipe: await peak(`$srcip export - --plan-file ${lock} $plain >/dev/null`),
      export: await peak(`$srcip export ${archive} --plan-file ${lock} $plain`),
      import: await peak(`$srcip import ${archive} --to ${target.host}/import $plain`),
      fromPipe: await peak(`cat ${archive} | $srcip import - --to ${target.host}/piped $plain`),
    }
    rmSync(archive)
    for (const path of ['copy', 'spooled', 'import', 'piped'])
      expect(await digestAt(target.host, `${path}/acme/big`, '1.0')).toBe(big.digest)
    const sizes = await Promise.all(
      ['copy', 'spooled'].map((path) => sizeAt(target.host, `${path}/acme/big`, layer.digest)),
    )
    expect(sizes).toEqual([gibibyte, gibibyte])
    for (const [what, bytes] of Object.entries(peaks)) expect(bytes, what).toBeLessThan(most)
  })

  test('four large layers at once, and a thousand small ones', async () => {
    const layers = Array.from({length: 6}, (_, index) => noise(`memory ${index}`, 60_000_000))
    const wide = document(
      types.manifest,
      {
        schemaVersion: 2,
        mediaType: types.manifest,
        config: pointer(blob('{}', types.config)),
        layers: layers.map((bytes) => pointer(blob(bytes, types.layer))),
      },
      [blob('{}', types.config), ...layers.map((bytes) => blob(bytes, types.layer))],
    )
    const many = image('memory many', {layers: 1000, layerSize: 50_000})
    await push(source.host, 'acme/wide', wide, ['1.0'])
    await push(source.host, 'acme/many', many, ['1.0'])
    const tries = `tries-${++count}`
    for (const name of ['wide', 'many']) {
      const bytes = await peak(`$srcip copy ${source.host}/acme/${name}:1.0 --to ${target.host}/${tries} $plain`)
      expect(await digestAt(target.host, `${tries}/acme/${name}`, '1.0')).toBeDefined()
      expect(bytes, name).toBeLessThan(most)
    }
  })
})

/** Uploads 1 GiB that does not lie in memory here either. */
async function pushGibibyte(host: string, repository: string): Promise<{digest: string; size: number}> {
  const piece = noise('gibibyte', 1024 * 1024)
  const hash = createHash('sha256')
  for (let done = 0; done < gibibyte; done += piece.length) hash.update(piece)
  const digest = `sha256:${hash.digest('hex')}`
  const start = await fetch(`http://${host}/v2/${repository}/blobs/uploads/`, {method: 'POST'})
  const url = new URL(start.headers.get('location') ?? '', `http://${host}`)
  url.searchParams.set('digest', digest)
  await new Promise<void>((resolve, reject) => {
    const request = http.request(url, {method: 'PUT', headers: {'content-length': gibibyte}}, (answer) => {
      answer.resume()
      if (answer.statusCode === 201) answer.once('end', resolve)
      else reject(new Error(`PUT ${digest}: ${answer.statusCode}`))
    })
    request.once('error', reject)
    let sent = 0
    const write = (): void => {
      while (sent < gibibyte) {
        sent += piece.length
        if (!request.write(piece)) {
          request.once('drain', write)
          return
        }
      }
      request.end()
    }
    write()
  })
  return {digest, size: gibibyte}
}

async function sizeAt(host: string, repository: string, digest: string): Promise<number> {
  const answer = await fetch(`http://${host}/v2/${repository}/blobs/${digest}`, {method: 'HEAD'})
  return Number(answer.headers.get('content-length'))
}
