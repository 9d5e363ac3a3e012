import {spawn} from 'node:child_process'
import {createHash} from 'node:crypto'
import {existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync} from 'node:fs'
import {homedir} from 'node:os'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {partsFolder, type BuiltPart} from './part-table.ts'

/** Where built parts live: `$XDG_CACHE_HOME/kubectl-srcip/parts`, or below `~/.cache`. */
export function cacheFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const base = environment['XDG_CACHE_HOME']
  return join(base === undefined || base === '' ? join(homedir(), '.cache') : base, 'kubectl-srcip', 'parts')
}

/**
 * The file that a build of this part ends in. The key covers everything that decides its bytes, so a changed module
 * file, version or flag builds anew and everything else is reused.
 */
export function builtFile(part: BuiltPart): string {
  const hash = createHash('sha256')
  const folder = join(partsFolder, part.module)
  for (const file of readdirSync(folder).toSorted()) {
    if (!/\.go$|^go\.(?:mod|sum)$/.test(file)) continue
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(folder, file)))
      .update('\0')
  }
  hash.update([part.package, part.version, part.ldflags, process.platform, process.arch].join('\0'))
  const key = `${part.binary}-${part.version}-${hash.digest('hex').slice(0, 16)}`
  return join(cacheFolder(), key, part.binary)
}

/**
 * Builds a part with Go into the cache, once for everyone: a lock keeps builders apart, and the finished file appears
 * by rename. Progress goes to stderr. Resolves to the file, or to the reason why there is none.
 */
export async function buildPart(part: BuiltPart): Promise<string | {missing: string}> {
  const target = builtFile(part)
  if (existsSync(target)) return target
  if (!(await runs('go', ['version']))) {
    return {missing: 'Go is not on PATH (https://go.dev/dl, 1.26 or newer) and the part was not built before'}
  }
  const release = await takeLock(join(cacheFolder(), 'lock'))
  try {
    return existsSync(target) ? target : await build(part, target)
  } finally {
    release()
  }
}

async function build(part: BuiltPart, target: string): Promise<string | {missing: string}> {
  const unfinished = `${target}.${process.pid}`
  mkdirSync(join(target, '..'), {recursive: true})
  const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', part.ldflags, '-o', unfinished, part.package]
  const result = await withProgress(
    `building ${part.binary} ${part.version} (about ${part.coldBuild} the first time)`,
    () => run('go', args, join(partsFolder, part.module), {CGO_ENABLED: '0', GOFLAGS: '-mod=readonly'}),
  )
  if (result.code !== 0) {
    rmSync(unfinished, {force: true})
    return {missing: `go build failed in test/cluster/parts/${part.module}:\n${result.output.slice(-2000)}`}
  }
  renameSync(unfinished, target)
  return target
}

/** Runs `work` and says on stderr that it goes on, every ten seconds on a log and every second on a terminal. */
async function withProgress<T>(title: string, work: () => Promise<T>): Promise<T> {
  const started = Date.now()
  const elapsed = () => `${((Date.now() - started) / 1000).toFixed(0)} s`
  const terminal = process.stderr.isTTY
  process.stderr.write(`parts: ${title}\n`)
  const timer = setInterval(
    () => process.stderr.write(terminal ? `\rparts: ${elapsed()} ` : `parts: ${title}, ${elapsed()}\n`),
    terminal ? 1000 : 10_000,
  )
  try {
    return await work()
  } finally {
    clearInterval(timer)
    process.stderr.write(`${terminal ? '\r' : ''}parts: ${title}, done after ${elapsed()}\n`)
  }
}

type Finished = {code: number; output: string}

/** Runs a program to its end and keeps what it prints; a program that is not there ends with code 127. */
export function run(
  program: string,
  args: string[],
  cwd?: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<Finished> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      ...(cwd === undefined ? {} : {cwd}),
      env: {...process.env, ...environment},
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const keep = (chunk: Buffer) => (output += chunk.toString())
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.on('error', (error) => resolve({code: 127, output: error.message}))
    child.on('close', (code) => resolve({code: code ?? 1, output}))
  })
}

async function runs(program: string, args: string[]): Promise<boolean> {
  return (await run(program, args)).code === 0
}

/** Waits for a lock file that holds the owner's process id; the lock of a process that is gone is taken over. */
async function takeLock(path: string): Promise<() => void> {
  mkdirSync(join(path, '..'), {recursive: true})
  for (let waited = 0; ; waited += 1) {
    try {
      writeFileSync(path, String(process.pid), {flag: 'wx'})
      return () => rmSync(path, {force: true})
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    if (!ownerLives(path)) {
      // Renaming first makes sure that only one of several waiters throws the dead lock away.
      const taken = `${path}.${process.pid}`
      try {
        renameSync(path, taken)
        rmSync(taken, {force: true})
      } catch {}
      continue
    }
    if (waited === 0) process.stderr.write('parts: another process is building, waiting for it\n')
    await sleep(250)
  }
}

function ownerLives(path: string): boolean {
  try {
    const owner = Number(readFileSync(path, 'utf8'))
    // An empty file belongs to a process that is between creating and writing it.
    if (owner === 0) return true
    process.kill(owner, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
