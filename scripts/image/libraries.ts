import {spawnSync} from 'node:child_process'

/**
 * Shared libraries that a program loads at its start, and its loader, as absolute paths: what `ldd` prints. Throws when one
 * cannot be found, or for a program that ldd does not understand. A static program has none.
 */
export function libraryFiles(program: string): string[] {
  const {status, stdout, stderr, error} = spawnSync('ldd', [program], {
    encoding: 'utf8',
    env: {PATH: '/usr/bin:/bin', LC_ALL: 'C'},
  })
  if (error !== undefined) throw new Error(`ldd cannot be run: ${error.message}`)
  if (/not a dynamic executable|statically linked/.test(stdout + stderr)) return []
  if (status !== 0) throw new Error(`ldd ${program} failed: ${stderr.trim()}`)
  return parseLdd(stdout, program)
}

/** The paths in what ldd prints: `name => /path (0x…)`, or `/path (0x…)` for the loader; the vdso has none. */
export function parseLdd(output: string, program: string): string[] {
  return output.split('\n').flatMap((line) => {
    const missing = /^\s*(\S+) => not found/.exec(line)?.[1]
    if (missing !== undefined) throw new Error(`${program} needs ${missing}, which is not installed`)
    return /^\s*(?:\S+ => )?(\/\S+) \(0x[0-9a-f]+\)/.exec(line)?.[1] ?? []
  })
}
