import {readdirSync, readFileSync} from 'node:fs'

const folder = new URL('../cases/corefiles/', import.meta.url)

/** Corefiles of distributions: name and bytes. */
export function fieldCorefiles(): [string, Uint8Array][] {
  return readdirSync(folder)
    .toSorted()
    .map((name) => [name, readFileSync(new URL(name, folder))])
}
