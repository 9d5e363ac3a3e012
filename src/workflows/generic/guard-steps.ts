import {present, type FieldChange, type PlanObject, type PlanStep} from '../../model/plan.ts'
import {asProof} from '../../model/proofs.ts'
import {objectOfManifest} from '../engine/reverse.ts'
import type {GuardOrder} from '../guard/watch-over.ts'

/** Where a guard lives and what it runs. */
export interface GuardSettings {
  readonly namespace: string
  /** Repository and digest of our image. */
  readonly image: string
  readonly windowSeconds: number
}

const name = 'srcip-guard'
const labels = {'srcip.dev/component': 'guard', 'app.kubernetes.io/name': 'srcip'}
const rbac = 'rbac.authorization.k8s.io/v1'

/** Steps around a flip: armed before it, confirmed and taken away after it; none without a guard. */
export function guardSteps(
  guard: GuardSettings | undefined,
  object: PlanObject,
  fields: readonly FieldChange[],
): {readonly arm: readonly PlanStep[]; readonly confirm: readonly PlanStep[]} {
  if (guard === undefined) return {arm: [], confirm: []}
  const {namespace, windowSeconds} = guard
  const place: PlanObject = {group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespace, name}
  const manifests = guardObjects(guard, {object, fields, windowSeconds})
  const state = (value: string, title: string) =>
    asProof({proof: 'field', title, object: place, path: ['data', 'state'], equals: present(value)})
  const undo = {proofs: [], limitSeconds: 60, instructions: []}
  return {
    arm: [
      {
        ...{id: 'guard', title: `a guard puts the switch back unless it is confirmed within ${windowSeconds} s`},
        action: 'create',
        operation: {op: 'apply', manifests},
        proofs: [state('watching', 'the guard watches')],
        limitSeconds: 60,
        instructions: [],
        ...{reversible: true, onFailure: 'stop'},
        undo: {title: 'the guard is taken away', ...undo},
      },
    ],
    confirm: [
      {
        ...{id: 'confirm', title: 'the switch is confirmed: the guard leaves it alone', action: 'update'},
        operation: {
          op: 'patch',
          object: place,
          uid: '',
          fields: [{path: ['data', 'state'], before: present('watching'), after: present('confirmed')}],
        },
        proofs: [state('confirmed', 'the guard knows')],
        limitSeconds: 30,
        instructions: [],
        ...{reversible: true, onFailure: 'stop'},
      },
      {
        ...{id: 'guard-away', title: 'the guard is taken away', action: 'delete'},
        operation: {
          op: 'delete',
          objects: manifests.toReversed().map((manifest) => ({object: objectOfManifest(manifest)})),
          manifests: [],
        },
        proofs: [asProof({proof: 'gone', title: 'the guard is gone', object: place})],
        limitSeconds: 60,
        instructions: [],
        ...{reversible: true, onFailure: 'stop'},
      },
    ],
  }
}

/** A Job of our image, with a Role for its own ConfigMap and for exactly the object of the flip. */
function guardObjects(guard: GuardSettings, order: GuardOrder): Readonly<Record<string, unknown>>[] {
  const {namespace, image} = guard
  const meta = (space: string, extra = '') => ({name: `${name}${extra}`, namespace: space, labels})
  const {object} = order
  const target = object.namespace ?? namespace
  const binding = (space: string, extra: string) => ({
    ...{apiVersion: rbac, kind: 'RoleBinding', metadata: meta(space, extra)},
    roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: `${name}${extra}`},
    subjects: [{kind: 'ServiceAccount', name, namespace}],
  })
  const role = (space: string, extra: string, group: string, plural: string, only: string) => ({
    ...{apiVersion: rbac, kind: 'Role', metadata: meta(space, extra)},
    rules: [{apiGroups: [group], resources: [plural], resourceNames: [only], verbs: ['get', 'patch']}],
  })
  return [
    {apiVersion: 'v1', kind: 'ServiceAccount', metadata: meta(namespace)},
    {apiVersion: 'v1', kind: 'ConfigMap', metadata: meta(namespace), data: {order: JSON.stringify(order)}},
    role(namespace, '', '', 'configmaps', name),
    binding(namespace, ''),
    role(target, '-target', object.group, object.plural, object.name),
    binding(target, '-target'),
    {
      ...{apiVersion: 'batch/v1', kind: 'Job', metadata: meta(namespace)},
      spec: {
        backoffLimit: 20,
        // nothing is left of a guard that nobody takes away
        ttlSecondsAfterFinished: 3600,
        template: {
          metadata: {labels},
          spec: {
            ...{serviceAccountName: name, restartPolicy: 'OnFailure', terminationGracePeriodSeconds: 5},
            securityContext: {runAsNonRoot: true, seccompProfile: {type: 'RuntimeDefault'}},
            containers: [
              {
                ...{name: 'guard', image, args: ['guard', `--config-map=${namespace}/${name}`]},
                resources: {requests: {cpu: '10m', memory: '64Mi'}, limits: {memory: '192Mi'}},
                securityContext: {
                  ...{allowPrivilegeEscalation: false, readOnlyRootFilesystem: true},
                  capabilities: {drop: ['ALL']},
                },
              },
            ],
          },
        },
      },
    },
  ]
}
