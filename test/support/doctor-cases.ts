import {existsSync, readFileSync} from 'node:fs'
import {parse, parseAllDocuments} from 'yaml'
import type {KubeObject} from '../../src/model/kubernetes.ts'
import {projectObject, snapshotKindOf, snapshotKinds} from '../../src/model/projection/project-object.ts'
import {groupOf, snapshotFormat, type Snapshot} from '../../src/model/snapshot.ts'

export interface ExpectedPair {
  readonly outside: string
  readonly hairpin: string
}

/** A way in of test/cases/doctor/expected.yaml; README.md there says what the words mean. */
export interface ExpectedWay extends ExpectedPair {
  readonly at: string
  readonly ports: readonly number[]
  readonly lost: string
  readonly enable?: ExpectedPair
  readonly disable?: ExpectedPair
  readonly remedy?: string | readonly string[]
  readonly severity?: 'error' | 'warning' | 'info'
  readonly warnings?: readonly string[]
  readonly confidence?: 'source' | 'inferred' | 'unconfirmed'
  readonly check?: string
}

export interface ExpectedCase {
  readonly title: string
  readonly base?: string
  readonly with?: readonly string[]
  readonly also?: readonly string[]
  readonly server?: boolean
  /** Kinds that are answered with 403. */
  readonly hidden?: readonly string[]
  /** Warnings that must not be reported. */
  readonly absent?: readonly string[]
  /** A log of the ingress, and the class of each of its records. */
  readonly log?: {readonly file: string; readonly lines: readonly string[]}
  /** Where cluster DNS lives; several files: it is refused. */
  readonly dns?: {readonly file: string | readonly string[]; readonly port?: number}
  readonly ways: readonly ExpectedWay[]
  readonly warnings?: readonly string[]
  readonly exit: number
}

const folder = new URL('../cases/doctor/', import.meta.url)

/** Every case by name. */
export function doctorCases(): Record<string, ExpectedCase> {
  const {cases} = parse(readFileSync(new URL('expected.yaml', folder), 'utf8')) as {cases: Record<string, ExpectedCase>}
  return cases
}

/** Objects of a case, put together as README.md says. */
export function doctorObjects(name: string, expected: ExpectedCase): KubeObject[] {
  const files = [
    ...(expected.base === 'none' ? [] : ['base.yaml']),
    ...(expected.with ?? []).map((part) => `parts/${part}.yaml`),
    `${name}/objects.yaml`,
    `${name}/objects-crd.yaml`,
  ]
  const merged = new Map<string, KubeObject>()
  for (const file of files) {
    const url = new URL(file, folder)
    if (!existsSync(url)) {
      if (file.endsWith('-crd.yaml') || file === `${name}/objects.yaml`) continue
      throw new Error(`test/cases/doctor/${file} is missing`)
    }
    for (const object of objectsIn(url)) {
      const {namespace = '', name: own} = object.metadata
      const key = `${groupOf(object.apiVersion)}/${object.kind}/${namespace}/${own}`
      merged.set(key, mergePatch(merged.get(key), object) as KubeObject)
    }
  }
  return [...merged.values()]
}

const read = new Map<string, readonly KubeObject[]>()

/** Objects of one file; parts are in hundreds of cases. */
function objectsIn(url: URL): readonly KubeObject[] {
  const known = read.get(url.href)
  if (known !== undefined) return known
  const objects = parseAllDocuments(readFileSync(url, 'utf8')).flatMap(
    (document) => (document.toJS() as KubeObject | null) ?? [],
  )
  read.set(url.href, objects)
  return objects
}

/** RFC 7386. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const base: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? {...target} : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete base[key]
    else base[key] = mergePatch(base[key], value)
  }
  return base
}

/**
 * A snapshot as `snapshot` would take it of a cluster with exactly these objects: projected, built-in kinds complete, custom
 * kinds complete where the case has one and not served otherwise.
 */
export function snapshotOf(objects: readonly KubeObject[], hidden: readonly string[] = []): Snapshot {
  const present = new Set(objects.map((object) => `${groupOf(object.apiVersion)}/${object.kind}`))
  return {
    apiVersion: 'srcip.dev/v1alpha1',
    kind: 'Snapshot',
    format: snapshotFormat,
    source: 'cluster',
    anonymised: false,
    cluster: {version: 'v1.36.0'},
    readings: snapshotKinds.map(({group, versions, plural, kind, builtIn}) => ({
      group,
      version: versions[0] ?? 'v1',
      resource: plural,
      kind,
      verb: 'list',
      ...(hidden.includes(kind)
        ? {state: 'denied', message: `${plural} is forbidden`}
        : {state: builtIn || present.has(`${group}/${kind}`) ? 'complete' : 'absent'}),
    })),
    objects: objects.flatMap((object) => {
      const kind = snapshotKindOf(object.apiVersion, object.kind)
      return kind === undefined || hidden.includes(kind.kind) ? [] : (projectObject(kind, object) ?? [])
    }),
    exitCode: 0,
    changed: false,
    warnings: [],
  }
}
