import {Check, Errors} from 'typebox/value'
import {mirrorPlanSchema} from './schemas/mirror.ts'

/**
 * What is wrong with a value that should be a MirrorPlan: the place and the reason of the first fault, or undefined.
 * Loaded only where a plan file is read: typebox by value costs a quarter of a second.
 */
export function mirrorPlanFault(value: unknown): string | undefined {
  if (Check(mirrorPlanSchema, value)) return undefined
  const [first] = Errors(mirrorPlanSchema, value)
  if (first === undefined) return 'it does not fit its schema'
  return `at ${first.instancePath === '' ? 'the top' : first.instancePath}: ${first.message}`
}
