import {SrcipError} from '../../model/errors.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import {record, textPairs} from '../../model/fields.ts'
import {indexSnapshot, type ReadingState, type Snapshot} from '../../model/snapshot.ts'
import {KubeFailure} from '../failures/failure.ts'
import {subjectText} from '../failures/subject.ts'
import type {KubeClient, ListOptions, ObjectKey, RequestSubject, Resource} from '../types.ts'

/**
 * A snapshot that is asked as if it were the cluster: whatever reads a cluster works without one. Lists know labels
 * (`key=value`) and the fields that we select by; what was denied when the snapshot was taken is denied again (403), what did not answer
 * does not answer. Everything else that a client can do is refused: there is no cluster.
 * @param place file of the snapshot, for messages
 */
export function createSnapshotClient(snapshot: Snapshot, place: string): KubeClient {
  const index = indexSnapshot(snapshot)
  const refused = (what: string): never => {
    throw new SrcipError('Usage', `${place} is a snapshot: it cannot ${what}`, {
      object: place,
      hints: ['leave -f out to work on the cluster'],
    })
  }
  const list = (resource: Resource, options: ListOptions = {}): readonly KubeObject[] => {
    const {namespace, labelSelector, fieldSelector} = options
    const found = index
      .list(resource.kind, resource.group)
      .filter((object) => namespace === undefined || object.metadata.namespace === namespace)
    if (found.length === 0)
      answerFor(
        index.state(resource.kind, namespace, undefined, resource.group),
        {verb: 'list', resource, namespace},
        place,
      )
    return found.filter((object) => hasLabels(object, labelSelector) && hasFields(object, fieldSelector))
  }
  const find = (resource: Resource, {namespace, name}: ObjectKey): KubeObject | undefined => {
    const object = index.get(resource.kind, namespace, name, resource.group)
    if (object !== undefined) return object
    answerFor(
      index.state(resource.kind, namespace, name, resource.group),
      {verb: 'get', resource, namespace, name},
      place,
    )
    return undefined
  }
  return {
    config: {
      source: place,
      namespace: 'default',
      server: place,
      insecureSkipTlsVerify: false,
      disableCompression: true,
      user: {},
      impersonate: {groups: [], extra: {}},
    },
    list: async <T>(resource: Resource, options?: ListOptions) => ({
      items: list(resource, options) as readonly T[],
      resourceVersion: '',
    }),
    async *pages<T>(resource: Resource, options?: ListOptions) {
      yield {items: list(resource, options) as readonly T[], resourceVersion: '', restarted: false}
    },
    find: async <T>(resource: Resource, key: ObjectKey) => find(resource, key) as T | undefined,
    get: async <T>(resource: Resource, key: ObjectKey) => {
      const object = find(resource, key)
      if (object === undefined) throw missing({verb: 'get', resource, ...key}, place)
      return object as T
    },
    request: async () => refused('be asked for that'),
    stream: async () => refused('stream'),
    watch: () => refused('be watched'),
    create: async () => refused('be changed'),
    update: async () => refused('be changed'),
    mergePatch: async () => refused('be changed'),
    apply: async () => refused('be changed'),
    delete: async () => refused('be changed'),
    logs: async () => refused('show logs'),
    logStream: async () => refused('show logs'),
    portForward: async () => refused('forward ports'),
    discover: async () => refused('tell what an API serves'),
    serverVersion: async () => ({gitVersion: snapshot.cluster.version ?? '', major: '', minor: ''}),
    selfSubjectAccessReview: async () => refused('tell rights'),
    dropIdleConnections: () => undefined,
    close: () => undefined,
  }
}

/** Nothing was found: that is an answer only where it was looked for. */
function answerFor(state: ReadingState, about: RequestSubject, place: string): void {
  if (state === 'denied')
    throw new KubeFailure(`${place} does not hold ${subjectText(about)}: reading that was denied`, {
      kind: 'status',
      code: 'Denied',
      status: 403,
      about,
      hints: ['take the snapshot with the rights of ClusterRole srcip-doctor (docs/rights.md)'],
    })
  if (state === 'unreachable' || state === 'partial')
    throw new KubeFailure(`${place} does not hold ${subjectText(about)}: the API server did not answer`, {
      kind: 'transport',
      code: 'Unreachable',
      about,
      hints: ['take the snapshot again'],
    })
}

function missing(about: RequestSubject, place: string): KubeFailure {
  return new KubeFailure(`${place} does not hold ${subjectText(about)}`, {
    kind: 'status',
    code: 'Precondition',
    status: 404,
    about,
  })
}

function hasLabels(object: KubeObject, selector: string | undefined): boolean {
  const labels = textPairs(object.metadata.labels)
  return (selector ?? '')
    .split(',')
    .filter((pair) => pair !== '')
    .every((pair) => {
      const [key = '', value] = pair.split('=')
      return value === undefined ? key in labels : labels[key] === value
    })
}

/** `metadata.name=x`, `spec.type=ExternalName`. */
function hasFields(object: KubeObject, selector: string | undefined): boolean {
  return (selector ?? '')
    .split(',')
    .filter((pair) => pair !== '')
    .every((pair) => {
      const [path = '', value] = pair.split('=')
      const found = path.split('.').reduce<unknown>((inner, name) => record(inner)[name], object)
      return found === value
    })
}
