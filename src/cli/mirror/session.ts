import {SrcipError} from '../../model/errors.ts'
import type {CopyEventSink} from '../../model/mirror-events.ts'
import type {MirrorPlan} from '../../model/mirror.ts'
import {createMirrorProgress} from '../../present/mirror/progress.ts'
import type {CredentialSource} from '../../registry/auth/credential-files.ts'
import type {RegistryClient} from '../../registry/client.ts'
import type {CopyOptions} from '../../registry/copy/item.ts'
import type {Found} from '../../registry/images/input.ts'
import {gather} from '../../registry/mirror/gather.ts'
import {openRegistryClient} from '../../registry/open.ts'
import {readPlanFile, readStdin} from '../../registry/plan/document.ts'
import {type SourceMap, type SourceOf, sourcesOf} from '../../registry/plan/planner.ts'
import {hostProblem} from '../../registry/reference.ts'
import type {SessionFlags} from './flags.ts'

/** What a mirror command works with: one client, one listener for events. */
export interface MirrorSession {
  readonly client: RegistryClient
  readonly sourceOf: SourceOf
  readonly sourceMap: readonly SourceMap[]
  readonly emit: CopyEventSink
  /** Warnings so far, for the result document. */
  readonly warnings: string[]
}

export interface SessionContext {
  readonly signal: AbortSignal
  readonly version: string
  readonly onFinish: (close: () => void) => void
  readonly credentials?: readonly CredentialSource[]
}

/** Opens the client that the flags describe; a signal or time limit ends everything in flight. */
export async function openSession(flags: SessionFlags, context: SessionContext): Promise<MirrorSession> {
  // Thousands of small buffers make V8 grow its space for young objects for nothing: 20 MB less, and no slower.
  process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1')
  const progress = createMirrorProgress({target: flags.events, terminal: process.stderr})
  context.onFinish(() => progress.close())
  const warnings: string[] = []
  const emit: CopyEventSink = (event) => {
    if (event.type === 'warning') warnings.push(event.message)
    progress.sink(event)
  }
  const login = await loginOf(flags)
  const sourceMap = (flags['source-map'] ?? []).map(readSourceMap)
  const mirrors =
    flags['registries-conf'] === undefined
      ? undefined
      : await (await import('../../registry/registries-conf.ts')).readRegistriesConf(flags['registries-conf'])
  const client = openRegistryClient({
    plainHttp: hosts('--plain-http', flags['plain-http']),
    caFiles: flags['ca-file'] ?? [],
    insecureHosts: new Set(hosts('--skip-tls-verify', flags['skip-tls-verify'])),
    clientCertificates: Object.fromEntries((flags['client-cert'] ?? []).map(readClientCertificate)),
    authFile: flags.authfile,
    credentials: [...(login === undefined ? [] : [login]), ...(context.credentials ?? [])],
    userAgent: `kubectl-srcip/${context.version}`,
    onEvent: emit,
  })
  for (const host of mirrors?.insecure ?? []) {
    if (!plainOrUnchecked(flags, host))
      client.warn(
        `registries.conf calls ${host} insecure; name it with --plain-http or --skip-tls-verify if that is meant`,
      )
  }
  for (const host of flags['skip-tls-verify'] ?? [])
    client.warn(`the certificate of ${host} is not checked (--skip-tls-verify)`)
  context.signal.addEventListener('abort', () => client.stop(context.signal.reason as Error), {once: true})
  context.onFinish(() => client.close())
  return {client, sourceOf: sourcesOf(client, sourceMap, mirrors), sourceMap, emit, warnings}
}

function hosts(flag: string, values: readonly string[] | undefined): string[] {
  return (values ?? []).map((host) => {
    const problem = hostProblem(host)
    if (problem !== undefined) throw new SrcipError('Usage', `${flag} ${problem}`)
    return host.toLowerCase()
  })
}

function plainOrUnchecked(flags: SessionFlags, host: string): boolean {
  return [...(flags['plain-http'] ?? []), ...(flags['skip-tls-verify'] ?? [])].includes(host)
}

