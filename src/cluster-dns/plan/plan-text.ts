import {planEdit, type EditPlan, type EditRequest, type WantedHost} from '../../../plugins/coredns/src/index.ts'
import {editorHooks} from './editor-hooks.ts'

/** A change of one text whose surroundings must not be read: by whom, which names, where they lead. */
export interface TextRequest {
  readonly owner: NonNullable<EditRequest['owner']>
  readonly hosts: readonly WantedHost[]
  /** FQDN with final dot: unmarked lines that lead there are the owner's. */
  readonly target: string
}

/** Folder that stands for the mounted one: nothing is known of the real one. */
const folder = '/etc/coredns/custom'

/** Plans the lines of an owner in a Corefile of which nothing else is known: imports stay unread, the release is assumed. Pure. */
export function planCorefileText(corefile: Uint8Array, request: TextRequest): EditPlan {
  return planEdit({
    ...common(request),
    corefile,
    parse: {imports: 'unknown', env: {known: new Map(), others: 'unknown'}},
    unknownImports: 'warn',
  })
}

/**
 * Plans the text of an import key where the Corefile that imports it must not be read: against the smallest server block that
 * would. Names inside the cluster domain of the target are refused as anywhere else. Pure.
 *
 * @param before undefined: the ConfigMap has no such key
 * @returns the plan, and the text afterwards; null: the key goes
 */
export function planKeyText(
  key: string,
  before: Uint8Array | undefined,
  request: TextRequest,
): {readonly plan: EditPlan; readonly after: Uint8Array | null | undefined} {
  const path = `${folder}/${key}`
  const domain = /\.svc\.(.+)\.$/.exec(request.target)?.[1] ?? 'cluster.local'
  const corefile = Buffer.from(
    `.:53 {\n    import ${folder}/${key.slice(0, 1)}*\n    kubernetes ${domain}\n    forward . 192.0.2.53\n    reload\n}\n`,
  )
  const files = new Map(before === undefined ? [] : [[path, before] as const])
  const plan = planEdit({
    ...common(request),
    corefile,
    parse: {files, directories: new Set([folder, `${folder}/..data`])},
    importKeys: [path],
  })
  const change = plan.files.find((file) => file.file === path)
  return {plan, after: change === undefined ? before : change.after}
}

function common({owner, hosts, target}: TextRequest): Omit<EditRequest, 'corefile'> {
  return {owner, hosts, targets: [target], allowEmpty: true, ...editorHooks}
}
