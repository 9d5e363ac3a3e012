import {pluginOrder} from '../../directives.ts'
import {contextOf, dispenserOf} from '../../setup/check-setup.ts'
import type {SetupContext} from '../../setup/context.ts'
import type {Dispenser} from '../../setup/dispenser.ts'
import {SetupError} from '../../setup/dispenser.ts'
import {readAcl} from '../../setup/plugins/acl.ts'
import {readForwards} from '../../setup/plugins/forward.ts'
import {readHosts} from '../../setup/plugins/hosts.ts'
import type {KubernetesStanza} from '../../setup/plugins/kubernetes.ts'
import {readKubernetes} from '../../setup/plugins/kubernetes.ts'
import type {RewriteRule} from '../../setup/plugins/rewrite-rule.ts'
import {readRewriteRules} from '../../setup/plugins/rewrite.ts'
import {readTemplates} from '../../setup/plugins/template.ts'
import type {AutopathStanza, ViewStanza} from '../../setup/plugins/zone-owners.ts'
import {readAutopath, readFiles, readView, readZoneOwners} from '../../setup/plugins/zone-owners.ts'
import type {ParsedCorefile, ServerBlock, Token} from '../../types.ts'
import {longestZone} from '../dns-name.ts'
import type {Run, Step} from '../run.ts'
import {AnswerUnknown} from '../run.ts'
import {forwardStep} from './forward-step.ts'
import {hostsStep} from './hosts-step.ts'
import {kubernetesStep} from './kubernetes-step.ts'
import {rewriteStep} from './rewrite-step.ts'
import {
  aclStep,
  anyStep,
  autopathStep,
  cacheStep,
  erraticStep,
  minimalStep,
  ownerStep,
  passStep,
  strangerStep,
  whoamiStep,
} from './small-steps.ts'
import {templateStep} from './template-step.ts'

/** A server block made ready for queries. */
export interface CompiledBlock {
  readonly block: ServerBlock
  /** In the order in which a query meets them. Empty: the block answers REFUSED and hides its parents. */
  readonly steps: readonly Step[]
  readonly rules: readonly RewriteRule[]
  readonly view?: ViewStanza
  readonly autopath?: AutopathStanza
  readonly kubernetes?: KubernetesStanza
}

/** Directives that bring no handler into the chain. */
const settings = new Set(
  'root reload bind debug health ready pprof timeouts multisocket tls quic grpc_server https https3 proxyproto on sign'.split(
    ' ',
  ),
)

/** Handlers that hand every query of class IN on as it is. */
const transparent = new Set(
  `metadata geoip cancel trace prometheus errors log dnstap loadbalance tsig header dnssec loop view nsid bufsize chaos
  shed transfer`.split(/\s+/),
)

/** Handlers that own zones whose data lies elsewhere. */
const owners = new Set('auto secondary etcd k8s_external route53 azure clouddns nomad grpc'.split(' '))

/** Each plugin calls the next one; a chain of thousands is nobody's Corefile and would end the stack. */
const longestChain = 1000

/** In: a parsed file and one of its blocks. Out: the block's chain in the plugin order of that version. Throws SetupError. */
export function compileBlock(parsed: ParsedCorefile, block: ServerBlock): CompiledBlock {
  const context = contextOf(parsed, block)
  const order = pluginOrder(parsed.version)
  const names = [...block.tokens.keys()].sort((one, other) => (order.get(one) ?? 1e6) - (order.get(other) ?? 1e6))
  const draft: {-readonly [Field in keyof CompiledBlock]: CompiledBlock[Field]} = {block, steps: [], rules: []}
  const steps: Step[] = []
  for (const name of names) {
    const tokens = block.tokens.get(name) ?? []
    if (settings.has(name)) continue
    const read = <Stanza>(reader: (dispenser: Dispenser, given: SetupContext) => Stanza) =>
      reader(dispenserOf(parsed, tokens), context)
    if (name === 'rewrite') draft.rules = read(readRewriteRules)
    if (name === 'view') draft.view = read(readView)
    if (name === 'kubernetes') draft.kubernetes = read(readKubernetes)
    if (name === 'autopath') draft.autopath = read(readAutopath)
    for (const step of stepsOf(name, tokens, read, draft)) steps.push(step)
  }
  return {...draft, steps: steps.length > longestChain ? [endlessStep(block)] : steps}
}

