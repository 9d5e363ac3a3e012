/** Writes docs/checks.md from the checks themselves (`--check` only compares). Run by the build. */
import {existsSync, readFileSync, writeFileSync} from 'node:fs'
import {checks} from '../src/diagnosis/checks/index.ts'
import {evidenceChecks} from '../src/diagnosis/evidence/findings.ts'
import {remedyWords} from '../src/diagnosis/remedies/words.ts'

const all = [...checks, ...evidenceChecks].toSorted((a, b) => (a.id < b.id ? -1 : 1))
const cell = (text: string): string => text.replaceAll('|', '\\|')

const lines = [
  '# What `doctor` finds',
  '',
  'Written from the checks by `npm run build`; do not edit. Ids never change their meaning: use them with `--ignore` and in scripts.',
  'The severity is the usual one; a finding may be milder where it does no harm.',
  '',
  '| id | name | severity | means |',
  '|---|---|---|---|',
  ...all.map(
    ({id, name, severity, means}) =>
      `| [${id}](#${id.toLowerCase()}) | ${name} | ${severity} | ${cell((means.split(/(?<=[.:]) /)[0] ?? '').replace(/:$/, '.'))} |`,
  ),
  '',
  '## Remedies',
  '',
  'Each finding lists its remedies, cheapest first: 0 nothing to change, 1 a field, 2 a setting of the platform, 3 a new part to run.',
  '',
  '| word | is |',
  '|---|---|',
  ...Object.entries(remedyWords).map(([word, text]) => `| \`${word}\` | ${cell(text)} |`),
]
for (const {id, name, severity, means, act, sources} of all) {
  lines.push(
    '',
    `<a id="${id.toLowerCase()}"></a>`,
    `## ${id} ${name}`,
    '',
    `Severity: ${severity}.`,
    '',
    means,
    '',
    `What to do: ${act}`,
  )
  if (sources.length > 0) lines.push('', 'Sources:', '', ...sources.map((source) => `- <${source}>`))
}

const target = new URL('../docs/checks.md', import.meta.url)
const text = `${lines.join('\n')}\n`
if (!existsSync(target) || readFileSync(target, 'utf8') !== text) {
  if (process.argv.includes('--check')) {
    console.error('docs/checks.md is out of date: npm run build, then commit it')
    process.exitCode = 1
  } else writeFileSync(target, text)
}
