import http, {type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse} from 'node:http'

/** One request as a fault sees it. */
export interface Passing {
  readonly method: string
  readonly path: string
  /** How often this fault has matched before. */
  readonly hit: number
  readonly request: IncomingMessage
}

/**
 * What is done to a request: an answer instead of the registry's, a cut of the answer's body, a change of its bytes or headers,
 * or a cut of what the client sends.
 */
export interface Fault {
  readonly when: (passing: Passing) => boolean
  readonly answer?: {readonly status: number; readonly headers?: Record<string, string>; readonly body?: string}
  /** Ends the connection after this many bytes of the answer. */
  readonly cutAfter?: number
  /** Ends the connection after this many bytes of the request's body. */
  readonly cutUploadAfter?: number
  /** Ends the connection after the registry has answered, without passing the answer on. */
  readonly loseAnswer?: boolean
  readonly bytes?: (body: Buffer) => Buffer
  readonly headers?: (headers: OutgoingHttpHeaders) => OutgoingHttpHeaders
  readonly status?: number
}

/** A proxy in front of a real registry. Faults are tried in order; the first that matches is applied. */
export interface FaultProxy {
  readonly host: string
  readonly log: string[]
  faults: Fault[]
  close(): Promise<void>
}

export async function faultProxy(registry: string, faults: Fault[] = []): Promise<FaultProxy> {
  const [hostname = '', port = ''] = registry.split(':')
  const hits = new Map<Fault, number>()
  const proxy: {faults: Fault[]; log: string[]} = {faults, log: []}

  function pass(request: IncomingMessage, response: ServerResponse): void {
    const method = request.method ?? ''
    const path = request.url ?? ''
    proxy.log.push(`${method} ${path.split('?')[0]} ${request.headers.range ?? ''}`.trim())
    const fault = proxy.faults.find((one) => one.when({method, path, hit: hits.get(one) ?? 0, request}))
    if (fault !== undefined) hits.set(fault, (hits.get(fault) ?? 0) + 1)
    if (fault?.answer !== undefined) {
      request.resume()
      response.writeHead(fault.answer.status, fault.answer.headers ?? {})
      response.end(fault.answer.body ?? '')
      return
    }
    const onward = http.request(
      {hostname, port, method, path, headers: {...request.headers, host: request.headers.host ?? ''}, agent: false},
      (answer) => {
        if (fault?.loseAnswer === true) {
          answer.resume()
          answer.once('end', () => request.socket.destroy())
          return
        }
        sendOn(fault, answer, request, response)
      },
    )
    onward.on('error', () => request.socket.destroy())
    if (fault?.cutUploadAfter === undefined) request.pipe(onward)
    else cutUpload(request, onward, fault.cutUploadAfter)
  }

  const server = http.createServer(pass)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    host: `127.0.0.1:${(server.address() as {port: number}).port}`,
    log: proxy.log,
    get faults() {
      return proxy.faults
    },
    set faults(next: Fault[]) {
      proxy.faults = next
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

function sendOn(
  fault: Fault | undefined,
  answer: IncomingMessage,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const headers = fault?.headers === undefined ? answer.headers : fault.headers({...answer.headers})
  const status = fault?.status ?? answer.statusCode ?? 500
  if (fault?.bytes !== undefined) {
    const chunks: Buffer[] = []
    answer.on('data', (chunk: Buffer) => chunks.push(chunk))
    answer.on('end', () => {
      response.writeHead(status, headers)
      response.end(request.method === 'HEAD' ? undefined : fault.bytes?.(Buffer.concat(chunks)))
    })
    return
  }
  response.writeHead(status, headers)
  if (fault?.cutAfter === undefined) {
    answer.pipe(response)
    return
  }
  let left = fault.cutAfter
  answer.on('data', (chunk: Buffer) => {
    if (left <= 0) return
    response.write(chunk.subarray(0, left), () => {
      if (left <= 0) request.socket.destroy()
    })
    left -= chunk.length
  })
}

function cutUpload(request: IncomingMessage, onward: http.ClientRequest, after: number): void {
  let left = after
  request.on('data', (chunk: Buffer) => {
    if (left <= 0) return
    onward.write(chunk.subarray(0, left))
    left -= chunk.length
    if (left > 0) return
    request.socket.destroy()
    onward.destroy()
  })
}

/** Matches a blob GET, the first `times`. */
export function blobGet(digest: string, times = 1): Fault['when'] {
  return ({method, path, hit}) => method === 'GET' && path.includes(`/blobs/${digest}`) && hit < times
}
