import {expect, test} from 'vitest'
import {parseLdd} from '../../../scripts/image/libraries.ts'

test('paths of libraries and of the loader, without the vdso', () => {
  const output = [
    '\tlinux-vdso.so.1 (0x00007ffd1a5e2000)',
    '\tlibssl.so.3 => /lib/x86_64-linux-gnu/libssl.so.3 (0x00007f8b2e3d4000)',
    '\t/lib64/ld-linux-x86-64.so.2 (0x00007f8b2e4cc000)',
    '',
  ].join('\n')
  expect(parseLdd(output, 'haproxy')).toEqual(['/lib/x86_64-linux-gnu/libssl.so.3', '/lib64/ld-linux-x86-64.so.2'])
})

test('a library that is missing is named with the program that needs it', () => {
  expect(() => parseLdd('\tliblua5.3.so.0 => not found\n', '/usr/sbin/haproxy')).toThrow(
    '/usr/sbin/haproxy needs liblua5.3.so.0, which is not installed',
  )
})
