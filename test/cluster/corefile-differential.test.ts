import {afterAll, expect, test} from 'vitest'
import {corefileCase, type CorefileCase} from '../support/corefile-generator.ts'
import {askGoParser, caseFolder, leavesFolder, ourAnswer, parseCase} from '../support/caddyfile-parser.ts'
import {importedFiles, importPatterns, outcomeOf} from '../support/import-patterns.ts'
import {propertySeed} from '../support/property-seed.ts'
import {describeWithParts} from './bed/suite.ts'

/** SRCIP_SEED and SRCIP_CASES replay, vary or shorten a run: the printed seed gives the same inputs again. */
const seed = propertySeed
const total = Number(process.env['SRCIP_CASES'] ?? 50_000)
const batch = 5_000

/** Inputs with more imports than this are cycles: CoreDNS takes minutes for some of them, so they have tests of their own. */
const importLimit = 200

const text = new TextEncoder()

function show(one: CorefileCase): string {
  const files = [...one.files].map(([path, bytes]) => `--- ${path}\n${Buffer.from(bytes).toString()}`)
  return [Buffer.from(one.corefile).toString(), ...files, JSON.stringify([...one.env])].join('\n')
}

await describeWithParts('the parser of CoreDNS', ['caddyfile'], (parts) => {
  const folder = caseFolder()
  afterAll(() => folder.remove())

  test(`reads ${total} inputs as ours does (SRCIP_SEED=${seed})`, {timeout: 300_000}, () => {
    const counts = {
      cases: 0,
      cycles: 0,
      outside: 0,
      accepted: 0,
      rejected: 0,
      blocks: 0,
      vector: 0,
      field: 0,
      grammar: 0,
    }
    let next = 0
    while (counts.cases < total) {
      const numbers = Array.from({length: Math.min(batch, total - counts.cases)}, () => next++)
      const inputs = numbers.map((index) => {
        const one = corefileCase(seed, index)
        return {index, one, parsed: parseCase(one, folder.root)}
      })
      const ended = inputs.filter(({parsed}) => parsed.imports.length <= importLimit)
      const asked = ended.filter(({parsed}) => !leavesFolder(parsed, folder.root))
      counts.cycles += inputs.length - ended.length
      counts.outside += ended.length - asked.length
      const answers = askGoParser(
        parts.caddyfile,
        asked.map(({one}) => one),
        folder.root,
      )
      expect(answers).toHaveLength(asked.length)
      asked.forEach(({index, one, parsed}, position) => {
        const theirs = answers[position]
        const ours = ourAnswer(parsed)
        // Compared as text first: the structural comparison is for the message and far slower.
        if (JSON.stringify(ours) !== JSON.stringify(theirs)) {
          expect(ours, `SRCIP_SEED=${seed} case ${index}\n${show(one)}`).toEqual(theirs)
        }
        counts.cases++
        counts[one.origin]++
        counts.blocks += theirs?.blocks.length ?? 0
        if (theirs?.error === '') counts.accepted++
        else counts.rejected++
      })
    }
    console.log(`corefile differential: seed ${seed} ${JSON.stringify(counts)}`)
    expect(counts.accepted / counts.cases).toBeGreaterThan(0.3)
    expect(counts.cycles + counts.outside).toBeLessThan(total / 1000 + 1)
  })

  test('reads import patterns as ours does', () => {
    const files = new Map(Object.entries(importedFiles).map(([path, content]) => [path, text.encode(content)]))
    const asked = importPatterns.map(({pattern}): CorefileCase => ({
      corefile: text.encode(`. {\n import ${pattern}\n}\n`),
      files,
      env: new Map(),
      checked: false,
      origin: 'grammar',
    }))
    const answers = askGoParser(parts.caddyfile, asked, folder.root)
    const outcomes = answers.map(({blocks, error}) => outcomeOf(error, Object.keys(blocks[0]?.tokens ?? {})))
    expect(outcomes).toEqual(importPatterns.map(({outcome}) => outcome))
    expect(asked.map((one) => ourAnswer(parseCase(one, folder.root)))).toEqual(answers)
  })

  const cycles: Readonly<Record<string, {main: string; files?: Record<string, string>}>> = {
    'a snippet that names itself': {main: '(a) {\n  import a\n}\n.:53 {\n  import a\n}\n'},
    'a snippet that imports a file that imports it': {
      main: '(a) {\n  import lib/a\n}\n.:53 {\n  import a\n}\n',
      files: {'lib/a': 'import a\n'},
    },
    'a file that imports itself': {main: '.:53 {\n  import lib/a\n}\n', files: {'lib/a': 'import a\n'}},
    'two files that import each other, between blocks': {
      main: 'import lib/a\n',
      files: {'lib/a': 'import b\n', 'lib/b': 'import a\n'},
    },
    'a file that imports itself behind a directive': {
      main: '.:53 {\n  import lib/a\n}\n',
      files: {'lib/a': 'errors\nimport a\n'},
    },
  }
  for (const [title, {main, files}] of Object.entries(cycles)) {
    test(`refuses ${title} in the same words`, () => {
      const one: CorefileCase = {
        corefile: text.encode(main),
        files: new Map(Object.entries(files ?? {}).map(([path, content]) => [path, text.encode(content)])),
        env: new Map(),
        checked: true,
        origin: 'grammar',
      }
      const [theirs] = askGoParser(parts.caddyfile, [one], folder.root)
      expect(ourAnswer(parseCase(one, folder.root))).toEqual(theirs)
      expect(theirs?.error).toContain('import depth (10000) exceeded')
    })
  }
})
