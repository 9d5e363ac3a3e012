import {parseIP, plainAddress, withoutPort} from '../model/address.ts'
import {apiVersion} from '../model/documents.ts'
import type {WhoamiAnswer, WhoamiEndpoint} from '../model/whoami.ts'
import {isTrusted, type Cidr, type ProxyHeader} from '../proxy/index.ts'

/** What was seen of one connection, and of one request on it where the port speaks HTTP. */
export interface Seen {
  readonly peer: WhoamiEndpoint
  readonly local: WhoamiEndpoint
  readonly header: ProxyHeader | undefined
  readonly tls: WhoamiAnswer['tls']
  readonly request?: {
    readonly method: string
    readonly host: string
    /** As in the request line. */
    readonly target: string
    /** Header fields with lower-case names; several of one name are joined by commas in the order in which they came. */
    readonly fields: Readonly<Record<string, string>>
  }
}

/** Fields that speak of the client; nothing else of a request is shown. */
const forwardedFields =
  /^(?:forwarded|via|true-client-ip|cf-connecting-ip|x-(?:forwarded-[a-z0-9-]{1,40}|real-ip|client-ip|original-forwarded-for|envoy-external-address))$/

/**
 * Says whom the connection and the request come from and which of the claims count: a PROXY header only from a trusted peer, and
 * X-Forwarded-For only from a trusted sender, read from the right past trusted addresses (RFC 7239 section 8.1, as nginx'
 * real_ip_recursive reads it). X-Real-IP is shown and never decides: nobody can tell who wrote it.
 */
export function decide(seen: Seen, trusted: readonly Cidr[]): WhoamiAnswer {
  const {peer, header, request} = seen
  const isPeerTrusted = isTrusted(trusted, peer.address)
  const decision: string[] = []
  const believesHeader = isPeerTrusted && header !== undefined
  if (header === undefined) decision.push('no PROXY header')
  else if (!isPeerTrusted) decision.push(`PROXY header of ${peer.address} ignored: that peer is not trusted`)
  else if (header.source === undefined) decision.push('PROXY header without an address: the peer stands')
  else decision.push(`PROXY header of the trusted peer ${peer.address} believed`)

  const sender = believesHeader && header.source !== undefined ? header.source.address : peer.address
  const forwarded = request === undefined ? {} : shownFields(request.fields)
  const claim = forwarded['x-forwarded-for']
  const client = claim === undefined ? undefined : clientOf(claim, sender, trusted)
  if (claim !== undefined) {
    decision.push(
      client === undefined
        ? isTrusted(trusted, sender)
          ? 'X-Forwarded-For holds no address that could be the client'
          : `X-Forwarded-For ignored: ${sender} is not trusted`
        : `X-Forwarded-For of the trusted sender ${sender} believed`,
    )
  }
  const from = client !== undefined ? 'forwarded-header' : sender === peer.address ? 'peer' : 'proxy-header'
  return {
    apiVersion,
    kind: 'Whoami',
    client: {address: client ?? sender, from},
    peer: {...peer, trusted: isPeerTrusted},
    local: seen.local,
    proxyHeader: header === undefined ? null : {...withoutTlvs(header), believed: believesHeader},
    tls: seen.tls,
    http:
      request === undefined
        ? null
        : {
            method: request.method,
            host: request.host,
            path: request.target.split(/[?#]/, 1)[0]!.slice(0, 500),
            forwarded,
            believed: client !== undefined,
          },
    decision,
  }
}

function shownFields(fields: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([name]) => forwardedFields.test(name))
      .map(([name, value]) => [name, value.slice(0, 1000)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}

/** The rightmost address of the chain that is not one of ours; undefined when the sender may not say so or the chain is damaged. */
function clientOf(claim: string, sender: string, trusted: readonly Cidr[]): string | undefined {
  if (!isTrusted(trusted, sender)) return undefined
  const chain = claim.split(',').map((text) => text.trim())
  let last: string | undefined
  for (const word of chain.toReversed()) {
    const address = addressOf(word)
    if (address === undefined) return last
    last = address
    if (!isTrusted(trusted, address)) return address
  }
  return last
}

/** Some proxies write a port behind the address. */
function addressOf(word: string): string | undefined {
  const bare = withoutPort(word)
  return parseIP(bare) === undefined ? undefined : plainAddress(bare)
}

function withoutTlvs({version, command, family, source, destination}: ProxyHeader) {
  return {
    version,
    command,
    family,
    ...(source === undefined ? {} : {source}),
    ...(destination === undefined ? {} : {destination}),
  }
}
