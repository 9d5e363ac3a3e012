import {createHash} from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import {dirname, join, relative} from 'node:path'
import {libraryFiles} from './libraries.ts'

/** The user that everything in the image runs as; the chart says the same number. */
const uid = 65532

/**
 * Packages that the bundle leaves out because they load files beside themselves (scripts/build.ts, `external`). client-node is
 * one more, but it is loaded for kubeconfigs with `auth-provider` only, which no Pod has.
 */
const externalPackages = ['jq-wasm']

/** What was assembled; the digest covers paths, modes, links and bytes. */
export interface Rootfs {
  readonly files: number
  readonly bytes: number
  readonly sha256: string
}

/**
 * Writes the image's folder anew. No compile cache goes in: Node's differ from run to run, and a pod starts once. The same inputs give the same bytes: names in order, one time, modes by rule. Throws with
 * the reason when Node, the bundle or HAProxy is missing.
 */
export function assembleRootfs(root: string, target: string): Rootfs {
  const node = join(root, 'node_modules/node/bin/node')
  need(node, 'npm install')
  need(join(root, 'dist/main.js'), 'npm run build')
  const haproxy = ['/usr/sbin/haproxy', '/usr/local/sbin/haproxy'].find((path) => existsSync(path))
  if (haproxy === undefined) throw new Error('haproxy is not installed: apt-get install haproxy')
  rmSync(target, {recursive: true, force: true})
  for (const folder of ['app', 'etc', 'tmp', 'usr/bin', 'usr/sbin', 'home/srcip', 'proc', 'dev', 'sys'])
    mkdirSync(join(target, folder), {recursive: true})
  put(realpathSync(node), join(target, 'usr/bin/node'), 0o755)
  put(realpathSync(haproxy), join(target, 'usr/sbin/haproxy'), 0o755)
  copyLibraries([node, haproxy], target)
  copyProduct(root, join(target, 'app'))
  writeAccounts(target)
  return settle(target)
}

function need(path: string, remedy: string): void {
  if (!existsSync(path)) throw new Error(`${path} is not there: ${remedy}`)
}

function put(from: string, to: string, mode = 0o644): void {
  mkdirSync(dirname(to), {recursive: true})
  copyFileSync(from, to)
  chmodSync(to, mode)
}

/** Shared libraries and loaders, each at the path that the loader looks for it. */
function copyLibraries(programs: readonly string[], target: string): void {
  // getaddrinfo loads these by name, so no program lists them
  const names = ['libnss_files.so.2', 'libnss_dns.so.2', 'libresolv.so.2']
  const listed = new Set(programs.flatMap((program) => libraryFiles(program)))
  const libc = [...listed].find((path) => path.endsWith('/libc.so.6'))
  const folder = libc === undefined ? [] : [dirname(libc)]
  const further = folder.flatMap((path) => names.map((name) => join(path, name))).filter((path) => existsSync(path))
  for (const library of new Set([...listed, ...further])) put(realpathSync(library), join(target, library), 0o755)
}

/** The npm package as it is installed, without what only the command line needs. */
function copyProduct(root: string, app: string): void {
  put(join(root, 'package.json'), join(app, 'package.json'))
  put(join(root, 'oclif.manifest.json'), join(app, 'oclif.manifest.json'))
  put(join(root, 'LICENSE'), join(app, 'LICENSE'))
  put(join(root, 'bin/run.js'), join(app, 'bin/run.js'), 0o755)
  copyTree(join(root, 'dist'), join(app, 'dist'), (path) => !path.endsWith('.map'))
  for (const name of externalPackages)
    copyTree(join(root, 'node_modules', name), join(app, 'node_modules', name), (path) => !path.endsWith('.map'))
}

function copyTree(from: string, to: string, wanted: (path: string) => boolean): void {
  for (const entry of readdirSync(from, {withFileTypes: true})) {
    const [source, copy] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) copyTree(source, copy, wanted)
    else if (entry.isFile() && wanted(source)) put(source, copy)
  }
}

function writeAccounts(target: string): void {
  const etc = (name: string, text: string): void => writeFileSync(join(target, 'etc', name), text)
  etc('passwd', `root:x:0:0:root:/:/nonexistent\nsrcip:x:${uid}:${uid}:srcip:/home/srcip:/nonexistent\n`)
  etc('group', `root:x:0:\nsrcip:x:${uid}:\n`)
  etc('nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n')
}

/** One time for all, modes by rule, and the digest over everything in order. */
function settle(target: string): Rootfs {
  const hash = createHash('sha256')
  let files = 0
  let bytes = 0
  const visit = (path: string): void => {
    const stat = lstatSync(path)
    const name = relative(target, path)
    if (stat.isDirectory()) {
      chmodSync(path, name === 'tmp' ? 0o1777 : 0o755)
      for (const entry of readdirSync(path).toSorted()) visit(join(path, entry))
    } else if (stat.isSymbolicLink()) {
      hash.update(`link ${name} ${readlinkSync(path)}\0`)
    } else {
      const content = readFileSync(path)
      files += 1
      bytes += content.length
      hash.update(`file ${name} ${(stat.mode & 0o777).toString(8)} ${content.length}\0`).update(content)
    }
    lutimesSync(path, 0, 0)
  }
  visit(target)
  return {files, bytes, sha256: hash.digest('hex')}
}
