import {SrcipError} from '../../model/errors.ts'
import type {Impersonation, KubeFlags} from '../types.ts'

/**
 * Brings a server address into the form that requests are built on: a scheme, no query, no final slash.
 * Without a scheme it is http, as in client-go's DefaultServerURL.
 * @throws SrcipError Usage (2)
 */
export function normalServer(server: string | undefined, cluster: string | undefined, source: string): string {
  const what = cluster === undefined ? source : `${source}, cluster "${cluster}"`
  if (server === undefined) throw new SrcipError('Usage', `kubeconfig ${what}: no server`, {object: source})
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(server) ? server : `http://${server}`
  // URL drops line ends and tabs and escapes blanks and controls; requests are built on the text as it was written.
  const url = URL.canParse(text) && !/[\s\p{Cc}]/u.test(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.hostname === '') {
    throw new SrcipError('Usage', `kubeconfig ${what}: server is not an http or https URL`, {object: source})
  }
  if (url.username !== '' || url.password !== '') {
    throw new SrcipError('Usage', `kubeconfig ${what}: server must not contain a password`, {
      object: source,
      hints: ['put username and password, or better a token, into the user entry'],
    })
  }
  // The text as it was written, not URL's own spelling: exec plugins are shown it as kubectl shows it.
  return text.replace(/[?#].*$/s, '').replace(/\/+$/, '')
}

const proxySchemes = ['http:', 'https:', 'socks5:', 'socks5h:']

/** Checks a `proxy-url` by kubectl's rule; its text may hold a password and is not shown. */
export function checkProxyUrl(text: string, cluster: string | undefined, source: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const login = url === undefined ? '' : url.username + url.password
  // A login is sent decoded: a % that begins no escape is refused here, as by Go's URL parser.
  if (url !== undefined && proxySchemes.includes(url.protocol) && url.hostname !== '' && isDecodable(login)) return
  throw new SrcipError(
    'Usage',
    `kubeconfig ${source}, cluster "${cluster ?? ''}": proxy-url is not an http, https or socks5 URL`,
    {
      object: source,
      hints: ['proxy-url: http://proxy.example.org:3128'],
    },
  )
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/**
 * Whom to act as: each flag replaces its part of the file's setting.
 * @throws SrcipError Usage (2) for groups, uid or extra without a user, which the API server would refuse
 */
export function impersonationOf(file: Impersonation, flags: KubeFlags, source: string): Impersonation {
  const user = flags.as === undefined || flags.as === '' ? file.user : flags.as
  const uid = flags.asUid === undefined || flags.asUid === '' ? file.uid : flags.asUid
  const groups = flags.asGroup === undefined || flags.asGroup.length === 0 ? file.groups : flags.asGroup
  const extra =
    flags.asUserExtra === undefined || flags.asUserExtra.length === 0 ? file.extra : extraOf(flags.asUserExtra)
  if (user === undefined && (uid !== undefined || groups.length > 0 || Object.keys(extra).length > 0)) {
    throw new SrcipError('Usage', 'a group, uid or extra to act as needs a user, too', {
      object: source,
      hints: ['add --as=USER'],
    })
  }
  return {...(user === undefined ? {} : {user}), ...(uid === undefined ? {} : {uid}), groups, extra}
}

/** `KEY=VALUE`, a key may come several times. */
function extraOf(pairs: readonly string[]): Record<string, string[]> {
  const extra: Record<string, string[]> = {}
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    if (at <= 0) {
      throw new SrcipError('Usage', `--as-user-extra ${pair} is not KEY=VALUE`, {hints: ['--as-user-extra=KEY=VALUE']})
    }
    const key = pair.slice(0, at)
    extra[key] = [...(extra[key] ?? []), pair.slice(at + 1)]
  }
  return extra
}
