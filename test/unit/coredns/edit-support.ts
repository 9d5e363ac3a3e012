import {readdirSync, readFileSync} from 'node:fs'
import {expect} from 'vitest'
import {
  answersByZone,
  markerTexts,
  planEdit as planWithSimulator,
  type EditPlan,
  type EditRequest,
  type WantedHost,
} from '../../../plugins/coredns/src/index.ts'

export const target = 'srcip-proxy.srcip.svc.cluster.local'
export const {begin, end} = markerTexts.srcip

/** The editor without the simulator: these tests are about bytes, many of their files resolve nothing. */
export function planEdit(request: EditRequest): EditPlan {
  return planWithSimulator({answers: answersByZone, ...request})
}

export function planRemoval(request: Omit<EditRequest, 'hosts' | 'allowEmpty' | 'spared'>): EditPlan {
  return planEdit({...request, hosts: [], allowEmpty: true})
}

const encoder = new TextEncoder()
export const bytes = (text: string): Uint8Array => encoder.encode(text)
export const text = (content: Uint8Array): string => new TextDecoder('utf-8', {ignoreBOM: true}).decode(content)

export const exact = (...names: string[]): WantedHost[] => names.map((name) => ({name, kind: 'exact', target}))

/** Input files of one case, by what follows `Corefile.` in their name. */
export function caseFiles(prefix: string): ReadonlyMap<string, Uint8Array> {
  const cases = new URL('../../cases/', import.meta.url)
  const folder = readdirSync(cases).find((name) => name.startsWith(prefix))
  const inside = new URL(`${folder}/`, cases)
  const names = readdirSync(inside).filter((name) => name.startsWith('Corefile'))
  return new Map(names.map((name) => [name.replace(/^Corefile\.?/, ''), readFileSync(new URL(name, inside))]))
}

/** The Corefile behind a plan. */
function result(plan: EditPlan, before: Uint8Array): Uint8Array {
  expect(plan.refusal).toBeUndefined()
  const change = plan.files.find(({file}) => file === '')
  return change ? (change.after as Uint8Array) : before
}

/** Plans and returns the new Corefile as text. */
export function edited(corefile: Uint8Array | string, request: Partial<EditRequest> = {}): string {
  const before = typeof corefile === 'string' ? bytes(corefile) : corefile
  return text(
    result(planEdit({corefile: before, hosts: exact('app.example.org', 'shop.example.org'), ...request}), before),
  )
}

/** Takes everything of ours out and returns the Corefile as text. */
export function cleaned(corefile: Uint8Array | string, request: Partial<EditRequest> = {}): string {
  const before = typeof corefile === 'string' ? bytes(corefile) : corefile
  return text(result(planRemoval({corefile: before, targets: [target], ...request}), before))
}
