import type {FileChange} from '../../../plugins/coredns/src/index.ts'
import type {DnsState, DnsWrite} from '../types.ts'
import type {OwnImportKey} from './import-keys.ts'

/**
 * Changed files as writes of ConfigMap keys. What shrinks comes last: lines that move between
 * the Corefile and a key stand in both for a moment rather than in neither. A key that is empty afterwards goes; the ConfigMap stays.
 */
export function writesOf(state: DnsState, files: readonly FileChange[], keys: readonly OwnImportKey[]): DnsWrite[] {
  const location = state.location
  if (location === undefined) return []
  return [...files]
    .sort(
      (left, right) =>
        Number(shrinks(left)) - Number(shrinks(right)) || Number(left.file === '') - Number(right.file === ''),
    )
    .flatMap((file): DnsWrite[] => {
      const own = keys.find((key) => key.path === file.file)
      const before = file.before === undefined ? null : Buffer.from(file.before).toString('utf8')
      const after = file.after === null ? null : Buffer.from(file.after).toString('utf8')
      if (before === after) return []
      const texts = {namespace: location.namespace, before, after}
      if (own !== undefined) return [{...texts, configMap: own.mount.configMap, key: own.key, ...identityOf(own.mount)}]
      return [
        {
          ...texts,
          configMap: location.corefile.configMap,
          key: location.corefile.key,
          ...identityOf(location.corefile),
        },
      ]
    })
}

function shrinks({before, after}: FileChange): boolean {
  return (after?.length ?? 0) < (before?.length ?? 0)
}

function identityOf({uid, resourceVersion}: {readonly uid?: string; readonly resourceVersion?: string}): {
  uid?: string
  resourceVersion?: string
} {
  return {...(uid === undefined ? {} : {uid}), ...(resourceVersion === undefined ? {} : {resourceVersion})}
}
