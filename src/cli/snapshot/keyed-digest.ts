import {createHmac} from 'node:crypto'
import type {Digest} from '../../model/anonymise/address-mapper.ts'
import type {Snapshot} from '../../model/snapshot.ts'

/**
 * The digest for anonymising. Its key is the cluster's own uid, which leaves only in replaced form: the same cluster gives
 * the same replacements each time, and nobody else can compute them. Without a uid (files) the objects' uids or, at last,
 * the text of the objects is the key.
 */
export function keyedDigest(snapshot: Snapshot): Digest {
  const uids = snapshot.objects.flatMap(({metadata}) => metadata.uid ?? [])
  const key = snapshot.cluster.uid ?? (uids.length > 0 ? uids.join() : JSON.stringify(snapshot.objects))
  return (text) => createHmac('sha256', key).update(text).digest('hex')
}
