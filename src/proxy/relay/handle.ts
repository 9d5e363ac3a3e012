import {Socket, type Server} from 'node:net'

/**
 * The places where Node has no public way to do what the relay needs; above all, to give an accepted socket a reader with its own buffers (`onread` exists for `connect` only).
 * All are looked up by shape, and without them the relay goes the ordinary way ('data' events, an option for each socket): slower, never wrong.
 */
interface StreamHandle {
  useUserBuffer?(buffer: Uint8Array): void
  setNoDelay?(on: boolean): number
  setKeepAlive?(on: boolean, seconds: number): number
}

interface WithHandle {
  _handle: StreamHandle | null
}

export interface Reader {
  /** The buffer for the next read. */
  readonly buffer: () => Buffer
  /** Called with the number of bytes read; false stops reading until `resume()`. */
  readonly callback: (bytes: number) => boolean
}

/** Moves an accepted, paused socket under a reader and starts reading. The old Socket object must not be used afterwards. */
export function readFrom(accepted: Socket, reader: Reader): Socket | undefined {
  const owner = accepted as unknown as WithHandle
  const handle = owner._handle
  if (!handle || typeof handle.useUserBuffer !== 'function') return undefined
  owner._handle = null
  // `handle` is an option that @types/node does not list; child_process and tls hand sockets over the same way.
  const options = {handle, allowHalfOpen: true, readable: true, writable: true, onread: reader}
  return new Socket(options)
}

/** Replaces the buffer that an idle socket waits with. Returns false where the running Node cannot do that. */
export function rebuffer(socket: Socket, buffer: Buffer): boolean {
  const handle = (socket as unknown as WithHandle)._handle
  if (!handle || typeof handle.useUserBuffer !== 'function') return false
  handle.useUserBuffer(buffer)
  return true
}

/**
 * Sets TCP_NODELAY and keep-alive on a listening socket. On Linux every accepted socket inherits them (tcp(7), socket(7)), which saves five system calls for
 * each connection. Returns false where that is not known to hold; each socket then has to be set by itself.
 *
 * @param keepAlive milliseconds of quiet before the first probe
 */
export function setForAccepted(server: Server, keepAlive: number): boolean {
  const handle = (server as unknown as WithHandle)._handle
  if (process.platform !== 'linux' || !handle?.setNoDelay || !handle.setKeepAlive) return false
  return handle.setNoDelay(true) === 0 && handle.setKeepAlive(true, Math.max(1, Math.round(keepAlive / 1000))) === 0
}
