import {mkdirSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {mirror, run} from './command.ts'
import {digestAt, image, missingAt, push} from './images.ts'
import {describeWith, isolation} from './parts.ts'
import {Registries, type TestRegistry} from './registries.ts'

const entry = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))

await describeWith('trap 42, on a disk that is really full', ['registry-3', 'namespaces'], (parts) => {
  const registries = new Registries()
  const big = image('full disk', {layers: 3, layerSize: 2_500_000})
  const lock = join(registries.path, 'full.lock.yaml')
  let source: TestRegistry
  let target: TestRegistry
  let disk: string

  beforeAll(async () => {
    ;[source, target] = await Promise.all([
      registries.start(parts['registry-3']),
      registries.start(parts['registry-3']),
    ])
    await push(source.host, 'acme/big', big, ['1.0'])
    await mirror(['plan', `${source.host}/acme/big:1.0`, '--output-file', lock], [source.host])
    disk = join(registries.path, 'disk')
    mkdirSync(disk)
  })
  afterAll(() => registries.stop())

  /**
   * Runs a script where `$disk` is a disk of `size`, seen by nobody else. `$srcip` is the command; `room` makes the disk large.
   * The network stays: only the mounts are of our own.
   */
  function onDisk(size: string, script: string) {
    const flags = isolation.filter((flag) => flag !== '--net')
    const lines = [
      `disk=${disk}; srcip="${process.execPath} ${entry} mirror"; plain="--plain-http ${source.host} --plain-http ${target.host}"`,
      `mount -t tmpfs -o size=${size} none $disk`,
      'room() { mount -o remount,size=100m $disk; }',
      script,
    ]
    return run('unshare', [...flags, 'bash', '-c', lines.join('\n')], {HOME: '/nonexistent'})
  }

  test.each([
    ['a tar', 'x.tar', /^x\.tar\.part$/],
    ['parts', 'x.tar --split 1M', /^x\.tar\.\d{3}\.part$/],
    ['a folder', 'folder', /^folder$/],
  ])(
    'trap 42: export to %s: said, nothing whole has the name, with room the same command goes on',
    async (_, to, left) => {
      const command = `$srcip export $disk/${to} --plan-file ${lock} $plain`
      const {stdout, stderr} = await onDisk(
        '4m',
        [
          `${command} >/dev/null; echo "full: $?"; ls -A $disk`,
          `$srcip inspect $disk/${to.split(' ')[0]} >/dev/null 2>&1; echo "inspected: $?"`,
          `room; ${command} >/dev/null; echo "with room: $?"`,
          `$srcip inspect $disk/${to.split(' ')[0]} >/dev/null; echo "inspected: $?"`,
        ].join('\n'),
      )
      expect(stderr).toMatch(/disk\/\S+ cannot be written: [^\n]*(?:full|space)/)
      expect(stderr).toContain('run the same command again')
      const lines = stdout.trim().split('\n')
      expect([lines[0], ...lines.slice(-3)]).toEqual([
        'full: 32',
        // A name that is not there is a wrong argument; a folder without its index is no layout.
        to === 'folder' ? 'inspected: 32' : 'inspected: 2',
        'with room: 0',
        'inspected: 0',
      ])
      expect(
        lines.slice(1, -3).every((name) => left.test(name)),
        stdout,
      ).toBe(true)
    },
  )

  test('trap 42: a spool that fills up while several layers go through it: said, nothing tagged, nothing left', async () => {
    const {stdout, stderr} = await onDisk(
      '4m',
      [
        `$srcip copy ${source.host}/acme/big:1.0 --to ${target.host}/spooled --spool always --spool-dir $disk $plain; echo "full: $?"; ls -A $disk`,
        `room; $srcip copy ${source.host}/acme/big:1.0 --to ${target.host}/roomy --spool always --spool-dir $disk $plain >/dev/null; echo "with room: $?"; ls -A $disk`,
      ].join('\n'),
    )
    expect(stdout + stderr).toMatch(/disk\/srcip-spool-\S+ cannot be written: |disk has \d+ bytes left/)
    expect(stdout.split('\n').slice(-4)).toEqual([expect.anything(), 'full: 32', 'with room: 0', ''])
    expect(await digestAt(target.host, 'spooled/acme/big', '1.0')).toBeUndefined()
    expect(await missingAt(target.host, 'roomy/acme/big', big)).toEqual([])
  })
})