function stepsOf(
  name: string,
  tokens: readonly Token[],
  read: <Stanza>(reader: (dispenser: Dispenser, given: SetupContext) => Stanza) => Stanza,
  draft: CompiledBlock,
): readonly Step[] {
  const [head] = tokens
  const place = {line: head?.line ?? 0, file: head?.file ?? ''}
  switch (name) {
    case 'rewrite':
      return [rewriteStep(draft.rules, place.line, place.file)]
    case 'template':
      return [templateStep(read(readTemplates))]
    case 'hosts':
      return [hostsStep(read(readHosts))]
    case 'kubernetes':
      return draft.kubernetes === undefined ? [] : [kubernetesStep(draft.kubernetes)]
    case 'forward': {
      const stanzas = read(readForwards)
      return stanzas.map((stanza, index) => forwardStep(stanza, index === stanzas.length - 1))
    }
    case 'file':
      return [ownerStep('file', read(readFiles), place)]
    case 'acl':
      return [aclStep(read(readAcl), place)]
    case 'any':
      return [anyStep(place)]
    case 'cache':
      return [cacheStep(place)]
    case 'minimal':
      return [minimalStep(place)]
    case 'erratic': {
      // "drop 0" is the only way to have it answer every query.
      const amount = tokens[tokens.findIndex((token) => token.text === 'drop') + 1]?.text
      return [erraticStep(amount !== '0', place)]
    }
    case 'whoami':
      return [whoamiStep(place)]
    case 'autopath':
      return draft.autopath === undefined ? [] : [autopathStep(draft.autopath, searchPath(draft))]
    case 'dns64':
    case 'local':
      return [specialStep(name, place)]
    default:
      if (transparent.has(name)) return [passStep(name, place)]
      return [owners.has(name) ? ownerStep(name, read(readZoneOwners), place) : strangerStep(name, place)]
  }
}

/** The search path autopath walks. `draft` is read late: kubernetes stands behind autopath in the chain. */
function searchPath(draft: CompiledBlock): (run: Run, name: string) => readonly string[] | undefined {
  return (run, name) => {
    const {autopath, kubernetes} = draft
    if (autopath?.source !== '@kubernetes')
      throw new AnswerUnknown('the search list that autopath reads from a file is not known here')
    if (kubernetes === undefined) return undefined
    const zone = longestZone(kubernetes.zones, name)
    if (zone === undefined || kubernetes.pods !== 'verified') return undefined
    const pods = run.world.cluster?.pods
    const client = run.client.address
    if (pods === undefined || client === undefined) {
      throw new AnswerUnknown('autopath looks up the Pod that asks, which is not known here')
    }
    const pod = pods.find((candidate) => candidate.ip === client)
    if (pod === undefined) return undefined
    return [`${pod.namespace}.svc.${zone}`, `svc.${zone}`, zone, ...(run.world.nodeSearch ?? []), '']
  }
}

const loopback = ['localhost.', '0.in-addr.arpa.', '127.in-addr.arpa.', '255.in-addr.arpa.']

/** Plugins that take a few names only, and are not followed for these. */
function specialStep(plugin: 'local' | 'dns64', place: {readonly line: number; readonly file: string}): Step {
  return {
    plugin,
    ...place,
    serve: (run, write, request, next) => {
      const name = request.question.name.toLowerCase()
      const taken =
        plugin === 'local'
          ? name.startsWith('localhost.') || longestZone(loopback, name) !== undefined
          : request.question.type === 'AAAA'
      if (!taken) return next(write, request)
      run.claim({plugin, ...place, why: plugin === 'local' ? 'a name of the loopback' : 'type AAAA may be made from A'})
      throw new AnswerUnknown(`${plugin} is not followed for this query`)
    },
  }
}

/** Stands for a chain that is too long to be followed. */
function endlessStep(block: ServerBlock): Step {
  const {line = 0, file = ''} = block.keyTokens[0] ?? {}
  return {
    plugin: 'chain',
    line,
    file,
    serve: (run) => {
      run.claim({plugin: 'chain', line, file, why: `more than ${longestChain} plugins, which are not followed`})
      throw new AnswerUnknown(`a chain of more than ${longestChain} plugins is not followed`)
    },
  }
}

/** Out: whether an error is one of setup: the block cannot be loaded. */
export function isSetupError(error: unknown): error is SetupError {
  return error instanceof SetupError
}
