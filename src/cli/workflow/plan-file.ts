import {SrcipError} from '../../model/errors.ts'
import {planFault} from '../../model/plan-check.ts'
import type {Plan} from '../../model/plan.ts'

/** The plan in a file that `--plan -o json` wrote. Throws 2 for anything else. */
export function readPlan(text: string, file: string): Plan {
  const fail = (reason: string): never => {
    throw new SrcipError('Usage', `${file} holds no plan: ${reason}`, {
      object: file,
      hints: ['kubectl srcip enable --plan -o json writes one'],
    })
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return fail((error as Error).message)
  }
  const fault = planFault(value)
  return fault === undefined ? (value as Plan) : fail(fault)
}