function readSourceMap(text: string): SourceMap {
  const at = text.indexOf('=')
  const [from, to] = [text.slice(0, at).replace(/\/+$/, ''), text.slice(at + 1).replace(/\/+$/, '')]
  if (at <= 0 || to === '') throw new SrcipError('Usage', `--source-map expects FROM=TO, not ${JSON.stringify(text)}`)
  return {from, to}
}

function readClientCertificate(text: string): [string, {certFile: string; keyFile: string}] {
  const match = /^([^=]+)=([^,]+),(.+)$/.exec(text)
  if (match === null) throw new SrcipError('Usage', `--client-cert expects HOST=CERT,KEY, not ${JSON.stringify(text)}`)
  return [match[1] ?? '', {certFile: match[2] ?? '', keyFile: match[3] ?? ''}]
}

/** `--username HOST=USER`; the password comes from stdin or SRCIP_REGISTRY_PASSWORD, never from an argument. */
async function loginOf(flags: SessionFlags): Promise<CredentialSource | undefined> {
  if (flags.username === undefined) return undefined
  const at = flags.username.indexOf('=')
  if (at <= 0) throw new SrcipError('Usage', '--username expects HOST=USER')
  const host = flags.username.slice(0, at).toLowerCase()
  const username = flags.username.slice(at + 1)
  const fromEnvironment = process.env['SRCIP_REGISTRY_PASSWORD']
  if (fromEnvironment === undefined && process.stdin.isTTY) {
    throw new SrcipError('Usage', 'the password of --username is read from stdin or SRCIP_REGISTRY_PASSWORD', {
      hints: ['pipe it in: … < password-file'],
    })
  }
  const password = (fromEnvironment ?? (await readStdin())).replace(/\r?\n$/, '')
  return {candidates: async (asked) => (asked === host ? [{username, password, from: '--username'}] : [])}
}

/** Options of a copy from its flags. */
export function copyOptions(flags: {
  readonly 'move-tags': boolean
  readonly 'trust-manifests': boolean
  readonly platform?: string[] | undefined
  readonly sparse?: boolean
  readonly 'skip-attestations'?: boolean
}): CopyOptions {
  const platforms = flags.platform ?? []
  if (platforms.length > 1 && flags.sparse !== true) {
    throw new SrcipError('Usage', 'several platforms have no digest of their own', {
      hints: ['choose one --platform, or keep the index with --sparse'],
    })
  }
  for (const platform of platforms) {
    if (!/^[a-z0-9]+\/[a-z0-9_]+(?:\/[a-z0-9]+)?(?::[0-9.]+)?$/.test(platform))
      throw new SrcipError('Usage', `--platform expects OS/ARCH[/VARIANT], not ${JSON.stringify(platform)}`)
  }
  return {
    moveTags: flags['move-tags'],
    trustManifests: flags['trust-manifests'],
    platforms,
    sparse: flags.sparse === true,
    skipAttestations: flags['skip-attestations'] === true,
  }
}

export interface GatherFlagValues {
  readonly filename?: string[] | undefined
  readonly values?: string[] | undefined
  readonly cozystack?: string | undefined
  readonly own?: boolean | undefined
}

/** Everything that arguments and flags name. @throws SrcipError Usage when they name nothing */
export async function gatherFrom(
  session: MirrorSession,
  references: readonly string[],
  flags: GatherFlagValues,
  live?: Found,
  offline = false,
): Promise<Found> {
  const found = await gather(session.client, {
    references,
    files: flags.filename ?? [],
    valuesFiles: flags.values ?? [],
    cozystack: flags.cozystack,
    own: flags.own ?? flags.cozystack !== undefined,
    live,
    sourceMap: session.sourceMap,
    offline,
  })
  for (const warning of found.warnings) session.emit({type: 'warning', message: warning})
  if (found.wanted.length === 0) {
    throw new SrcipError('Usage', 'nothing to carry was named', {
      hints: ['name references, or -f FILE, --cozystack PATH, --from-cluster, --plan-file FILE'],
    })
  }
  return found
}

/** The plan of `--plan-file`. */
export function planOf(path: string): Promise<MirrorPlan> {
  return readPlanFile(path)
}
