import {readFile} from 'node:fs/promises'
import {apiVersion} from '../../model/documents.ts'
import {exitCodes, SrcipError} from '../../model/errors.ts'
import type {Plan, RunResult} from '../../model/plan.ts'
import {indexSnapshot} from '../../model/snapshot.ts'
import {assertPlanFits} from '../../workflows/engine/seal-plan.ts'
import {runPlan} from '../../workflows/engine/run-plan.ts'
import {takeSnapshot} from '../snapshot/take-snapshot.ts'
import {readPlan} from './plan-file.ts'
import {planGeneric} from './plan-generic.ts'
import type {SwitchFlagValues} from './flags.ts'
import {clusterUid, withEngine, type RunContext} from './session.ts'

export type Operation = 'enable' | 'disable'

/** `enable` and `disable`: the plan alone with --plan, else what became of it. */
export async function runSwitch(
  operation: Operation,
  flags: SwitchFlagValues,
  context: RunContext,
): Promise<{readonly plan: Plan} | {readonly result: RunResult}> {
  const {client, signal} = context
  const uid = await clusterUid(client, signal)
  const given = flags['plan-file']
  if (given !== undefined) {
    const plan = readPlan(await readFile(given, 'utf8').catch(noFile(given)), given)
    assertPlanFits(plan, uid, given)
    if (plan.operation !== operation)
      throw new SrcipError('Usage', `${given} is a plan to ${plan.operation}`, {
        hints: [`kubectl srcip ${plan.operation} --plan-file ${given}`],
      })
    return flags.plan ? {plan} : {result: await carryOut(plan, flags, context)}
  }
  const planned = await planNow(operation, flags, context, uid)
  if ('notNeeded' in planned) return {result: notNeeded(operation, planned.notNeeded)}
  return flags.plan ? planned : {result: await carryOut(planned.plan, flags, context)}
}

function noFile(path: string) {
  return (error: NodeJS.ErrnoException): never => {
    const reason = error.code === 'ENOENT' ? 'there is no such file' : error.message
    throw new SrcipError('Usage', `cannot read --plan-file ${path}: ${reason}`, {object: path})
  }
}

async function planNow(
  operation: Operation,
  flags: SwitchFlagValues,
  context: RunContext,
  uid: string,
): Promise<{readonly plan: Plan} | {readonly notNeeded: string}> {
  const {client, signal, onEvent} = context
  const snapshot = await takeSnapshot(
    {anonymise: false, output: 'json', filename: undefined, namespace: undefined},
    {open: async () => client, signal, onEvent, now: new Date()},
  )
  return await planGeneric(operation, indexSnapshot(snapshot), flags, {
    uid,
    toolVersion: context.toolVersion,
    client,
    signal,
  })
}

async function carryOut(plan: Plan, flags: SwitchFlagValues, context: RunContext): Promise<RunResult> {
  const question = `${plan.operation} ${plan.scope.subject}, ${plan.steps.length} steps?`
  return await withEngine(context, flags, {namespace: plan.scope.namespace, question}, (ports, options) =>
    runPlan(ports, plan, options),
  )
}

function notNeeded(operation: Operation, reason: string): RunResult {
  return {
    ...{apiVersion, kind: 'RunResult', operation, platform: 'generic', direction: 'forward', dryRun: 'none'},
    ...{outcome: 'not-needed', reason, steps: [], next: []},
    ...{exitCode: exitCodes.Ok, changed: false, warnings: []},
  }
}
