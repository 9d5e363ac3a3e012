import {appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {doctorCases, doctorObjects, snapshotOf} from '../support/doctor-cases.ts'
import {srcip} from '../support/srcip.ts'

interface Report {
  readonly kind: string
  readonly exitCode: number
  readonly paths: readonly {
    readonly id: string
    readonly outside: {readonly verdict: string}
    readonly after?: unknown
  }[]
  readonly findings: readonly {readonly id: string}[]
  readonly notSeen: readonly unknown[]
  readonly warnings: readonly string[]
}

let folder: string
const write = (name: string, content: unknown): string => {
  const file = join(folder, name)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}
const snapshotFile = (name: string): string => {
  const expected = doctorCases()[name]!
  return write(`${name}.json`, snapshotOf(doctorObjects(name, expected), expected.hidden))
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'srcip-doctor-'))
})
afterAll(() => rmSync(folder, {recursive: true, force: true}))

describe('doctor -f', () => {
  test('exit codes as in design: 0, 21, 22; the process and the document say the same', async () => {
    for (const [name, code] of [
      ['lb-hetzner-proxy', 0],
      ['lb-do-type-unseen', 21],
      ['lb-do-proxy', 22],
    ] as const) {
      const {exitCode, stdout} = await srcip(['doctor', '-f', snapshotFile(name), '-o', 'json'])
      const document = JSON.parse(stdout) as Report
      expect({name, exitCode, document: document.exitCode, kind: document.kind}).toEqual({
        name,
        exitCode: code,
        document: code,
        kind: 'DoctorReport',
      })
    }
  })

  test('the document fits its schema', async () => {
    const {Value} = await import('typebox/value')
    const {doctorReportSchema} = await import('../../src/model/schemas/doctor-report.ts')
    for (const name of ['lb-scaleway-mixed', 'case-tcp-services', 'bad-workloads-refused']) {
      const {stdout} = await srcip(['doctor', '-f', snapshotFile(name), '--for', 'enable', '-o', 'json'])
      expect([...Value.Errors(doctorReportSchema, JSON.parse(stdout))].map((error) => JSON.stringify(error))).toEqual(
        [],
      )
    }
  })

  test('one Service, one finding less, the state after a switch', async () => {
    const file = snapshotFile('bad-several-classes')
    const one = await srcip(['doctor', 'svc/internal-nginx', '-n', 'internal', '-f', file, '-o', 'json'])
    expect((JSON.parse(one.stdout) as Report).paths.map(({id}) => id)).toEqual([
      'internal/internal-nginx:80/TCP',
      'internal/internal-nginx:443/TCP',
    ])
    const less = await srcip(['doctor', '-f', file, '--ignore', 'src003,SRC043', '-o', 'json', '--for', 'disable'])
    const report = JSON.parse(less.stdout) as Report
    expect(report.findings.map(({id}) => id)).not.toContain('SRC003')
    expect(report.paths.every(({after}) => after !== undefined)).toBe(true)
  })

  test('what means nothing is a usage error that says how it is written', async () => {
    const file = snapshotFile('lb-do-proxy')
    const word = await srcip(['doctor', 'ingress-nginx-controller', '-f', file])
    expect(word).toMatchObject({exitCode: 2, stdout: ''})
    expect(word.stderr).toMatch(/svc\/NAME/)
    const id = await srcip(['doctor', '-f', file, '--ignore', 'CF001'])
    expect(id).toMatchObject({exitCode: 2, stdout: ''})
    expect(id.stderr).toMatch(/SRC024.*docs\/checks\.md/)
    const gone = await srcip(['doctor', 'svc/nobody', '-f', file])
    expect(gone).toMatchObject({exitCode: 32, stdout: ''})
    expect(gone.stderr).toMatch(/there is no Service nobody/)
  })

  test('bad input: cut off, newer than we are, nothing in it', async () => {
    const whole = readFileSync(snapshotFile('lb-do-proxy'), 'utf8')
    const cut = await srcip(['doctor', '-f', write('cut.json', whole.slice(0, whole.length / 2))])
    expect(cut).toMatchObject({exitCode: 2, stdout: ''})
    const newer = await srcip(['doctor', '-f', write('newer.json', {...(JSON.parse(whole) as object), format: 99})])
    expect(newer).toMatchObject({exitCode: 32, stdout: ''})
    const empty = await srcip(['doctor', '-f', write('empty.json', snapshotOf([]))])
    expect(empty.exitCode).toBe(0)
    expect(empty.stdout).not.toBe('')
  })

  test('-o html is a page and -o junit a report for CI, with the exit code of the verdicts', async () => {
    const file = snapshotFile('lb-metallb-l2-cluster')
    const page = await srcip(['doctor', '-f', file, '-o', 'html'])
    expect(page.exitCode).toBe(22)
    expect(page.stdout).toMatch(/^<!doctype html>\n[^]*<h1>Where the client address is lost<\/h1>[^]*<\/html>\n$/)
    const suite = await srcip(['doctor', '-f', file, '-o', 'junit'])
    expect(suite.exitCode).toBe(22)
    expect(suite.stdout).toMatch(/^<\?xml [^]*<failure [^]*<\/testsuites?>\n$/)
  })

  test('half of the rights: what is known is said, and what is missing is named', async () => {
    const {exitCode, stdout} = await srcip(['doctor', '-f', snapshotFile('bad-workloads-refused'), '-o', 'json'])
    const report = JSON.parse(stdout) as Report
    expect(exitCode).toBe(21)
    expect(report.notSeen).toContainEqual({verb: 'list', resource: 'pods', reason: 'pods is forbidden'})
    expect(report.paths.map(({outside}) => outside.verdict)).toEqual(['depends', 'depends'])
  })

  test('names of a hostile cluster are shown, never obeyed', async () => {
    const name = 'lb-do-proxy'
    const snapshot = snapshotOf(doctorObjects(name, doctorCases()[name]!))
    const hostile = {
      ...snapshot,
      objects: snapshot.objects.map((object) =>
        object.kind === 'Service' && object.metadata.name === 'ingress-nginx-controller'
          ? {
              ...object,
              metadata: {...object.metadata, name: 'evil\u001b[2J\u202e'},
              status: {loadBalancer: {ingress: [{hostname: 'evil\u001b[2J\u202e.example.org'}]}},
            }
          : object,
      ),
    }
    for (const format of ['table', 'wide', 'json', 'name', 'html', 'junit']) {
      const {stdout, stderr} = await srcip(['doctor', '-f', write('hostile.json', hostile), '-o', format])
      expect(stdout + stderr).not.toMatch(/[\u001b\u202e]/)
    }
  })
})

