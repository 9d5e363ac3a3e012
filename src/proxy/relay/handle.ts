import {Socket} from 'node:net'

/**
 * The two places where Node has no public way to give an accepted socket a reader with its own buffers (`onread` exists for `connect` only).
 * Both are looked up by shape, and without them the relay falls back to 'data' events: slower, never wrong.
 */
interface StreamHandle {
  useUserBuffer?(buffer: Uint8Array): void
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
