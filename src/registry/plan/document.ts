import {readFile} from 'node:fs/promises'
import {SrcipError} from '../../model/errors.ts'
import type {MirrorPlan, PlanItem} from '../../model/mirror.ts'
import {formatReference, parseReference} from '../reference.ts'
import {cleanText} from '../text.ts'

const largestPlan = 64 * 1024 * 1024

/** A plan of these items. Nothing in it changes from one run to the next: no time, no machine, no target. */
export function planDocument(items: readonly PlanItem[], warnings: readonly string[] = [], exitCode = 0): MirrorPlan {
  return {
    apiVersion: 'srcip.dev/v1alpha1',
    kind: 'MirrorPlan',
    items: [...items],
    exitCode,
    changed: false,
    warnings: [...warnings],
  }
}

/** The reference of an item: where to read it. */
export function referenceOf(item: PlanItem): string {
  const reference = parseReference(`${item.source}@${item.digest}`)
  return formatReference({...reference, ...(item.tag === undefined ? {} : {tag: item.tag})})
}

/**
 * Checks that a value is a MirrorPlan; references are parsed as well, since they become addresses.
 * @throws SrcipError Usage naming the place of the first fault
 */
export async function checkPlan(value: unknown, from: string): Promise<MirrorPlan> {
  const {mirrorPlanFault} = await import('../../model/plan-check.ts')
  const fault = mirrorPlanFault(value)
  if (fault !== undefined) {
    throw new SrcipError('Usage', `${from} is no MirrorPlan: ${cleanText(fault)}`, {
      object: from,
      hints: ['write one with: kubectl srcip mirror plan --output-file FILE'],
    })
  }
  const plan = value as MirrorPlan
  for (const item of plan.items) parseReference(referenceOf(item))
  return plan
}

/** Reads a lock file, YAML or JSON. `-` is stdin. */
export async function readPlanFile(path: string): Promise<MirrorPlan> {
  const text = path === '-' ? await readStdin() : await readText(path)
  if (text.length > largestPlan)
    throw new SrcipError('Usage', `${path} is larger than ${largestPlan} bytes`, {object: path})
  const {parse} = await import('../yaml-library.ts')
  let value: unknown
  try {
    value = text.trimStart().startsWith('{') ? JSON.parse(text) : parse(text, {maxAliasCount: 0})
  } catch (error) {
    throw new SrcipError('Usage', `${path} cannot be read: ${cleanText((error as Error).message)}`, {
      object: path,
      cause: error,
    })
  }
  return checkPlan(value, path)
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new SrcipError('Usage', `${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`, {
      object: path,
      hints: ['write one with: kubectl srcip mirror plan --output-file FILE'],
      cause: error,
    })
  }
}

/** All of stdin as text. */
export async function readStdin(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
