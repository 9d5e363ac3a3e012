import {chmod, mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {ExecPlugin} from '../../../../src/kube/credentials/exec-plugin.ts'
import type {ExecConfig} from '../../../../src/kube/index.ts'
import {VirtualClock} from '../../../support/virtual-clock.ts'

let folder: string
let clock: VirtualClock
let stderr: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exec-plugin-'))
  // The plugin and this clock agree on the time at the start.
  clock = new VirtualClock(Math.floor(Date.now() / 1000) * 1000)
  stderr = ''
})
afterEach(async () => rm(folder, {recursive: true}))

const head = '#!/bin/sh\necho run >> "$(dirname "$0")/runs"\n'
const credential = (status: string, version = 'v1'): string =>
  `printf '%s\\n' '{"apiVersion":"client.authentication.k8s.io/${version}","kind":"ExecCredential","status":${status}}'\n`

async function plugin(script: string, fields: Partial<ExecConfig> = {}, tty = false): Promise<ExecPlugin> {
  const command = join(folder, 'plugin')
  await writeFile(command, head + script)
  await chmod(command, 0o755)
  const exec: ExecConfig = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command,
    args: [],
    env: [],
    provideClusterInfo: false,
    interactiveMode: 'IfAvailable',
    ...fields,
  }
  return new ExecPlugin({
    exec,
    cluster: () => Promise.resolve({server: 'https://kube', config: null}),
    terminal: {stdinIsTty: tty, writeStderr: (chunk) => void (stderr += chunk.toString())},
    env: {PATH: process.env['PATH']},
    clock,
  })
}

async function runs(): Promise<number> {
  return (await readFile(join(folder, 'runs'), 'utf8').catch(() => '')).split('\n').length - 1
}

const token = (lifetime: number): string =>
  `exp=$(date -u -d '+${lifetime} seconds' +%Y-%m-%dT%H:%M:%SZ)\nprintf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"secret-%s","expirationTimestamp":"%s"}}' "$(wc -l < "$(dirname "$0")/runs" | tr -d ' ')" "$exp"\n`

describe('when it runs', () => {
  test('once for all who wait', async () => {
    const source = await plugin(`sleep 0.1\n${token(3600)}`)
    const all = await Promise.all(Array.from({length: 8}, () => source.current(undefined)))
    expect(new Set(all).size).toBe(1)
    expect(await runs()).toBe(1)
  })

  test('again 60 s before expiry', async () => {
    const source = await plugin(token(3600))
    await source.current(undefined)
    clock.block(3_538_000)
    await source.current(undefined)
    expect(await runs()).toBe(1)
    clock.block(3000)
    await source.current(undefined)
    expect(await runs()).toBe(2)
  })

  test('a token of 30 s is renewed about every 27 s, for two minutes', async () => {
    const source = await plugin(
      `exp=$(date -u -d "@$(($(cat "$(dirname "$0")/now") + 30))" +%Y-%m-%dT%H:%M:%SZ)\n` +
        `printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t","expirationTimestamp":"%s"}}' "$exp"\n`,
    )
    for (let second = 0; second < 120; second += 1) {
      await writeFile(join(folder, 'now'), String(Math.floor(clock.wall() / 1000)))
      await source.current(undefined)
      clock.block(1000)
    }
    expect(await runs()).toBe(5)
  })

  test('once after a 401, not again for the same refusal, and not in a loop', async () => {
    const source = await plugin(token(3600))
    const first = await source.current(undefined)
    clock.block(10_000)
    const renewed = await Promise.all([source.renew(first, undefined), source.renew(first, undefined)])
    expect(renewed).toEqual([true, true])
    expect(await runs()).toBe(2)
    const second = await source.current(undefined)
    expect(second).not.toBe(first)
    // Another request that was still sent with the first one.
    expect(await source.renew(first, undefined)).toBe(true)
    expect(await source.renew(second, undefined)).toBe(false)
    expect(await runs()).toBe(2)
    clock.block(6000)
    expect(await source.renew(second, undefined)).toBe(true)
    expect(await runs()).toBe(3)
  })

  test('a token that is expired when it comes does not make it run in a loop', async () => {
    const source = await plugin(token(-100))
    for (let second = 0; second < 20; second += 1) {
      await source.current(undefined)
      clock.block(1000)
    }
    expect(await runs()).toBe(4)
  })

  test('without expiry it is kept', async () => {
    const source = await plugin(credential('{"token":"t"}'))
    await source.current(undefined)
    clock.block(86_400_000)
    expect(await source.current(undefined)).toEqual({authorization: 'Bearer t'})
    expect(await runs()).toBe(1)
  })

  test('after a failure the next call tries again', async () => {
    const source = await plugin(`[ -f "$(dirname "$0")/ok" ] || exit 7\n${credential('{"token":"t"}')}`)
    await expect(source.current(undefined)).rejects.toMatchObject({
      exitCode: 31,
      message: expect.stringContaining('exit code 7'),
    })
    await writeFile(join(folder, 'ok'), '')
    expect(await source.current(undefined)).toEqual({authorization: 'Bearer t'})
  })
})

