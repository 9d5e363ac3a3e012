import {execFile} from 'node:child_process'
import {mkdtemp, cp, mkdir, writeFile, rm, symlink} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {packages, rooms} from '../../../arrows.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
let house: string

/** An empty house with our lint rules: each test puts one file into it. */
beforeAll(async () => {
  house = await mkdtemp(join(tmpdir(), 'srcip-arrows-'))
  for (const file of ['arrows.ts', 'oxlint.config.ts', 'tsconfig.json', 'package.json'])
    await cp(join(root, file), join(house, file))
  await symlink(join(root, 'node_modules'), join(house, 'node_modules'))
})
afterAll(() => rm(house, {recursive: true, force: true}))

/** Lints the given files together and returns one line for each finding, `FILE:LINE:COLUMN: text [rule]`. */
async function lint(files: Readonly<Record<string, string>>): Promise<string> {
  for (const [file, text] of Object.entries(files)) {
    await mkdir(join(house, dirname(file)), {recursive: true})
    await writeFile(join(house, file), text)
  }
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(root, 'node_modules/oxlint/bin/oxlint'), '--format', 'unix', ...Object.keys(files)],
      {cwd: house, maxBuffer: 1 << 24},
      (_, out, err) => resolve(out + err),
    )
  })
}

const importOf = (text: string) => /from '([^']+)'/.exec(text)![1]
const up = (room: string) => '../'.repeat(room.split('/').length)

test('every arrow that is not in the table fails, as value and as type import', async () => {
  const files: Record<string, string> = {}
  const wanted: string[] = []
  for (const room of Object.keys(rooms)) {
    for (const other of Object.keys(rooms)) {
      if (other === room || rooms[room]!.may.includes(other)) continue
      // Inside src a neighbour is reached without the word src.
      const path = room.startsWith('src/') && other.startsWith('src/') ? `../${other.slice(4)}` : `${up(room)}${other}`
      const file = `${room}/to-${other.replace('/', '-')}.ts`
      files[file] =
        `import type {x} from '${path}/index.ts'\nimport {z} from '${path}/index.ts'\nexport type y = typeof x\nexport const v = z\n`
      wanted.push(file)
    }
  }
  const output = await lint(files)
  for (const file of wanted) {
    expect(output).toContain(`${file}:1:1: '${importOf(files[file]!)}' import is restricted`)
    expect(output).toContain(`${file}:2:1: '${importOf(files[file]!)}' import is restricted`)
  }
  expect(wanted.length).toBeGreaterThan(80)
})

test('arrows in the table pass', async () => {
  const files: Record<string, string> = {}
  for (const [room, {may}] of Object.entries(rooms)) {
    for (const other of may) {
      const path = room.startsWith('src/') && other.startsWith('src/') ? `../${other.slice(4)}` : `${up(room)}${other}`
      files[`${room}/may-${other.replace('/', '-')}.ts`] =
        `import type {x} from '${path}/index.ts'\nexport type y = typeof x\n`
    }
  }
  expect(await lint(files)).not.toContain('import is restricted')
})

test('a package belongs to the rooms that name it', async () => {
  const files: Record<string, string> = {}
  const wanted: string[] = []
  for (const [room, {packages: allowed = []}] of Object.entries(rooms)) {
    for (const name of packages) {
      if (allowed.includes(name)) continue
      const file = `${room}/pkg-${name.replaceAll(/\W/g, '-')}.ts`
      files[file] = `import * as x from '${name}'\nexport const y = x\n`
      wanted.push(`${file}:1:1: '${name}' import is restricted`)
    }
  }
  const output = await lint(files)
  for (const message of wanted) expect(output).toContain(message)
})

test('pure rooms may not reach for files, clocks or chance', async () => {
  const pure = Object.entries(rooms).filter(([, room]) => room.pure)
  expect(pure.map(([room]) => room)).toEqual([
    'plugins/coredns',
    'src/model',
    'src/platforms',
    'src/hosts',
    'src/diagnosis',
    'src/lb',
  ])
  const files: Record<string, string> = {}
  for (const [room] of pure)
    files[`${room}/impure.ts`] =
      `import {readFileSync} from 'node:fs'\nexport const y = [readFileSync, Date.now(), process.env]\n`
  const output = await lint(files)
  for (const [room] of pure) {
    expect(output).toContain(`${room}/impure.ts:1:1: 'node:fs' import is restricted`)
    expect(
      output.split('\n').filter((line) => line.includes(`${room}/impure.ts`) && /Date|process/.test(line)).length,
    ).toBeGreaterThanOrEqual(2)
  }
})
