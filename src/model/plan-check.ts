import {Check, Errors} from 'typebox/value'
import type {TSchema} from 'typebox'
import {mirrorPlanSchema} from './schemas/mirror.ts'
import {planSchema} from './schemas/plan.ts'

/**
 * What is wrong with a value that should be a MirrorPlan: the place and the reason of the first fault, or undefined.
 * Loaded only where a plan file is read: typebox by value costs a quarter of a second.
 */
export function mirrorPlanFault(value: unknown): string | undefined {
  return faultOf(mirrorPlanSchema, value)
}

/** The same for the Plan of `enable` and `disable`. */
export function planFault(value: unknown): string | undefined {
  return faultOf(planSchema, value)
}

function faultOf(schema: TSchema, value: unknown): string | undefined {
  if (Check(schema, value)) return undefined
  const [first] = Errors(schema, value)
  if (first === undefined) return 'it does not fit its schema'
  return `at ${first.instancePath === '' ? 'the top' : first.instancePath}: ${first.message}`
}
