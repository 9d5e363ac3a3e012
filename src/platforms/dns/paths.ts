/** Paths inside a Linux container: POSIX, whatever this tool runs on, and without touching any file system. */

/** `/a/./b/../c/` gives `/a/c`; a relative path stays relative, the empty one is `.`. */
export function normalizePath(path: string): string {
  const absolute = path.startsWith('/')
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    else if (parts.length > 0 && parts.at(-1) !== '..') parts.pop()
    else if (!absolute) parts.push(part)
  }
  const joined = parts.join('/')
  return absolute ? `/${joined}` : joined === '' ? '.' : joined
}

/** `path` as seen from the directory `base`. */
export function resolvePath(base: string, path: string): string {
  return normalizePath(path.startsWith('/') ? path : `${base}/${path}`)
}

/** True for the directory itself and everything below it; both normalised. */
export function covers(directory: string, path: string): boolean {
  return path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`)
}

/** What stands behind the directory in a path that it covers; empty for the directory itself. */
export function pathBelow(directory: string, path: string): string {
  return path.slice(directory === '/' ? 1 : directory.length + 1)
}
