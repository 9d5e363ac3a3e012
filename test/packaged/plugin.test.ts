import {execFile} from 'node:child_process'
import {access, chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {describeWithParts} from '../cluster/bed/index.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)
let work: string
let installed: string

/** The npm package as a user gets it, unpacked under a path with a blank, with the packages it depends on beside it. */
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'srcip packaged '))
  const {stdout} = await run('npm', ['pack', '--json', '--pack-destination', work], {cwd: root})
  const packed = JSON.parse(stdout) as {filename: string}[] | Record<string, {filename: string}>
  const [{filename}] = Object.values(packed) as [{filename: string}]
  await run('tar', ['-xzf', join(work, filename), '-C', work])
  installed = join(work, 'package')
  await mkdir(join(installed, 'node_modules', '@kubernetes'), {recursive: true})
  for (const name of ['jq-wasm', '@kubernetes/client-node'])
    await symlink(join(root, 'node_modules', name), join(installed, 'node_modules', name))
})
afterAll(() => rm(work, {recursive: true, force: true}))

/** A folder with `kubectl-srcip` and `kubectl_complete-srcip` as krew and npm install them. */
async function pluginFolder(): Promise<string> {
  const folder = join(work, 'bin')
  await mkdir(folder, {recursive: true})
  for (const [name, file] of [
    ['kubectl-srcip', 'run.js'],
    ['kubectl_complete-srcip', 'complete.js'],
  ] as const) {
    const shim = `#!/bin/sh\nexec "${process.execPath}" "${join(installed, 'bin', file)}" "$@"\n`
    await writeFile(join(folder, name), shim)
    await chmod(join(folder, name), 0o755)
  }
  return folder
}

async function call(command: string, argv: readonly string[], env: Record<string, string> = {}) {
  return run(command, argv, {env: {HOME: work, PATH: process.env['PATH'] ?? '', ...env}}).then(
    ({stdout, stderr}) => ({exitCode: 0, stdout, stderr}),
    (error: {code: number; stdout: string; stderr: string}) => ({
      exitCode: error.code,
      stdout: error.stdout,
      stderr: error.stderr,
    }),
  )
}

describe('the npm package', () => {
  test('holds what runs and nothing that only developers need', async () => {
    const entries = await readdir(installed)
    expect(entries).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'CHANGELOG.md',
        'bin',
        'charts',
        'dist',
        'docs',
        'oclif.manifest.json',
        'package.json',
        'plugin.yaml',
        'schemas',
      ]),
    )
    for (const name of ['src', 'plugins', 'test', 'scripts', 'arrows.ts', 'vitest.config.ts'])
      expect(entries).not.toContain(name)
  })

  test('every file that its README links to is there', async () => {
    const readme = await readFile(join(installed, 'README.md'), 'utf8')
    const links = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path]) => path as string)
    expect(links).not.toEqual([])
    for (const path of links) await expect(access(join(installed, path)), path).resolves.toBeUndefined()
  })

  test('names no path of the machine that built it', async () => {
    for (const file of await readdir(join(installed, 'dist'))) {
      const text = await readFile(join(installed, 'dist', file), 'utf8')
      expect(text.includes(root), file).toBe(false)
    }
  })

  test('works on a Corefile from stdin, without a cluster and with a read-only home', async () => {
    const {exitCode, stdout, stderr} = await call(
      'bash',
      [
        '-c',
        `printf '.:53 {\\n    forward . 192.0.2.53\\n    kubernetes cluster.local\\n    reload\\n}\\n' | "${process.execPath}" "${installed}/bin/run.js" coredns show -f - -o json --jq .kind`,
      ],
      {HOME: '/nonexistent'},
    )
    expect({exitCode, stderr}).toEqual({exitCode: 0, stderr: ''})
    expect(stdout.trim()).toMatch(/^Coredns/)
  })
})

await describeWithParts('through the real kubectl', ['kubectl'], ({kubectl}) => {
  const withPlugin = async (argv: readonly string[]) =>
    call(kubectl, argv, {PATH: `${await pluginFolder()}:/usr/bin:/bin`})

  test('kubectl srcip runs and passes exit codes through', async () => {
    expect(await withPlugin(['srcip', '--version'])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^kubectl-srcip\//),
    })
    expect(await withPlugin(['srcip', 'version', '--nope'])).toMatchObject({exitCode: 2})
  })

  test('kubectl lists it as one plugin without a warning', async () => {
    const {stdout, stderr} = await withPlugin(['plugin', 'list', '--name-only'])
    expect(stdout.split('\n').filter((line) => line.includes('srcip'))).toEqual(['kubectl-srcip'])
    expect(stderr).toBe('')
  })

  test('kubectl completes its commands', async () => {
    const {stdout} = await withPlugin(['__complete', 'srcip', 'vers'])
    expect(stdout).toContain('version\tPrint the version')
  })
})

await describeWithParts('through the real Helm', ['helm'], ({helm}) => {
  test('helm plugin install of a checkout gives helm srcip, exit codes included', async () => {
    const env = {
      HELM_DATA_HOME: join(work, 'helm'),
      PATH: `${join(process.execPath, '..')}:${process.env['PATH'] ?? ''}`,
    }
    expect(await call(helm, ['plugin', 'install', root], env)).toMatchObject({exitCode: 0})
    const {version} = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {version: string}
    expect((await call(helm, ['plugin', 'list'], env)).stdout).toMatch(new RegExp(`^srcip\\s+${version}\\s`, 'm'))
    expect((await call(helm, ['srcip', '--help'], env)).stdout).toContain('$ helm srcip [COMMAND]')
    const refused = await call(helm, ['srcip', 'coredns', 'plan', '-f', '/nonexistent', '--host', 'a.example.org'], env)
    expect(refused).toMatchObject({exitCode: 2, stdout: ''})
    expect(refused.stderr).toContain('error: cannot read /nonexistent')
  })
})
