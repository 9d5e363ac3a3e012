import {execFile} from 'node:child_process'
import {mkdir, mkdtemp, readdir, rename, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import {afterAll, beforeAll, expect, test} from 'vitest'

const source = fileURLToPath(new URL('../../plugins/coredns/', import.meta.url))
const run = promisify(execFile)
let work: string
let installed: string

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'srcip-coredns-package-'))
  const {stdout} = await run('npm', ['pack', '--json', '--pack-destination', work], {cwd: source})
  const [{filename}] = Object.values(JSON.parse(stdout)) as [{filename: string}]
  await run('tar', ['-xzf', join(work, filename), '-C', work])
  await mkdir(join(work, 'node_modules', '@srcip'), {recursive: true})
  installed = join(work, 'node_modules', '@srcip', 'coredns')
  await rename(join(work, 'package'), installed)
})
afterAll(() => rm(work, {recursive: true, force: true}))

test('the Corefile toolkit stands alone: it parses from a plain JavaScript project without any of our other code', async () => {
  await writeFile(join(work, 'package.json'), '{"type": "module"}')
  await writeFile(
    join(work, 'use.js'),
    `import * as coredns from '@srcip/coredns'
     const names = Object.keys(coredns).filter((name) => typeof coredns[name] === 'function').sort()
     console.log(JSON.stringify(names))`,
  )
  const {stdout} = await run(process.execPath, ['use.js'], {cwd: work})
  expect((JSON.parse(stdout) as string[]).length).toBeGreaterThan(5)
})

test('it has no dependency and carries its own README and license', async () => {
  const {stdout} = await run(process.execPath, ['-p', 'JSON.stringify(require("./package.json").dependencies ?? {})'], {
    cwd: installed,
  })
  expect(stdout.trim()).toBe('{}')
  expect(await readdir(installed)).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'dist', 'package.json']))
})
