import {lookup} from 'node:dns/promises'
import {readFile} from 'node:fs/promises'
import {isIP} from 'node:net'
import {resources, sleep, systemClock, type KubeClient} from '../../kube/index.ts'
import {apiVersion} from '../../model/documents.ts'
import {SrcipError} from '../../model/errors.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import type {VerifyReport} from '../../model/verify.ts'
import {
  askAddress,
  questionOf,
  shares,
  verifyExitCode,
  verifyOutside,
  type AskOptions,
  type AskPort,
  type OutsideRequest,
} from '../../verify/index.ts'
import {confirm} from '../terminal.ts'
import {withTemporaryEcho, type EchoRequest} from './temporary-echo.ts'

/** Flags of `verify outside`, as the parser gives them. */
export interface OutsideFlagValues extends AskFlagValues {
  readonly url: string
  readonly echo?: string | undefined
  readonly 'from-address': string
  readonly address?: readonly string[] | undefined
  readonly 'each-node'?: boolean
  readonly 'node-port'?: number | undefined
  readonly times: number
  readonly 'must-refuse'?: readonly string[] | undefined
  readonly 'create-echo'?: boolean
  readonly host?: string | undefined
  readonly image?: string | undefined
  readonly 'ingress-class'?: string | undefined
  readonly 'tls-secret'?: string | undefined
  readonly yes: boolean
}

export interface AskFlagValues {
  readonly cacert?: string | undefined
  readonly insecure?: boolean
  readonly 'answer-timeout'?: number | undefined
}

/** Everything that a connection of `verify` needs, read from the flags. */
export async function askOptions(flags: AskFlagValues, signal: AbortSignal): Promise<AskOptions> {
  return {
    ca: flags.cacert === undefined ? undefined : await readFile(flags.cacert, 'utf8'),
    insecure: flags.insecure,
    timeout: flags['answer-timeout'] ?? 10_000,
    signal,
  }
}

/** `verify outside`: asks the real way in and says what the backend saw. The cluster is opened only for `--each-node`. */
export async function proveOutside(
  flags: OutsideFlagValues,
  open: () => Promise<KubeClient>,
  signal: AbortSignal,
): Promise<VerifyReport> {
  const url = readUrl('--url', flags.url)
  const echo = echoUrl(url, flags)
  if (isIP(flags['from-address']) === 0)
    throw new SrcipError('Usage', `--from-address expects an address, not ${JSON.stringify(flags['from-address'])}`)
  const mustRefuse = (flags['must-refuse'] ?? []).map(readAddressPort)
  const options = await askOptions(flags, signal)
  const addresses = [
    ...(await addressesOf(url, flags.address)),
    ...(flags['each-node'] === true ? await nodeAddresses(await open(), flags['node-port'], signal) : []),
  ]
  const ask: AskPort = (address, question) => askAddress(address, question, options)
  const request = {url, echo, from: flags['from-address'], addresses, times: flags.times, mustRefuse}
  if (flags['create-echo'] !== true) return reportOf(await verifyOutside(request, ask))
  const client = await open()
  const echoRequest = await temporaryEcho(client, flags, signal)
  return reportOf(
    await withTemporaryEcho(client, echoRequest, signal, async () => {
      await untilAnswering(echo, addresses, ask, signal)
      return verifyOutside(request, ask)
    }),
  )
}

/** Where the echo answers: given, under the name of the temporary one, or the page itself. */
function echoUrl(url: URL, flags: OutsideFlagValues): URL {
  if (flags.echo !== undefined) return readUrl('--echo', flags.echo)
  if (flags['create-echo'] !== true) return url
  const own = new URL(url)
  own.hostname = flags.host ?? ''
  own.pathname = '/'
  own.search = ''
  if (own.hostname === (flags.host ?? '').toLowerCase()) return own
  throw new SrcipError('Usage', `--host ${JSON.stringify(flags.host)} is no name for an Ingress`)
}

