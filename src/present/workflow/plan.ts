import type {Plan, PlanOperation, PlanStep} from '../../model/plan.ts'
import {refText} from '../../model/kubernetes.ts'
import {layoutTable, printable} from '../table.ts'
import {unifiedDiff} from '../unified-diff.ts'
import type {View} from '../view.ts'

/** A plan as people read it: the order with what fails for how long, then the steps. */
export const planView: View<Plan> = {
  table(plan, options) {
    if (plan.steps.length === 0) return `nothing to do: ${printable(plan.scope.subject)} is so already\n`
    const rows = plan.steps.map((step, index) => [
      String(index + 1),
      step.id,
      step.action,
      objectOf(step),
      step.title,
      step.limitSeconds === 0 ? '' : `${step.limitSeconds}s`,
    ])
    const cuts = plan.orders.flatMap((order) => [
      `${order.chosen ? 'order' : 'other order'} ${order.name}: ${order.why}`,
      ...order.cuts.map(
        ({side, port, from, until, seconds, why}) =>
          `  ${side} ${port} fails from step ${from} to step ${until}${seconds === undefined ? '' : `, at most ${seconds} s`}: ${why}`,
      ),
    ])
    const risks = plan.steps.flatMap(({id, risk}) => (risk === undefined ? [] : [`risk at step ${id}: ${risk}`]))
    const manual = plan.steps
      .filter(({instructions}) => instructions.length > 0)
      .flatMap(({id, instructions}) => [`step ${id}, by hand:`, ...instructions.map((line) => `  ${line}`)])
    return [
      `${plan.operation} ${plan.platform} ${plan.scope.subject}`,
      ...cuts,
      layoutTable(['#', 'STEP', 'ACTION', 'OBJECT', 'WHAT', 'LIMIT'], rows, options.headers).trimEnd(),
      ...risks,
      ...manual,
    ]
      .map((line) => `${line.split('\n').map(printable).join('\n')}\n`)
      .join('')
  },
  name: (plan) => plan.steps.flatMap((step) => objectsOf(step.operation)),
  diff: (plan, options) => plan.steps.map((step) => stepDiff(step, options.color)).join(''),
}

function objectOf(step: PlanStep): string {
  const [first = '', ...others] = objectsOf(step.operation)
  return others.length === 0 ? first : `${first} and ${others.length} more`
}

function objectsOf(operation: PlanOperation): string[] {
  switch (operation.op) {
    case 'patch':
      return [refText(operation.object)]
    case 'apply':
      return operation.manifests.map(manifestText)
    case 'delete':
      return operation.objects.map(({object}) => refText(object))
    case 'dns':
      return ['cluster DNS']
    case 'none':
      return []
  }
}

function manifestText(manifest: Readonly<Record<string, unknown>>): string {
  const {namespace, name} = (manifest['metadata'] ?? {}) as {namespace?: string; name?: string}
  return refText({kind: String(manifest['kind']), namespace, name: name ?? ''})
}

function stepDiff(step: PlanStep, color: boolean): string {
  const {operation} = step
  const text = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`
  switch (operation.op) {
    case 'patch': {
      const lines = (which: 'before' | 'after'): string =>
        operation.fields
          .flatMap((field) => {
            const value = field[which]
            return 'absent' in value ? [] : [`${field.path.join('.')}: ${JSON.stringify(value.value)}\n`]
          })
          .join('')
      return unifiedDiff(refText(operation.object), lines('before'), lines('after'), color)
    }
    case 'apply':
      return operation.manifests.map((one) => unifiedDiff(manifestText(one), '', text(one), color)).join('')
    case 'delete':
      return operation.objects
        .map(({object}) => unifiedDiff(refText(object), text({delete: refText(object)}), '', color))
        .join('')
    case 'dns': {
      const rules = (which: 'before' | 'after'): string =>
        operation[which].hosts.map(({name, target}) => `${name} -> ${target}\n`).join('')
      return unifiedDiff('cluster-dns', rules('before'), rules('after'), color)
    }
    case 'none':
      return ''
  }
}
