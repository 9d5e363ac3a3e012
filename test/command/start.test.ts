import {execFileSync, spawnSync} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {expect, test} from 'vitest'
import {srcip} from '../support/srcip.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The same question with oclif loaded, which the short way in bin/run.js must not differ from. */
function throughOclif(argv: readonly string[]): string {
  const program = `
    const {main} = await import('${root}dist/main.js')
    const pjson = JSON.parse((await import('node:fs')).readFileSync('${root}package.json', 'utf8'))
    pjson.oclif.bin = process.env.HELM_PLUGIN_DIR ? 'helm srcip' : 'kubectl srcip'
    void main(${JSON.stringify(argv)}, {root: '${root}', pjson})`
  return execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    env: {PATH: process.env['PATH'] ?? '', ...(helm ? {HELM_PLUGIN_DIR: '/x'} : {})},
  })
}
let helm = false

test.each([[['--version']], [['--help']], [['-h']], [[]]])(
  '%j answers from files what oclif would print',
  async (argv) => {
    helm = false
    const {exitCode, stdout, stderr} = await srcip(argv)
    expect({exitCode, stderr}).toEqual({exitCode: 0, stderr: ''})
    expect(stdout).toBe(throughOclif(argv))
  },
)

test('under Helm the help says helm srcip', async () => {
  helm = true
  const {stdout} = await srcip(['--help'], {env: {HELM_PLUGIN_DIR: '/x'}})
  expect(stdout).toContain('$ helm srcip [COMMAND]')
  expect(stdout).toBe(throughOclif(['--help']))
})

test('the word help is the root help, and help NAME explains one command', async () => {
  expect((await srcip(['help'])).stdout).toBe((await srcip(['--help'])).stdout)
  const {stdout} = await srcip(['help', 'version'])
  expect(stdout).toBe((await srcip(['version', '--help'])).stdout)
  expect(stdout).toContain('$ kubectl srcip version')
})

test('the version is that of package.json', async () => {
  const {version} = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {version: string}
  expect((await srcip(['--version'])).stdout).toMatch(new RegExp(`^kubectl-srcip/${version.replaceAll('.', '\\.')} `))
  const document = JSON.parse((await srcip(['version', '-o', 'json'])).stdout)
  expect(document).toMatchObject({
    apiVersion: 'srcip.dev/v1alpha1',
    kind: 'Version',
    client: {version},
    exitCode: 0,
    changed: false,
    warnings: [],
  })
})

test.each([
  [['version', '-o', 'xml'], 'error: expected --output=xml to be one of: table, json, yaml'],
  [['version', '--nope'], 'error: nonexistent flag: --nope'],
  [['versoin'], 'error: no command is called "versoin"\n  did you mean: version?'],
  [['-v'], 'error: nonexistent flag: -v\n  add --help to see all commands\n'],
  [['coredns', 'query'], 'error: missing NAME\n  add --help to see how the command is used\n'],
  [['coredns', 'apply', '-f', '-', '--in-place', '--host', 'shop.example.org'], 'error: --in-place needs a file'],
  [['nothing', 'like', 'it'], 'error: no command is called "nothing like"\n  add --help'],
])('%j is a usage error with nothing on stdout', async (argv, message) => {
  const {exitCode, stdout, stderr} = await srcip(argv)
  expect({exitCode, stdout}).toEqual({exitCode: 2, stdout: ''})
  expect(stderr.startsWith(message)).toBe(true)
})

test('with -o json a failure is one Error document on stdout, the words stay on stderr', async () => {
  const {exitCode, stdout, stderr} = await srcip(['version', '--nope', '-o', 'json'])
  expect(exitCode).toBe(2)
  expect(JSON.parse(stdout)).toMatchObject({
    apiVersion: 'srcip.dev/v1alpha1',
    kind: 'Error',
    code: 'Usage',
    message: 'nonexistent flag: --nope',
    exitCode: 2,
    changed: false,
  })
  expect(stderr).toContain('error: nonexistent flag: --nope')
})

test('--jq filters the JSON form; a program that does not compile is a usage error', async () => {
  expect(await srcip(['version', '--jq', '.kind'])).toEqual({exitCode: 0, stdout: 'Version\n', stderr: ''})
  const {exitCode, stdout, stderr} = await srcip(['version', '--jq', '.x['])
  expect({exitCode, stdout}).toEqual({exitCode: 2, stdout: ''})
  expect(stderr).toContain('error: --jq failed')
})

test('yaml has sorted keys', async () => {
  const {stdout} = await srcip(['version', '-o', 'yaml'])
  expect(
    stdout
      .split('\n')
      .filter((line) => /^\w/.test(line))
      .map((line) => line.split(':')[0]),
  ).toEqual(['apiVersion', 'changed', 'client', 'exitCode', 'kind', 'schemas', 'warnings'])
})

test('a reader that leaves early is no error', () => {
  const out = execFileSync(
    'bash',
    ['-c', `set -o pipefail; "${process.execPath}" "${root}bin/run.js" version --help | head -1`],
    {encoding: 'utf8'},
  )
  expect(out).toBe('Print the version of this tool and of the documents it writes\n')
})

test('kubectl finds commands and flags by completion', () => {
  const complete = (words: string[]) =>
    execFileSync(process.execPath, [`${root}bin/complete.js`, ...words], {encoding: 'utf8'})
  expect(complete(['versi'])).toBe('version\tPrint the version of this tool and of the documents it writes\n:4\n')
  expect(complete(['version', '-o', 'j'])).toBe('json\n:4\n')
})

test.each(['20.20.2', '22.19.0'])('Node %s is named in two lines, not in a stack of the loader', (version) => {
  const old = `Object.defineProperty(process, 'versions', {value: {...process.versions, node: '${version}'}})
    const module = process.getBuiltinModule('node:module')
    delete module.enableCompileCache
    module.syncBuiltinESMExports()`
  for (const entry of ['run.js', 'complete.js']) {
    const {status, stdout, stderr} = spawnSync(
      process.execPath,
      ['--import', `data:text/javascript,${encodeURIComponent(old)}`, `${root}bin/${entry}`, 'version'],
      {encoding: 'utf8'},
    )
    expect({status, stdout}).toEqual({status: 32, stdout: ''})
    expect(stderr).toBe(
      `error: kubectl srcip needs Node 22.20 or newer, this is Node ${version} (${process.execPath})\n` +
        '  install a newer one (https://nodejs.org) and put it first on PATH\n',
    )
  }
})

test('the oldest Node of bin/run.js is that of package.json', () => {
  const {engines} = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {engines: {node: string}}
  expect(readFileSync(`${root}bin/run.js`, 'utf8')).toContain(
    `oldestNode = [${engines.node.replace('>=', '').split('.').join(', ')}]`,
  )
})

test('flags without a default show none', async () => {
  for (const command of ['run', 'proxy'])
    expect((await srcip([command, '--help'])).stdout).not.toMatch(/default: ?[,\]]/)
})
