import {posix} from 'node:path'
import fc from 'fast-check'
import {expect, it} from 'vitest'
import {covers, normalizePath, pathBelow, resolvePath} from '../../../../src/platforms/dns/paths.ts'

const path = fc.array(fc.constantFrom('a', 'bb', '.', '..', '', 'c.d'), {maxLength: 6}).map((parts) => parts.join('/'))
/** Node keeps a slash at the end, which says nothing in a mount path. */
const bare = (text: string) => (text === '/' ? text : text.replace(/\/+$/, '')) || '.'

it('normalises as Node does', () => {
  fc.assert(
    fc.property(fc.boolean(), path, (absolute, text) => {
      const given = absolute ? `/${text}` : text.replace(/^\/+/, '')
      expect(normalizePath(given)).toBe(bare(posix.normalize(given)))
    }),
  )
})

it('resolves and compares as Node does', () => {
  fc.assert(
    fc.property(path, path, (base, text) => {
      const directory = normalizePath(`/${base}`)
      const found = resolvePath(directory, text)
      expect(found).toBe(posix.resolve(directory, text))
      const relative = posix.relative(directory, found)
      expect(covers(directory, found)).toBe(!relative.startsWith('..'))
      if (covers(directory, found)) expect(pathBelow(directory, found)).toBe(relative)
    }),
  )
})