describe('what it is told', () => {
  const dump = `printf '%s|%s|%s' "$KUBERNETES_EXEC_INFO" "$AUDIENCE" "$*" > "$(dirname "$0")/told"\n${credential('{"token":"t"}')}`
  const told = async (): Promise<string> => await readFile(join(folder, 'told'), 'utf8')

  test('arguments, variables, and no cluster unless it asks', async () => {
    await (await plugin(dump, {args: ['--ttl', '30'], env: [{name: 'AUDIENCE', value: 'kube'}]})).current(undefined)
    expect(await told()).toBe(
      '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false}}|kube|--ttl 30',
    )
  })

  test('the cluster', async () => {
    await (await plugin(dump, {provideClusterInfo: true})).current(undefined)
    expect(await told()).toContain('"spec":{"cluster":{"server":"https://kube","config":null},"interactive":false}')
  })

  test('v1beta1 speaks v1beta1', async () => {
    const beta = dump.replace('k8s.io/v1"', 'k8s.io/v1beta1"')
    await (await plugin(beta, {apiVersion: 'client.authentication.k8s.io/v1beta1'})).current(undefined)
    expect(await told()).toContain('client.authentication.k8s.io/v1beta1')
  })
})

describe('talking to a person', () => {
  test('stderr is shown at once, while it still runs', async () => {
    const source = await plugin(
      `echo "enter 0000" >&2\nwhile [ ! -f "$(dirname "$0")/go" ]; do sleep 0.02; done\n${credential('{"token":"t"}')}`,
    )
    const waiting = source.current(undefined)
    await expect.poll(() => stderr).toBe('enter 0000\n')
    await writeFile(join(folder, 'go'), '')
    await waiting
  })

  test('it can be interrupted, and nobody is left running', async () => {
    const source = await plugin('echo $$ > "$(dirname "$0")/pid"\nexec sleep 60\n')
    const interrupt = new AbortController()
    const waiting = source.current(interrupt.signal)
    const pid = async (): Promise<number> => Number(await readFile(join(folder, 'pid'), 'utf8').catch(() => '0'))
    await expect.poll(pid).toBeGreaterThan(0)
    interrupt.abort(new Error('SIGINT'))
    await expect(waiting).rejects.toThrow('SIGINT')
    const child = await pid()
    await expect.poll(() => isAlive(child)).toBe(false)
  })

  test('one who gives up does not take it from the others', async () => {
    const source = await plugin(
      `while [ ! -f "$(dirname "$0")/go" ]; do sleep 0.02; done\n${credential('{"token":"t"}')}`,
    )
    const interrupt = new AbortController()
    const leaving = source.current(interrupt.signal)
    const staying = source.current(undefined)
    interrupt.abort(new Error('gone'))
    await expect(leaving).rejects.toThrow('gone')
    await writeFile(join(folder, 'go'), '')
    expect(await staying).toEqual({authorization: 'Bearer t'})
    expect(await runs()).toBe(1)
  })

  test('fault 15: one that hangs is ended after 30 s', async () => {
    const source = await plugin('exec sleep 60\n')
    const waiting = source.current(undefined)
    const failed = expect(waiting).rejects.toMatchObject({
      exitCode: 31,
      message: expect.stringContaining('within 30 s'),
    })
    await expect.poll(runs).toBe(1)
    await clock.advance(30_000)
    await failed
  })

  test('Always without a terminal is refused', async () => {
    const source = await plugin(credential('{"token":"t"}'), {interactiveMode: 'Always'})
    await expect(source.current(undefined)).rejects.toMatchObject({message: expect.stringContaining('no terminal')})
    expect(await runs()).toBe(0)
  })

  test('Never gets no standard input even at a terminal', async () => {
    const source = await plugin(
      `cat > "$(dirname "$0")/stdin"\n${credential('{"token":"t"}')}`,
      {interactiveMode: 'Never'},
      true,
    )
    await source.current(undefined)
    expect(await readFile(join(folder, 'stdin'), 'utf8')).toBe('')
  })
})

describe('answers', () => {
  test('a certificate in place of a token', async () => {
    const source = await plugin(credential('{"clientCertificateData":"CERT","clientKeyData":"KEY"}'))
    expect(await source.current(undefined)).toEqual({pair: {cert: 'CERT', key: 'KEY'}})
  })

  test.each([
    ['no JSON', 'echo secret-token\n', /no JSON/],
    ['another kind', `echo '{"kind":"Pod"}'\n`, /ExecCredential/],
    ['another version', credential('{"token":"secret-token"}', 'v1beta1'), /API version/],
    ['no status', credential('null'), /no status/],
    ['an empty status', credential('{}'), /neither/],
    ['a certificate without key', credential('{"clientCertificateData":"secret-token"}'), /not both/],
    ['a token with a line break', credential('{"token":"secret-token\\r\\nX: y"}'), /no header can hold/],
    ['a time that is none', credential('{"token":"secret-token","expirationTimestamp":"tomorrow"}'), /RFC 3339/],
    ['without end', 'exec yes secret-token\n', /more than a credential/],
  ])('%s is refused without being shown', async (_, script, message) => {
    const source = await plugin(script)
    const error: unknown = await source.current(undefined).catch((reason: unknown) => reason)
    expect(error).toMatchObject({exitCode: 31, message: expect.stringMatching(message)})
    expect(`${String(error)}${(error as Error).stack ?? ''}${JSON.stringify(error)}`).not.toContain('secret-token')
  })

  test('a missing command shows installHint, without control sequences', async () => {
    const source = await plugin('', {
      command: 'no-such-login-plugin',
      installHint: 'get it at \u001b[31mexample.org\u001b[0m\u0007',
    })
    await expect(source.current(undefined)).rejects.toMatchObject({
      exitCode: 31,
      message: 'exec plugin no-such-login-plugin was not found',
      hints: ['get it at example.org', expect.stringContaining('--context')],
    })
    const absolute = await plugin('', {command: join(folder, 'missing'), installHint: 'hint'})
    await expect(absolute.current(undefined)).rejects.toMatchObject({
      message: expect.stringContaining('was not found'),
      hints: ['hint', expect.any(String)],
    })
  })
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
