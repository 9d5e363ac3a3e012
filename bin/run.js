#!/usr/bin/env node
// Plugin entry. No top-level await around the run: a reader that closes the pipe early must not become exit 13 (style.md F5).
import {existsSync, readFileSync} from 'node:fs'
import module from 'node:module'

/** Oldest Node that runs the bundle; the same stands in `engines` of package.json. */
const oldestNode = [22, 20]

module.enableCompileCache?.() // absent in Node 20, which must get as far as the message below

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(process.exitCode ?? 0)
  })
}

const argv = process.argv.slice(2)
const root = new URL('..', import.meta.url)
const caller = process.env.HELM_PLUGIN_DIR ? 'helm srcip' : 'kubectl srcip'

if (isTooOld(process.versions.node)) {
  process.stderr.write(
    `error: ${caller} needs Node ${oldestNode.join('.')} or newer, this is Node ${process.versions.node} (${process.execPath})\n` +
      '  install a newer one (https://nodejs.org) and put it first on PATH\n',
  )
  process.exitCode = 32
} else if (!existsSync(new URL('dist/main.js', root))) {
  process.stderr.write('error: this checkout is not built\n  npm run build\n')
  process.exitCode = 1
} else if (!answeredFromFiles()) {
  start().catch((error) => {
    process.stderr.write(`error: this is a bug in srcip: ${error.stack}\n`)
    process.exitCode = 1
  })
}

function isTooOld(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])
}

/** `--version`, root help and completion need nothing but files that the build wrote; oclif would cost 0.1 s. */
function answeredFromFiles() {
  if (argv[0] === '__complete') {
    void import(new URL('dist/complete.js', root).href).then(({complete}) =>
      process.stdout.write(complete(argv.slice(1), root)),
    )
    return true
  }
  if (argv.length > 1 || (argv.length === 1 && !['--version', '--help', '-h', 'help'].includes(argv[0]))) return false
  const texts = JSON.parse(readFileSync(new URL('dist/start.json', root), 'utf8'))
  const userAgent = `${texts.version} ${process.platform}-${process.arch} node-${process.version}`
  process.stdout.write(
    argv[0] === '--version' ? `${userAgent}\n` : texts.help[caller].replace('{userAgent}', userAgent),
  )
  return true
}

async function start() {
  const pjson = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
  pjson.oclif.bin = caller
  const {fileURLToPath} = await import('node:url')
  const {main} = await import(new URL('dist/main.js', root).href)
  await main(argv, {root: fileURLToPath(root), pjson})
}
