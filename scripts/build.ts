/** Bundles src into dist, refreshes oclif.manifest.json (`--check` only compares), and writes the texts that bin/run.js answers from. */
import {spawnSync} from 'node:child_process'
import {copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {build} from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const checkOnly = process.argv.includes('--check')

// Built beside and swapped in, so that a command that runs meanwhile finds the old bundle or the new one.
const fresh = join(root, `.dist-${process.pid}`)
const dist = join(root, 'dist')
await build({
  absWorkingDir: root,
  entryPoints: ['src/main.ts', 'src/commands.ts', 'src/complete.ts', 'src/oclif.ts'],
  outdir: fresh,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node22.20',
  minify: true,
  keepNames: true,
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'none',
  // Both load files beside themselves at run time, so they stay packages of their own.
  external: ['jq-wasm', '@kubernetes/client-node'],
  // oclif and some of its dependencies are CommonJS and call require for Node's own modules.
  banner: {
    js: "import {createRequire as __createRequire} from 'node:module';const require=__createRequire(import.meta.url);import {fileURLToPath as __f} from 'node:url';import {dirname as __d} from 'node:path';const __filename=__f(import.meta.url);const __dirname=__d(__filename);",
  },
  logLevel: 'warning',
})

const old = `${fresh}-old`
if (existsSync(dist)) {
  // The texts of the old bundle serve until the new ones are written below.
  if (existsSync(join(dist, 'start.json'))) copyFileSync(join(dist, 'start.json'), join(fresh, 'start.json'))
  renameSync(dist, old)
}
renameSync(fresh, dist)
rmSync(old, {recursive: true, force: true})

const {describePlugin} = (await import(
  new URL('../dist/oclif.js', import.meta.url).href
)) as typeof import('../src/oclif.ts')
const {manifest, help, version} = await describePlugin(root)
const manifestFile = new URL('../oclif.manifest.json', import.meta.url)
const text = `${JSON.stringify(manifest, null, 2)}\n`
if (checkOnly) {
  if (readFileSync(manifestFile, 'utf8') !== text) {
    console.error('oclif.manifest.json is out of date: npm run build, then commit it')
    process.exit(1)
  }
} else {
  writeFileSync(manifestFile, text)
}
writeFileSync(new URL('../dist/start.json', import.meta.url), JSON.stringify({version, help}))

for (const script of ['schemas.ts', 'reference.ts', 'checks.ts']) {
  const {status} = spawnSync(
    process.execPath,
    [fileURLToPath(new URL(script, import.meta.url)), ...(checkOnly ? ['--check'] : [])],
    {stdio: 'inherit'},
  )
  if (status !== 0) process.exitCode = status ?? 1
}
