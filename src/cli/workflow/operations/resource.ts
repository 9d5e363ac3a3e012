import type {Resource} from '../../../kube/index.ts'
import type {PlanObject} from '../../../model/plan.ts'

/** The object of a plan in the words of src/kube. */
export function resourceOf(object: PlanObject): Resource {
  const {group, version, plural, kind} = object
  return {group, version, plural, kind, namespaced: object.namespace !== undefined}
}

export function keyOf({namespace, name}: PlanObject) {
  return {namespace, name}
}
