import {stringify} from 'yaml'

/** Plain data as YAML with sorted keys, no folded lines and no aliases. A module of its own, loaded only when asked for. */
export function toYamlText(value: unknown): string {
  return stringify(JSON.parse(JSON.stringify(value)), {
    sortMapEntries: true,
    lineWidth: 0,
    aliasDuplicateObjects: false,
  })
}
