import {randomInt} from 'node:crypto'
import {connect} from 'node:net'
import type {Duplex} from 'node:stream'
import {decodeReply, DnsReplyError, encodeQuestion, type DnsReply, type QuestionType} from './message.ts'

/** One way to put questions to one DNS server. Rejects with an Error that says in a few words why no reply came. */
export interface DnsConnection {
  ask(name: string, type: QuestionType, signal?: AbortSignal): Promise<DnsReply>
  close(): void
}

/** Milliseconds for one question, connect included. */
const questionTimeoutMs = 5000

/**
 * DNS over any byte stream (RFC 1035 4.2.2: two bytes of length, then the message), one question at a time.
 * The stream is a TCP connection or a port-forward; it is closed with the connection, and after any broken reply.
 */
export function dnsOverStream(stream: Duplex, timeoutMs = questionTimeoutMs): DnsConnection {
  let buffered = Buffer.alloc(0)
  let waiting: {take(message: Buffer): void; fail(error: Error): void} | undefined
  let broken: Error | undefined
  const fail = (error: Error): void => {
    broken ??= error
    waiting?.fail(broken)
  }
  stream.on('data', (chunk: Buffer) => {
    // a reply is at most 65,537 bytes with its length; a server that sends more without being asked is cut off
    if (waiting === undefined || buffered.length + chunk.length > 65_537 * 2) {
      fail(new DnsReplyError('the server sends bytes nobody asked for'))
      stream.destroy()
      return
    }
    buffered = Buffer.concat([buffered, chunk])
    if (buffered.length < 2) return
    const length = buffered.readUInt16BE(0)
    if (buffered.length < length + 2) return
    const message = Buffer.from(buffered.subarray(2, length + 2))
    buffered = Buffer.from(buffered.subarray(length + 2))
    waiting.take(message)
  })
  stream.on('error', (error: Error) => fail(error))
  stream.on('end', () => fail(new Error('the connection was closed without a reply')))
  stream.on('close', () => fail(new Error('the connection was closed without a reply')))
  return {
    async ask(name, type, signal) {
      if (broken !== undefined) throw broken
      if (waiting !== undefined) throw new Error('one question at a time on a DNS connection')
      signal?.throwIfAborted()
      const id = randomInt(0x10000)
      const question = encodeQuestion(id, name, type)
      const framed = Buffer.alloc(question.length + 2)
      framed.writeUInt16BE(question.length, 0)
      question.copy(framed, 2)
      let onAbort: (() => void) | undefined
      let timer: NodeJS.Timeout | undefined
      try {
        const message = await new Promise<Buffer>((resolve, reject) => {
          waiting = {take: resolve, fail: reject}
          timer = setTimeout(() => fail(new Error(`no reply within ${timeoutMs / 1000} s`)), timeoutMs)
          onAbort = () => fail(signal?.reason instanceof Error ? signal.reason : new Error('aborted'))
          signal?.addEventListener('abort', onAbort, {once: true})
          stream.write(framed)
        })
        return decodeReply(message, id, name, type)
      } catch (error) {
        broken ??= error as Error
        stream.destroy()
        throw error
      } finally {
        waiting = undefined
        clearTimeout(timer)
        if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort)
      }
    },
    close: () => void stream.destroy(),
  }
}

/** DNS over TCP, directly to an address; for a caller inside the cluster network. */
export async function dnsOverTcp(address: string, port: number, timeoutMs = questionTimeoutMs): Promise<DnsConnection> {
  const socket = connect({host: address, port})
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error(`no connection to ${address}:${port} within ${timeoutMs / 1000} s`))
    }, timeoutMs)
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.removeAllListeners('error')
      resolve()
    })
    socket.once('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
  })
  return dnsOverStream(socket, timeoutMs)
}
