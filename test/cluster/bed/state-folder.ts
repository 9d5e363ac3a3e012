import {spawn, type ChildProcess} from 'node:child_process'
import {mkdirSync, mkdtempSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'

/**
 * What the warden does: it reads process ids, one a line, until its input ends. It ends when the owner says `keep` or
 * `done`, or when the owner is gone, however it died: then what the owner left running is killed and its folder removed.
 */
const wardenScript = `
while read -r line; do
  case $line in
    done) exit 0 ;;
    *) pids="$pids $line" ;;
  esac
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
sleep 0.2
rm -rf -- "$0"
`

/**
 * A folder for the files of running processes, with a warden: a small process that outlives a `kill -9` of this one,
 * ends the registered processes and removes the folder.
 */
export type StateFolder = {
  path: string
  /** The warden ends this process if we die first. */
  guard(child: ChildProcess): void
  /** Gives the warden its leave; the folder goes too, unless `keep`. */
  release(options?: {keep?: boolean}): void
}

/** Makes a state folder below the system's folder for temporary files. */
export function stateFolder(name: string): StateFolder {
  const path = mkdtempSync(join(tmpdir(), `srcip-${name}-`))
  const warden = spawn('sh', ['-c', wardenScript, path], {stdio: ['pipe', 'ignore', 'ignore'], detached: true})
  warden.unref()
  warden.stdin.on('error', () => {})
  ;(warden.stdin as unknown as {unref?: () => void}).unref?.()
  const children = new Set<ChildProcess>()
  const killAll = () => {
    for (const child of children) child.kill('SIGKILL')
  }
  process.once('exit', killAll)
  return {
    path,
    guard(child) {
      children.add(child)
      child.once('exit', () => children.delete(child))
      if (child.pid !== undefined) warden.stdin.write(`${child.pid}\n`)
    },
    release({keep = false} = {}) {
      process.off('exit', killAll)
      killAll()
      warden.stdin.end('done\n')
      if (!keep) rmSync(path, {recursive: true, force: true})
    },
  }
}

/** Makes a folder and its parents; returns the path. */
export function folder(...segments: string[]): string {
  const path = join(...segments)
  mkdirSync(path, {recursive: true, mode: 0o755})
  return path
}
