import {classifyFirstBytes, type FirstBytes} from './first-bytes.ts'

/** One thing that a line of an ingress log says about the beginning of a connection, or about whom a request came from. */
export interface LogEvent {
  /**
   * `header-wanted`: a header was expected and `first` came instead. `header-found`: a header stood where a request was expected.
   * `request`: an ordinary request, told with the address that the ingress takes for the client's. `unreadable`: no header was
   * expected and no request came.
   */
  readonly kind: 'header-wanted' | 'header-found' | 'request' | 'unreadable'
  /** Absent where the log does not tell. */
  readonly first?: FirstBytes
  readonly peer: string
  /** Port that was listened on, or the name of the listener. */
  readonly listener?: string
  /** From 1 on. */
  readonly line: number
}

/** Bytes that a quoted header may have in an error line of nginx; its buffer is 2 KiB, escapes make four of one. */
const longestHeader = 10_000

/**
 * Reads the log of an ingress: nginx and what is built on it (ingress-nginx, F5, Kong, APISIX), HAProxy and its controllers, and
 * access logs in the common format (Traefik and Caddy can write it, too). Lines that say nothing about headers are passed over.
 * Messages as nginx 1.22 and HAProxy 2.6 write them (test/cluster/log-evidence.test.ts makes them anew).
 */
export function readIngressLog(text: string): LogEvent[] {
  const reader = new LogReader()
  return [...reader.read(text), ...reader.end()]
}

/** Where in a line an error of nginx begins at the latest; names and times of `kubectl logs` may stand before it. */
const lineHead = 1000

/** Characters that must be there before a line is looked at: a header with line ends in it, and what follows. */
const lookAhead = 12_000

/** {@link readIngressLog} for a log that comes in pieces: it keeps less than a piece and {@link lookAhead} characters of it. */
export class LogReader {
  #rest = ''
  #line = 1
  /** The rest of a line that was too long to be kept is passed over. */
  #inLongLine = false

  /** Events of what is now known whole. */
  read(piece: string): LogEvent[] {
    return this.#take(this.#rest + piece, false)
  }

  /** Events of the rest, once nothing more comes. */
  end(): LogEvent[] {
    return this.#take(this.#rest, true)
  }

  #take(text: string, final: boolean): LogEvent[] {
    const events: LogEvent[] = []
    let offset = 0
    while (offset < text.length && (final || text.length - offset >= lookAhead)) {
      const end = text.indexOf('\n', offset)
      const stop = end < 0 ? text.length : end
      const line = text.slice(offset, stop)
      const broken = this.#inLongLine ? undefined : brokenHeader(text, offset, line)
      const event = this.#inLongLine ? undefined : broken === undefined ? lineEvent(line.slice(0, 4000)) : broken.event
      if (event !== undefined) events.push({...event, line: this.#line})
      this.#line += countLines(text, offset, broken?.stop ?? stop)
      const next = broken === undefined ? end : text.indexOf('\n', broken.stop)
      this.#inLongLine = next < 0
      if (next >= 0) this.#line++
      offset = next < 0 ? text.length : next + 1
    }
    this.#rest = text.slice(offset)
    return events
  }
}

type BareEvent = Omit<LogEvent, 'line'>

const brokenStart = 'broken header: "'
const brokenEnd = '" while reading PROXY protocol, client: '

/**
 * nginx writes what it took for a header as it came, line ends and quotes included: whoever connects can write lines of its log. So a
 * log is a hint for people and never the ground for a write.
 */
function brokenHeader(text: string, from: number, line: string): {event: BareEvent; stop: number} | undefined {
  const start = line.slice(0, lineHead).indexOf(brokenStart)
  if (start < 0) return undefined
  const begin = from + start + brokenStart.length
  const close = text.slice(begin, begin + longestHeader).indexOf(brokenEnd)
  if (close < 0) return undefined
  const tail = text.slice(begin + close + brokenEnd.length, begin + close + brokenEnd.length + 200)
  const found = /^([0-9a-fA-F.:]+), server: (?:\S*?):(\d{1,5})\b/.exec(tail)
  if (found === null) return undefined
  const first = classifyFirstBytes(text.slice(begin, begin + close))
  return {
    event: {kind: 'header-wanted', first, peer: found[1]!, listener: found[2]!},
    stop: begin + close + brokenEnd.length,
  }
}

const combined =
  /^(?:\S{20,40}Z )?(?:\[[^\]]{1,60}\] )?([0-9a-fA-F.:]{2,45}) - \S{1,200} (?:\[[^\]]{10,40}\] |\[\S{1,60} \S{1,10}\] )"((?:[^"\\]|\\.){0,3000})" (\d{3})/
const nginxClosed =
  /client closed connection while reading PROXY protocol, client: ([0-9a-fA-F.:]+), server: \S*?:(\d{1,5})/
const haproxyError =
  /(?:^|\s)([0-9a-fA-F.:]{2,45}):(\d{1,5}) \[[^\]]{10,40}\] ([^\s/]{1,100})\/[^:\s]{1,100}: (.{1,120})$/
const haproxyRequest =
  /(?:^|\s)([0-9a-fA-F.:]{2,45}):(\d{1,5}) \[[^\]]{10,40}\] (\S{1,100}) \S+ \S+ (\d{3}) .{0,200}?"(.{0,300})"?$/

function lineEvent(line: string): BareEvent | undefined {
  const closed = nginxClosed.exec(line)
  if (closed !== null) return {kind: 'header-wanted', first: 'nothing', peer: closed[1]!, listener: closed[2]!}
  const access = combined.exec(line)
  if (access !== null) return requestEvent(access[1]!, access[2]!, access[3]!)
  const error = haproxyError.exec(line)
  if (error !== null) return haproxyEvent(error[1]!, error[3]!, error[4]!)
  const request = haproxyRequest.exec(line)
  if (request === null) return undefined
  const [, peer, , listener, , text] = request
  return {
    kind: text!.startsWith('<BADREQ>') ? 'unreadable' : 'request',
    peer: peer!,
    listener: listener!.replace(/~$/, ''),
  }
}

function requestEvent(peer: string, request: string, status: string): BareEvent {
  const first = classifyFirstBytes(request)
  if (status === '400' && first === 'proxy-v1') return {kind: 'header-found', first, peer}
  // nginx skips the line ends of the signature of version 2 and shows the zero byte behind them.
  if (status === '400' && request === String.raw`\x00`) return {kind: 'header-found', first: 'proxy-v2', peer}
  if (status === '400' && (first === 'something else' || first === 'tls')) return {kind: 'unreadable', first, peer}
  return {kind: 'request', first, peer}
}

function haproxyEvent(peer: string, listener: string, message: string): BareEvent | undefined {
  const wanted = {kind: 'header-wanted', peer, listener} as const
  if (/^Connection (?:closed|error) while waiting for PROXY protocol header/.test(message))
    return {...wanted, first: 'nothing'}
  if (
    /^(?:Received something which does not look like a|Truncated|Timeout during|Timed ?out .{0,30}) ?PROXY protocol/i.test(
      message,
    )
  )
    return wanted
  if (/^(?:SSL handshake failure|Error during SSL handshake)/.test(message)) return {kind: 'unreadable', peer, listener}
  return undefined
}

function countLines(text: string, from: number, to: number): number {
  let count = 0
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) count++
  return count
}
