import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {expect, test} from 'vitest'
import {srcip} from '../support/srcip.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The console block of the README as steps: what is typed, and what is shown under it. */
function tour(): {typed: string; shown: string}[] {
  const [, block = ''] = /```console\n(.*?)```/s.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((step) => {
      const [typed = '', ...shown] = step.split('\n')
      return {typed: typed.replace(/\s+#.*/, ''), shown: shown.join('\n')}
    })
}

test('the tour of the README prints what the README shows, and ends with the bytes of before', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'srcip-readme-'))
  try {
    const corefile = join(folder, 'Corefile')
    const [first, ...steps] = tour()
    expect(first?.typed).toBe('cat Corefile')
    writeFileSync(corefile, first?.shown ?? '')
    expect(steps.length).toBeGreaterThanOrEqual(4)
    for (const {typed, shown} of steps) {
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
  ...['architecture', 'cleanup', 'development', 'exit-codes', 'mirror', 'refusals', 'rights'].map(
    (name) => `docs/${name}.md`,
  ),
])('every link of %s leads to a file', (page) => {
  const links = [...readFileSync(join(root, page), 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)].map(
    ([, link]) => link ?? '',
  )
  expect(links.filter((link) => !existsSync(join(root, dirname(page), link)))).toEqual([])
})
