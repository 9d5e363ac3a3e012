import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {expect, test} from 'vitest'
import {srcip} from '../support/srcip.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** A console block of the README as steps: what is typed, and what is shown under it. */
function steps(which: number): {typed: string; shown: string}[] {
  const blocks = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/```console\n(.*?)```/gs)]
  return (blocks[which]?.[1] ?? '')
    .split(/^\$ /m)
    .slice(1)
    .map((step) => {
      const [typed = '', ...shown] = step.split('\n')
      return {typed: typed.replace(/\s+#.*/, ''), shown: shown.join('\n')}
    })
}

test('the first look of the README prints what the README shows', async () => {
  const [look] = steps(0)
  expect(look?.typed).toMatch(/^kubectl srcip doctor -f docs\/examples\//)
  const {exitCode, stdout} = await srcip(look!.typed.split(' ').slice(2), {cwd: root})
  expect({exitCode, stdout}).toEqual({exitCode: 22, stdout: look!.shown})
})

test('the tour of the README prints what the README shows, and ends with the bytes of before', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'srcip-readme-'))
  try {
    const corefile = join(folder, 'Corefile')
    const [first, ...rest] = steps(1)
    expect(first?.typed).toBe('cat Corefile')
    writeFileSync(corefile, first?.shown ?? '')
    expect(rest.length).toBeGreaterThanOrEqual(4)
    for (const {typed, shown} of rest) {
      if (typed === 'cat Corefile') {
        expect(readFileSync(corefile, 'utf8')).toBe(shown)
        continue
      }
      expect(typed).toMatch(/^kubectl srcip /)
      const {exitCode, stdout, stderr} = await srcip(typed.split(' ').slice(2), {cwd: folder})
      expect({exitCode, printed: stderr + stdout}, typed).toEqual({exitCode: 0, printed: shown})
    }
    expect(readFileSync(corefile, 'utf8')).toBe(first?.shown)
  } finally {
    rmSync(folder, {recursive: true, force: true})
  }
})

test.each([
  'README.md',
  'charts/srcip/README.md',
  ...['architecture', 'checks', 'cleanup', 'development', 'exit-codes', 'mirror', 'refusals', 'rights'].map(
    (name) => `docs/${name}.md`,
  ),
])('every link of %s leads to a file', (page) => {
  const links = [...readFileSync(join(root, page), 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)].map(
    ([, link]) => link ?? '',
  )
  expect(links.filter((link) => !existsSync(join(root, dirname(page), link)))).toEqual([])
})