async function temporaryEcho(client: KubeClient, flags: OutsideFlagValues, signal: AbortSignal): Promise<EchoRequest> {
  const {namespace} = client.config
  const question = `create a Pod, a Service and an Ingress for ${flags.host} in namespace ${namespace} for the time of this test?`
  if (!(await confirm(question, flags))) throw new SrcipError('Usage', 'nothing was created: it was not confirmed')
  const nodes = await client.list(resources.nodes, {signal})
  return {
    namespace,
    host: flags.host ?? '',
    image: flags.image ?? '',
    ingressClass: flags['ingress-class'],
    tlsSecret: flags['tls-secret'],
    trusted: nodes.items.flatMap((node) => {
      const {podCIDRs = []} = (node['spec'] ?? {}) as {podCIDRs?: readonly string[]}
      return [...podCIDRs, ...addressesOfNode(node)]
    }),
    readyTimeout: 120_000,
  }
}

/** The ingress takes up a new name in its own time. */
async function untilAnswering(
  echo: URL,
  addresses: OutsideRequest['addresses'],
  ask: AskPort,
  signal: AbortSignal,
): Promise<void> {
  const [first] = addresses
  if (first === undefined) return
  const end = systemClock.now() + 60_000
  while (systemClock.now() < end) {
    const reply = await ask(first.address, questionOf(echo, first.port))
    if (reply.kind === 'answer' && reply.status === 200) return
    await sleep(systemClock, 500, signal)
  }
}

/** The document around the rows. */
export function reportOf(checks: VerifyReport['checks'], warnings: readonly string[] = []): VerifyReport {
  return {
    apiVersion,
    kind: 'VerifyReport',
    checks,
    exitCode: verifyExitCode(checks),
    changed: false,
    warnings: [...warnings, ...shares(checks)],
  }
}

async function addressesOf(url: URL, given: readonly string[] | undefined): Promise<OutsideRequest['addresses']> {
  const wrong = given?.find((address) => isIP(address) === 0)
  if (wrong !== undefined) throw new SrcipError('Usage', `--address expects an address, not ${JSON.stringify(wrong)}`)
  if (given !== undefined && given.length > 0) return given.map((address) => ({address, subject: address}))
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const found = await lookup(host, {all: true, verbatim: true}).catch((error: Error) => {
    throw new SrcipError('Unreachable', `${host} has no address here: ${error.message}`, {
      hints: ['--address ADDRESS asks an address of your choice under that name'],
      object: host,
    })
  })
  return [...new Set(found.map(({address}) => address))].map((address) => ({address, subject: address}))
}

async function nodeAddresses(
  client: KubeClient,
  port: number | undefined,
  signal: AbortSignal,
): Promise<OutsideRequest['addresses']> {
  const nodes = await client.list(resources.nodes, {signal})
  return nodes.items.flatMap((node) => {
    return addressesOfNode(node).map((address) => ({
      address,
      subject: `node/${node.metadata.name} ${address}`,
      ...(port === undefined ? {} : {port}),
    }))
  })
}

function addressesOfNode(node: KubeObject): string[] {
  const {addresses} = (node['status'] ?? {}) as {addresses?: readonly {type?: string; address?: string}[]}
  return (addresses ?? [])
    .filter(({type, address}) => (type === 'ExternalIP' || type === 'InternalIP') && isIP(address ?? '') !== 0)
    .flatMap(({address}) => address ?? [])
}

function readUrl(flag: string, text: string): URL {
  const url = URL.parse(text)
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:') && url.username === '') return url
  throw new SrcipError('Usage', `${flag} expects an http or https URL without a password, not ${JSON.stringify(text)}`)
}

function readAddressPort(text: string): {address: string; port: number} {
  const [, bracketed, bare, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? []
  const address = bracketed ?? bare ?? ''
  if (isIP(address) === 0 || Number(port) > 65_535 || Number(port) < 1)
    throw new SrcipError('Usage', `--must-refuse expects ADDRESS:PORT, not ${JSON.stringify(text)}`)
  return {address, port: Number(port)}
}
