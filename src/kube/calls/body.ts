import type {IncomingMessage} from 'node:http'
import type {Readable} from 'node:stream'
import {createGunzip} from 'node:zlib'
import {decodeFailure} from '../failures/from-network.ts'
import type {CallPlace} from '../failures/from-network.ts'

/** The answer's bytes as the server meant them. Destroying the result ends the request. */
export function decoded(response: IncomingMessage): Readable {
  if (response.headers['content-encoding'] !== 'gzip') return response
  const gunzip = createGunzip()
  response.on('error', (error) => gunzip.destroy(error))
  response.on('aborted', () => gunzip.destroy(Object.assign(new Error('aborted'), {code: 'ECONNRESET'})))
  gunzip.on('close', () => response.destroy())
  return response.pipe(gunzip)
}

/** Reads a whole body of at most `maxBytes` bytes, counted after decompression. */
export async function readBody(response: IncomingMessage, maxBytes: number, place: CallPlace): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  const body = decoded(response)
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) {
      body.destroy()
      throw decodeFailure(place, `an answer of more than ${Math.round(maxBytes / 1024 / 1024)} MiB`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

/** Parses JSON of one answer. The parser's message quotes the text, so only our own words go out. */
export function parseJson(body: Buffer, place: CallPlace): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    throw decodeFailure(place, 'something that is no JSON')
  }
}
