import {absent, present, type Plan, type PlanStep} from '../../model/plan.ts'
import {changeField} from '../engine/fields.ts'
import {sealPlan, type PlanDraft} from '../engine/seal-plan.ts'
import {guardSteps} from './guard-steps.ts'
import type {PairFacts} from './pair-facts.ts'
import {
  balancerStep,
  configRef,
  controllerStep,
  dnsInStep,
  dnsOutStep,
  namesStep,
  proxyStep,
  receiverStep,
  removalStep,
  uninstallStep,
  type PairOptions,
  type PairParts,
} from './pair-steps.ts'

const configKey = 'use-proxy-protocol'

/**
 * The plan that switches one pair (design.md 6, strict receiver). On: the proxy follows each pod of the receiver, the names go to it and
 * are proved while all is still plain, the balancer sends, the receiver asks, the proxy always sends. Off is the mirror image. A
 * step that is so already is no step; no steps: there is nothing to do. Pure.
 */
export function planPair(
  operation: 'enable' | 'disable',
  facts: PairFacts,
  parts: PairParts,
  options: PairOptions,
): Plan {
  const steps = operation === 'enable' ? onSteps(facts, parts, options) : offSteps(facts, parts, options)
  const {namespace, name} = facts.service
  const flips = steps.some(({id}) => id === 'receiver')
  const draft: PlanDraft = {
    operation,
    platform: 'generic',
    scope: {namespace: 'kube-system', subject: `service/${namespace}/${name}`},
    cluster: {uid: options.clusterUid},
    toolVersion: options.toolVersion,
    inputs: options.inputs,
    orders: flips ? [orderOf(operation, facts)] : [],
    steps,
    warnings: options.warnings,
  }
  return sealPlan(draft)
}

function orderOf(operation: 'enable' | 'disable', {service}: PairFacts): Plan['orders'][number] {
  const direction = operation === 'enable' ? 'begins to send' : 'ceases to send'
  return {
    name: 'balancer-then-receiver',
    chosen: true,
    why: 'a strict receiver takes either all connections with a header or none: outside traffic fails from the moment the balancer switches until each pod has reloaded; callers inside go through the proxy, which follows each pod',
    cuts: [
      ...service.ports.map(({port}) => ({
        side: 'outside' as const,
        port,
        from: 'balancer',
        until: 'receiver',
        why: `the balancer ${direction} the header before the receiver changes its mind`,
      })),
      ...service.ports.map(({port}) => ({
        side: 'inside' as const,
        port,
        from: 'receiver',
        until: 'receiver',
        why: 'the proxy notices within a probe period (250 ms) what a pod takes now',
        seconds: 2,
      })),
    ],
  }
}

function onSteps(facts: PairFacts, parts: PairParts, options: PairOptions): PlanStep[] {
  const proxy = facts.proxy ?? parts.made
  const flip = changeField(facts.config.object, ['data', configKey], present('true'))
  const steps: PlanStep[] = []
  if (flip !== undefined || facts.proxy === undefined)
    steps.push(proxyStep(facts, parts, {id: 'proxy', mode: flip === undefined ? 'always' : 'auto'}))
  if (!facts.hasRun) {
    if (facts.hosts.length > 0) steps.push(dnsInStep(facts, proxy, options))
    steps.push(controllerStep(facts, parts))
  } else if (facts.hosts.length > 0 && flip !== undefined) steps.push(namesStep(facts, proxy))
  if (flip !== undefined) {
    const guard = guardSteps(options.guard, configRef(facts), [flip])
    steps.push(
      ...guard.arm,
      balancerStep(facts, 'header'),
      receiverStep(facts, proxy, flip, 'required'),
      ...guard.confirm,
    )
    steps.push(proxyStep(facts, parts, {id: 'proxy-always', mode: 'always', from: 'auto'}))
  }
  return steps
}

function offSteps(facts: PairFacts, parts: PairParts, options: PairOptions): PlanStep[] {
  const flip = facts.asks ? changeField(facts.config.object, ['data', configKey], absent) : undefined
  const steps: PlanStep[] = []
  const {proxy} = facts
  if (flip !== undefined) {
    const guard = guardSteps(options.guard, configRef(facts), [flip])
    if (proxy !== undefined) steps.push(proxyStep(facts, parts, {id: 'proxy', mode: 'auto'}))
    steps.push(
      ...guard.arm,
      balancerStep(facts, 'plain'),
      receiverStep(facts, proxy, flip, 'refused'),
      ...guard.confirm,
    )
  }
  if (proxy === undefined && !facts.hasRun) return steps
  // what Helm installed is Helm's to take away
  if (proxy?.release !== undefined) return [...steps, uninstallStep(proxy.namespace, proxy.release, facts)]
  if (facts.hasRun) steps.push(removalStep('controller', 'take the controller away', parts.controller))
  steps.push(dnsOutStep(facts, proxy ?? parts.made, options))
  if (proxy !== undefined) steps.push(removalStep('proxy-away', 'take the proxy away', parts.proxy('auto')))
  return steps
}
