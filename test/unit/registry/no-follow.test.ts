import {mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, expect, test, vi} from 'vitest'
import {blobPath} from '../../../src/registry/layout/content.ts'
import {digestOf} from '../../../src/registry/digest.ts'
import {digestOfPath, openLayout} from '../../../src/registry/layout/read.ts'

// As on Windows: the constant is not there, and a link has to be found out without it.
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const {O_NOFOLLOW: _, ...constants} = fs.constants
  return {...fs, constants}
})

const folder = mkdtempSync(join(tmpdir(), 'srcip-no-follow-'))
afterAll(() => rmSync(folder, {recursive: true, force: true}))

test('trap 43: where files cannot be opened without following links, links are still refused', async () => {
  const secret = join(folder, 'secret')
  writeFileSync(secret, 'x')
  const digest = digestOf(Buffer.from('x'), 'sha256')
  const layout = join(folder, 'layout')
  mkdirSync(join(layout, 'blobs/sha256'), {recursive: true})
  writeFileSync(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
  const place = join(layout, blobPath(digest))
  writeFileSync(place, 'x')
  expect((await (await openLayout(layout)).read(digest, 0, 1)).toString()).toBe('x')
  rmSync(place)
  symlinkSync(secret, place)
  await expect((await openLayout(layout)).read(digest, 0, 1)).rejects.toThrow('no regular file')
  rmSync(join(layout, 'blobs'), {recursive: true})
  symlinkSync(folder, join(layout, 'blobs'))
  expect(readdirSync(join(layout, 'blobs'))).toContain('secret')
  await expect(openLayout(layout)).rejects.toThrow()
})

test('trap 43: no two names of an archive differ by case alone, and none is reserved', () => {
  expect(digestOfPath(`blobs/sha256/${'AB'.repeat(32)}`)).toBeUndefined()
  expect(digestOfPath(`blobs/SHA256/${'ab'.repeat(32)}`)).toBeUndefined()
  expect(digestOfPath('blobs/sha256/con')).toBeUndefined()
  expect(digestOfPath(`blobs/sha256/${'ab'.repeat(32)}`)).toBe(`sha256:${'ab'.repeat(32)}`)
})
