import {spawn} from 'node:child_process'
import {cpSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Images `NAME:1` from one registry to another, below a prefix. */
export interface Job {
  readonly source: string
  readonly target: string
  readonly prefix: string
  readonly names: readonly string[]
  /** Believe manifests that are there (what crane and regctl do). */
  readonly trust: boolean
  /** A second run with nothing to do. */
  readonly again: boolean
}

export interface Usage {
  readonly wall: number
  readonly cpu: number
  /** Largest resident set of one process, MB. */
  readonly memory: number
}

/** A tool in the quickest honest way that it offers for many images. */
export interface Contestant {
  readonly name: string
  /** Does a second run compare the manifest only, or walk everything? */
  readonly again: 'trusts' | 'walks' | 'both'
  command(job: Job, folder: string): readonly string[]
}

/** The built plugin, from a copy: a build that runs meanwhile does not take files away. */
export function ours(folder: string): Contestant {
  const home = join(folder, 'srcip')
  for (const name of ['bin', 'dist', 'package.json', 'oclif.manifest.json'])
    cpSync(join(root, name), join(home, name), {recursive: true})
  const entry = join(home, 'bin/run.js')
  return {
    name: 'srcip',
    again: 'both',
    command: ({source, target, prefix, names, trust}) => [
      process.execPath,
      entry,
      'mirror',
      'copy',
      ...names.map((name) => `${source}/${name}:1`),
      '--to',
      `${target}/${prefix}`,
      '--no-referrers',
      '--plain-http',
      source,
      '--plain-http',
      target,
      ...(trust ? ['--trust-manifests'] : []),
    ],
  }
}

export function crane(path: string): Contestant {
  return {
    name: 'crane',
    again: 'trusts',
    command: ({source, target, prefix, names}) => [
      'sh',
      '-c',
      names.map((name) => `${path} copy --insecure ${source}/${name}:1 ${target}/${prefix}/${name}:1`).join(' && '),
    ],
  }
}

export function regctl(path: string): Contestant {
  return {
    name: 'regctl',
    again: 'trusts',
    command: ({source, target, prefix, names}) => {
      const hosts = `--host reg=${source},tls=disabled --host reg=${target},tls=disabled`
      return [
        'sh',
        '-c',
        names
          .map((name) => `${path} ${hosts} image copy ${source}/${name}:1 ${target}/${prefix}/${name}:1`)
          .join(' && '),
      ]
    },
  }
}

/**
 * One process for all, `sync` from a list. Its second run compares manifests only, so the row in which everything is walked
 * is run with `copy`, which walks.
 */
export function skopeo(path: string): Contestant {
  return {
    name: 'skopeo',
    again: 'both',
    command: ({source, target, prefix, names, again, trust}, folder) => {
      if (again && !trust) {
        const flags = '--all --preserve-digests --src-tls-verify=false --dest-tls-verify=false'
        const last = (name: string): string => name.split('/').at(-1) ?? name
        return [
          'sh',
          '-c',
          names
            .map(
              (name) =>
                `${path} --insecure-policy copy ${flags} docker://${source}/${name}:1 docker://${target}/${prefix}/${last(name)}:1`,
            )
            .join(' && '),
        ]
      }
      const list = join(folder, 'skopeo.yml')
      writeFileSync(
        list,
        `${source}:\n  tls-verify: false\n  images:\n${names.map((name) => `    ${name}: ["1"]\n`).join('')}`,
      )
      return [
        path,
        '--insecure-policy',
        'sync',
        '--all',
        '--preserve-digests',
        '--dest-tls-verify=false',
        '--src',
        'yaml',
        '--dest',
        'docker',
        list,
        `${target}/${prefix}`,
      ]
    },
  }
}

/** Runs a contestant to its end under time(1), which also adds up what its children used. */
export async function measure(time: string, command: readonly string[], folder: string): Promise<Usage> {
  const report = join(folder, 'time')
  rmSync(report, {force: true})
  const child = spawn(time, ['-f', '%e %U %S %M', '-o', report, ...command], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {PATH: process.env['PATH'] ?? '', HOME: folder},
  })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  if (code !== 0) throw new Error(`${command.slice(0, 4).join(' ')} … ended with ${code}: ${stderr.slice(-500)}`)
  const [wall = 0, user = 0, system = 0, memory = 0] =
    readFileSync(report, 'utf8').trim().split('\n').at(-1)?.split(' ').map(Number) ?? []
  return {wall, cpu: user + system, memory: memory / 1024}
}
