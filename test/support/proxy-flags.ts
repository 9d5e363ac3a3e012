import type {ProxyFlags} from '../../src/proxy/parse-options.ts'
import {flagTable} from '../../src/proxy/flag-table.ts'

/** Flags of `srcip proxy` with their defaults, except those given. */
export function proxyFlags(given: Partial<ProxyFlags> = {}): ProxyFlags {
  const defaults = flagTable.map((row) => [row.name, row.kind === 'switch' ? false : row.default])
  return {...(Object.fromEntries(defaults) as ProxyFlags), to: '10.96.0.80', ...given}
}
