import {connect, type Socket} from 'node:net'
import {plainAddress} from '../../model/address.ts'
import {readHeader} from '../header/decode.ts'
import {encodeHeader} from '../header/encode.ts'
import {refusals, type Endpoint, type Refusal} from '../header/types.ts'
import {readFrom} from './handle.ts'
import {Leg, type LegOwner} from './leg.ts'
import type {Candidate, RelayPort} from './port.ts'

/** Milliseconds between two rounds over all addresses of a target that does not answer. */
const retryPause = 200

/**
 * One client and the connection that was made for it.
 * `header`: a trusted peer owes its PROXY header. `connecting`: no target yet, what the client sends is kept (one read at most).
 * `open`: both ends are there.
 */
export class Connection implements LegOwner {
  readonly port: RelayPort
  readonly #client: Leg
  #target: Leg | undefined
  #state: 'header' | 'connecting' | 'open' | 'closed' = 'connecting'
  /** Client bytes that nobody has been given yet. */
  #held: Buffer | undefined
  /** The first bytes of an untrusted peer are looked at for a header that has to be taken off. */
  #looksForHeader = false
  #source: Endpoint | undefined
  #destination: Endpoint | undefined
  #candidates: readonly Candidate[] = []
  #next = 0
  #startedAt = 0

  constructor(port: RelayPort, accepted: Socket) {
    this.port = port
    const {remoteAddress, remotePort} = accepted
    const [from, to] = [plainAddress(remoteAddress), port.reached(accepted)]
    this.#source = from === undefined ? undefined : {address: from, port: remotePort ?? 0}
    this.#destination = to === undefined ? undefined : {address: to, port: port.spec.service}
    this.#client = new Leg(this, port.pool)
    const moved = readFrom(accepted, this.#client)
    this.#client.attach(moved ?? accepted)
    if (!moved) this.#client.readData()
    if (port.acceptsHeaders) this.#greet()
    else this.#begin()
    if (!moved) accepted.resume()
  }

  /** True when nothing is left of the connection. */
  get isOver(): boolean {
    return this.#state === 'closed'
  }

  /** Client and target bytes read so far. */
  get bytes(): {readonly up: number; readonly down: number} {
    return {up: this.#client.bytesRead, down: this.#target?.bytesRead ?? 0}
  }

  received(leg: Leg, bytes: Buffer): boolean {
    const port = this.port
    if (leg === this.#target) {
      if (leg.bytesRead === bytes.length) port.firstByte.stop(this)
      port.idle.start(this)
      return this.#client.send(bytes, leg)
    }
    const isFirst = leg.bytesRead === bytes.length
    if (this.#state === 'header' || this.#looksForHeader) return this.#readHeader(bytes)
    if (isFirst && port.isOwnProbe(bytes)) return this.#abort('loop')
    if (this.#state === 'open' && this.#target) {
      if (isFirst) port.firstByte.stop(this)
      port.idle.start(this)
      return this.#target.send(bytes, leg)
    }
    this.#hold(bytes)
    return false
  }

  ended(leg: Leg): void {
    if (leg === this.#target) {
      this.#client.socket.end()
      return
    }
    if (this.#state === 'header') this.#refuse(this.#held ? 'cut-short' : 'no-header')
    else if (this.#state === 'open') {
      this.#flush()
      this.#target?.socket.end()
    }
  }

  failed(leg: Leg, error: NodeJS.ErrnoException): void {
    if (leg !== this.#client && this.#state === 'connecting') {
      if (leg === this.#target) this.#tryNext(error)
      return
    }
    if (this.#state === 'closed') return
    this.port.failed(leg === this.#client ? 'client' : 'target', error)
    const other = leg === this.#client ? this.#target : this.#client
    // A side that had said all it had to say is delivered; otherwise the other end must not take a cut stream for a whole one.
    if (!other || other.isClosed) return
    if (leg.hasEnded) other.socket.destroySoon()
    else other.socket.resetAndDestroy()
  }

  closed(leg: Leg): void {
    if (leg === this.#client) {
      if (this.#state === 'connecting' || this.#state === 'header') {
        this.#target?.socket.destroy()
        this.#finish()
      } else if (!this.#target || this.#target.isClosed) this.#finish()
    } else if (leg === this.#target && this.#state === 'open' && this.#client.isClosed) this.#finish()
  }

  /** Cuts both sides at once, with a reset so that nobody takes what came for everything. */
  cut(): void {
    if (!this.#client.isClosed) this.#client.socket.resetAndDestroy()
    if (this.#target && !this.#target.isClosed) this.#target.socket.resetAndDestroy()
    if (this.#state === 'header' || this.#state === 'connecting') this.#finish()
  }

  /** The time limit of `name` is over. */
  expired(name: 'connect' | 'attempt' | 'header' | 'first-byte' | 'idle'): void {
    if (this.#state === 'closed') return
    if (name === 'attempt') {
      // Another address may answer sooner; without one the kernel goes on trying.
      if (this.#next < this.#candidates.length) this.#abandonAttempt()
      return
    }
    if (name === 'header') {
      if (this.#state === 'header') this.#refuse('too-slow')
      else this.#passHeld()
      return
    }
    this.port.count(name === 'connect' ? 'connect-timeout' : name)
    this.cut()
  }

  /** Gives buffers of an idle connection back. */
  sweep(): void {
    if (!this.#target) return
    this.#client.sweep(this.#target)
    this.#target.sweep(this.#client)
  }

  // Chain mode: who may say where a connection comes from.
  #greet(): void {
    this.port.header.start(this)
    if (this.#source && this.port.trusts(this.#source.address)) this.#state = 'header'
    else {
      this.#looksForHeader = true
      this.#begin()
    }
  }

  #readHeader(bytes: Buffer): boolean {
    const all = this.#held ? Buffer.concat([this.#held, bytes]) : bytes
    this.#held = undefined
    const read = readHeader(all)
    const isTrusted = this.#state === 'header'
    if (read.status === 'more') {
      this.#hold(all)
      return true
    }
    this.port.header.stop(this)
    if (read.status === 'refused') {
      if (isTrusted) return this.#refuse(read.reason)
      return this.#pass(all)
    }
    this.port.headerRead(isTrusted ? 'honoured' : 'ignored')
    const rest = all.subarray(read.length)
    if (!isTrusted) return this.#pass(rest)
    // LOCAL, UNKNOWN, UNSPEC and UNIX say nothing about a TCP client: the socket's own address stands.
    if (read.header.source) this.#source = read.header.source
    if (rest.length > 0) this.#hold(rest)
    this.#begin(read.header.destination)
    return rest.length === 0
  }

  /** Ends the search for a header: `bytes` and everything after them belong to the target. */
  #pass(bytes: Buffer): boolean {
    this.#looksForHeader = false
    if (bytes.length === 0) return true
    if (this.port.isOwnProbe(bytes)) return this.#abort('loop')
    if (this.#state === 'open' && this.#target) {
      this.port.firstByte.stop(this)
      return this.#target.send(bytes, this.#client)
    }
    this.#hold(bytes)
    return false
  }

  #passHeld(): void {
    const held = this.#held
    this.#held = undefined
    if (held && this.#pass(held)) this.#client.resume()
  }

  #hold(bytes: Buffer): void {
    this.#held = this.#held ? Buffer.concat([this.#held, bytes]) : bytes
  }

  #begin(destination?: Endpoint): void {
    this.#state = 'connecting'
    // A header whose ends are of two families cannot be passed on as it is; the destination of the socket may do.
    if (destination && destination.address.includes(':') === this.#source?.address.includes(':'))
      this.#destination = destination
    this.#startedAt = this.port.clock.now()
    this.port.connect.start(this)
    this.#round()
  }

  #round(): void {
    if (this.#state !== 'connecting') return
    this.#candidates = this.port.candidates()
    this.#next = 0
    this.#tryNext()
  }

  #tryNext(error?: NodeJS.ErrnoException): void {
    const candidate = this.#candidates[this.#next]
    if (error) this.port.attemptFailed(this.#candidates[this.#next - 1], error)
    if (!candidate) {
      this.#target = undefined
      this.port.exhausted()
      this.port.clock.after(retryPause, () => this.#round())
      return
    }
    this.#next++
    const leg = new Leg(this, this.port.pool)
    this.#target = leg
    const socket = connect({
      host: candidate.address,
      port: candidate.port,
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: this.port.keepAliveDelay,
      onread: {buffer: leg.buffer, callback: leg.callback},
    })
    leg.attach(socket)
    socket.once('connect', () => this.#opened(leg, candidate))
    if (this.#candidates.length > 1) this.port.attempt.start(this)
  }

  #abandonAttempt(): void {
    const leg = this.#target
    this.#target = undefined
    leg?.socket.destroy()
    this.#tryNext(Object.assign(new Error('no answer'), {code: 'ETIMEDOUT'}))
  }

  #opened(leg: Leg, candidate: Candidate): void {
    if (leg !== this.#target || this.#state !== 'connecting') return
    const port = this.port
    port.connect.stop(this)
    port.attempt.stop(this)
    this.#state = 'open'
    port.opened(port.clock.now() - this.#startedAt, candidate)
    if (candidate.sendsHeader) {
      const header = encodeHeader(port.version, this.#source, this.#destination)
      const held = this.#looksForHeader ? undefined : this.#held
      if (held) this.#held = undefined
      this.#write(held ? Buffer.concat([header, held]) : header)
    } else if (!this.#looksForHeader) this.#flush()
    if (this.#client.bytesRead === 0) port.firstByte.start(this)
    port.idle.start(this)
    if (this.#client.hasEnded) this.ended(this.#client)
  }

  /** The first write to the target; the client was stopped after its first read, or has not sent anything. */
  #write(bytes: Buffer): void {
    if (this.#target?.send(bytes, this.#client)) this.#client.resume()
  }

  #flush(): void {
    const held = this.#held
    this.#held = undefined
    if (held) this.#write(held)
  }

  #refuse(reason: Refusal): false {
    this.port.headerRefused(reason, refusals[reason], this.#source)
    this.cut()
    return false
  }

  #abort(reason: 'loop'): false {
    this.port.count(reason)
    this.cut()
    return false
  }

  #finish(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    const port = this.port
    for (const limit of [port.connect, port.attempt, port.header, port.firstByte, port.idle]) limit.stop(this)
    this.#client.release()
    this.#target?.release()
    port.finished(this)
  }
}