describe('evidence in files, and no cluster at all', () => {
  const nowhere = {env: {KUBECONFIG: '/nonexistent', HOME: '/nonexistent'}}
  const header = 'broken header: "\\x16\\x03\\x01" while reading PROXY protocol'
  const line = `2026/02/01 10:00:00 [error] 33#33: *1 ${header}, client: 10.0.0.7, server: 0.0.0.0:443\n`

  test('--log-file alone: what it shows, what was not looked at, 21', async () => {
    const file = write('error.log', line)
    const {exitCode, stdout, stderr} = await srcip(['doctor', '--log-file', file, '-o', 'json'], nowhere)
    expect(exitCode, stderr).toBe(21)
    const report = JSON.parse(stdout) as Report
    expect(report.findings.map(({id}) => id)).toContain('SRC107')
    expect(report.warnings.join()).toContain('no cluster was looked at, only the files: no kubeconfig found')
  })

  test('--pod-cidr tells a pod from a client: then it is an error', async () => {
    const file = write('error.log', line)
    const {exitCode, stdout} = await srcip(
      ['doctor', '--log-file', file, '--pod-cidr', '10.0.0.0/8', '-o', 'json'],
      nowhere,
    )
    expect(exitCode).toBe(22)
    expect((JSON.parse(stdout) as Report).findings.map(({id}) => id)).toContain('SRC101')
  })

  test('a capture whose lengths lie says so', async () => {
    const whole = readFileSync(new URL('../cases/captures/loopback-ethernet.pcap', import.meta.url))
    const lying = Buffer.from(whole)
    lying.writeUInt32LE(0x7fffffff, 24 + 8)
    const file = join(folder, 'lying.pcap')
    writeFileSync(file, lying)
    const {stdout} = await srcip(['doctor', '--capture-file', file, '-o', 'json'], nowhere)
    expect(JSON.stringify((JSON.parse(stdout) as Report).notSeen)).toContain(
      'record 1 at byte 24 says that it has 2147483647 bytes',
    )
  })

  test('what steers a terminal is escaped in YAML, too, and reads back as it was', async () => {
    const {parse} = await import('yaml')
    const name = 'evil\u202e\u001b[31m.log'
    const file = write(name, line)
    const {stdout} = await srcip(['doctor', '--log-file', file, '-o', 'yaml'], nowhere)
    expect(stdout).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
    expect((parse(stdout) as {findings: readonly {object: string}[]}).findings[0]?.object).toBe(file)
  })

  test('a log of 100 MB takes the memory of a piece', {timeout: 120_000}, async () => {
    const file = join(folder, 'big.log')
    const piece = line.repeat(Math.ceil((1 << 20) / line.length))
    writeFileSync(file, '')
    for (let megabyte = 0; megabyte < 100; megabyte++) appendFileSync(file, piece)
    const {stdout, exitCode} = await srcip(['doctor', '--log-file', file, '-o', 'json'], {
      env: {...nowhere.env, NODE_OPTIONS: '--max-old-space-size=48'},
    })
    expect(exitCode).toBe(21)
    expect(stdout).toContain('caller-unknown')
  })
})

test('-f - reads a pipe; it is not taken for the name of a Service', async () => {
  const snapshot = readFileSync(snapshotFile('lb-hetzner-proxy'), 'utf8')
  const {exitCode, stdout, stderr} = await srcip(['doctor', '-f', '-', '-o', 'json'], {input: snapshot})
  expect(exitCode, stderr).toBe(0)
  expect((JSON.parse(stdout) as Report).kind).toBe('DoctorReport')
})
