/**
 * Makes a fresh checkout ready and goes on with the tests or the demo. Plain JavaScript without dependencies, so that
 * Node 20 runs it before anything is installed:
 *
 *     node scripts/bootstrap.mjs test | demo
 *
 * In order: npm packages (only when node_modules differs from the lockfile), the pinned Node, Debian packages, parts of
 * the test bed, build. What is there already is reused. What cannot be had is named, the rest runs, and a run that was
 * good otherwise ends with exit code 21.
 */
import {spawnSync} from 'node:child_process'
import {accessSync, constants, existsSync, readFileSync, symlinkSync} from 'node:fs'
import {delimiter, join} from 'node:path'
import {fileURLToPath} from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = join(root, 'node_modules', '.bin')
const pinnedNode = join(bin, process.platform === 'win32' ? 'node.exe' : 'node')

/** Programs that tests and demo take from Debian: what must be there, and the package that has it. */
const debian = [
  ['nginx', 'nginx'],
  ['/usr/lib/nginx/modules/ngx_stream_module.so', 'libnginx-mod-stream'],
  ['haproxy', 'haproxy'],
  ['iptables', 'iptables'],
  ['ip', 'iproute2'],
  ['nsenter', 'util-linux'],
  ['openssl', 'openssl'],
  ['curl', 'curl'],
  ['dnsperf', 'dnsperf'],
  ['nft', 'nftables'],
  ['chromium', 'chromium'],
  ['tcpdump', 'tcpdump'],
  ['skopeo', 'skopeo'],
  ['docker-registry', 'docker-registry'],
  ['containerd', 'containerd'],
  ['/etc/ssl/certs/ca-certificates.crt', 'ca-certificates'],
]

main()

function main() {
  const what = process.argv[2]
  if (what !== 'test' && what !== 'demo') {
    process.stderr.write('usage: node scripts/bootstrap.mjs test | demo\n')
    process.exit(2)
  }
  const [major = 0] = process.versions.node.split('.').map(Number)
  if (major < 20) fail(`Node ${process.versions.node} is too old: install Node 20 or newer (https://nodejs.org)`)
  installNpmPackages()
  installPinnedNode()
  const missing = [...installDebianPackages()]
  if (!runPinned('scripts/parts.ts')) missing.push('parts of the test bed (named above)')
  if (!runPinned('scripts/build.ts')) fail('the build failed: npm run build')
  const status = spawnSync(pinnedNode, [join(root, 'scripts', `${what}.ts`), ...process.argv.slice(3)], {
    cwd: root,
    stdio: 'inherit',
    env: environment({SRCIP_MISSING: missing.join('; ')}),
  })
  process.exit(status.status ?? 1)
}

/** One line on stderr, so that a long silence has a reason. */
function say(text) {
  process.stderr.write(`bootstrap: ${text}\n`)
}

function fail(text) {
  process.stderr.write(`error: ${text}\n`)
  process.exit(1)
}

function environment(extra = {}) {
  return {...process.env, PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`, ...extra}
}

function runPinned(script) {
  const {status} = spawnSync(pinnedNode, [join(root, script)], {cwd: root, stdio: ['ignore', 2, 2], env: environment()})
  return status === 0
}

function installNpmPackages() {
  const difference = lockDifference()
  if (difference === undefined) return
  say(`npm ci (${difference})`)
  // npm's own output goes to stderr: stdout belongs to the tests and the demo.
  const {status} = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: false,
  })
  if (status !== 0) fail('npm ci failed; its message stands above')
}

/** How node_modules differs from the lockfile; undefined when it does not. */
function lockDifference() {
  const wanted = readLock(join(root, 'package-lock.json'))
  const installed = readLock(join(root, 'node_modules', '.package-lock.json'))
  if (wanted === undefined) fail('package-lock.json is missing or not JSON')
  if (installed === undefined) return 'nothing is installed'
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '' || !path.startsWith('node_modules/') || entry.optional || entry.link) continue
    if (installed[path]?.version !== entry.version) return `${path} is not at ${entry.version}`
    if (!existsSync(join(root, path))) return `${path} is gone`
  }
  const stale = Object.keys(installed).find(
    (path) => wanted[path] === undefined && !path.includes('node_modules/node/'),
  )
  return stale === undefined ? undefined : `${stale} is not in the lockfile`
}

function readLock(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages
  } catch {
    return undefined
  }
}

/** npm may leave install scripts out; then the one of the package `node` is run by name. */
function installPinnedNode() {
  const {devDependencies} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const wanted = `v${devDependencies.node}`
  const version = () => spawnSync(pinnedNode, ['--version'], {encoding: 'utf8'}).stdout?.trim()
  if (version() === wanted) return
  say(`Node ${wanted} from the npm package "node"`)
  const folder = join(root, 'node_modules', 'node')
  spawnSync(process.execPath, ['installArchSpecificPackage.js'], {cwd: folder, stdio: ['ignore', 2, 2]})
  // npm links only programs that are there when it installs a package.
  if (!existsSync(pinnedNode)) symlinkSync(join('..', 'node', 'bin', 'node'), pinnedNode)
  if (version() !== wanted) fail(`node_modules/.bin/node is not ${wanted}: rm -rf node_modules && npm ci`)
}

/** Installs what is missing as root on Debian; otherwise says how. Returns what stays missing. */
function installDebianPackages() {
  const lacking = () => debian.filter(([file]) => !isThere(file)).map(([, name]) => name)
  const names = lacking()
  if (names.length === 0) return []
  const command = `apt-get install --no-install-recommends ${names.join(' ')}`
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) {
    say(`Debian packages are missing; without them some tests are skipped. As root:\n  ${command}`)
    return [`Debian packages (${command})`]
  }
  say(`installing the Debian packages ${names.join(', ')}`)
  const apt = (...args) =>
    spawnSync('apt-get', args, {stdio: ['ignore', 2, 2], env: {...process.env, DEBIAN_FRONTEND: 'noninteractive'}})
  const install = ['install', '--yes', '--quiet', '--no-install-recommends', ...names]
  if (apt(...install).status !== 0) {
    apt('update', '--quiet')
    apt(...install)
  }
  const left = lacking()
  if (left.length === 0) return []
  say(`apt-get did not install ${left.join(', ')}`)
  return [`Debian packages (${left.join(' ')})`]
}

function isThere(file) {
  if (file.startsWith('/')) return existsSync(file)
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin', '/usr/local/sbin']
  return folders.some((folder) => {
    try {
      accessSync(join(folder, file), constants.X_OK)
      return folder !== ''
    } catch {
      return false
    }
  })
}
