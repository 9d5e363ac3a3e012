/** Writes schemas/*.json from the typebox schemas in src/model/schemas (`--check` only compares). */
import {existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs'

const checkOnly = process.argv.includes('--check')
const source = new URL('../src/model/schemas/', import.meta.url)
const target = new URL('../schemas/', import.meta.url)
mkdirSync(target, {recursive: true})

let stale = 0
const written = new Set<string>()
for (const file of existsSync(source) ? readdirSync(source).toSorted() : []) {
  if (!file.endsWith('.ts')) continue
  const module = (await import(new URL(file, source).href)) as Record<string, unknown>
  for (const [name, schema] of Object.entries(module)) {
    if (!name.endsWith('Schema') || typeof schema !== 'object' || schema === null || !('$id' in schema)) continue
    const output = new URL(`${String(schema.$id).split('/').at(-1)}.json`, target)
    const text = `${JSON.stringify({$schema: 'https://json-schema.org/draft/2020-12/schema', ...schema}, null, 2)}\n`
    written.add(output.pathname.split('/').at(-1) as string)
    if (existsSync(output) && readFileSync(output, 'utf8') === text) continue
    stale++
    if (checkOnly)
      console.error(`${output.pathname.split('/').slice(-2).join('/')} is out of date: npm run build, then commit it`)
    else writeFileSync(output, text)
  }
}
for (const file of readdirSync(target)) {
  if (written.has(file)) continue
  stale++
  console.error(`schemas/${file} has no schema in src/model/schemas: delete it`)
}
process.exitCode = checkOnly && stale > 0 ? 1 : 0
