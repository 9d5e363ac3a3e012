import type {ChartFiles} from './chart.ts'
import {formatPath, type TextValue, type ValuePath} from './shapes.ts'

/** One way to render a chart: the value to set, as Helm's `--set` writes it, and its name for people. */
export interface ChartMode {
  readonly name: string
  /** Arguments of `helm template`. */
  readonly set: readonly string[]
}

/** Renderings that are tried; a chart can have more switches than anybody wants to wait for. */
export const mostModes = 64

/**
 * The ways in which a chart can render: as it stands, with each switch turned over, and with each text that a template
 * compares a value with (`eq .Values.controller.mode "coredns-import"`). One change at a time.
 * @param prefix keys that the chart lies under in what is rendered
 */
export function chartModes(files: ChartFiles, values: TextValue, prefix: ValuePath = []): ChartMode[] {
  const modes = new Map<string, ChartMode>([['', {name: 'as it stands', set: []}]])
  const add = (path: ValuePath, value: string, text: boolean): void => {
    const setting = `${[...prefix, ...path].map(escapeKey).join('.')}=${value.replace(/([,\\])/g, '\\$1')}`
    modes.set(setting, {name: `${formatPath(path)}=${value}`, set: [text ? '--set-string' : '--set', setting]})
  }
  for (const [path, value] of switches(values, [])) add(path, value === 'true' ? 'false' : 'true', false)
  for (const [path, content] of files) {
    if (!path.startsWith('templates/')) continue
    for (const [, key = '', text = ''] of content.matchAll(/\b(?:eq|ne)\s+\$?\.Values\.([A-Za-z0-9_.]+)\s+"([^"]*)"/g))
      add(key.split('.'), text, true)
  }
  return [...modes.values()]
}

function* switches(value: TextValue, path: ValuePath): Generator<[ValuePath, string]> {
  if (value === 'true' || value === 'false') yield [path, value]
  if (typeof value !== 'object' || Array.isArray(value)) return
  for (const [key, below] of Object.entries(value as Record<string, TextValue>)) {
    if (!key.startsWith('\0')) yield* switches(below, [...path, key])
  }
}

function escapeKey(key: string | number): string {
  return String(key).replace(/([.,\\[\]=])/g, '\\$1')
}

/** Every `image:` in rendered manifests: hooks, init containers and lists alike. */
export function imagesInManifests(manifests: string): string[] {
  const found = new Set<string>()
  for (const [, reference = ''] of manifests.matchAll(/^\s*(?:-\s+)?image:\s*["']?([^"'\s#]+)["']?\s*(?:#.*)?$/gm))
    found.add(reference)
  return [...found].sort()
}
