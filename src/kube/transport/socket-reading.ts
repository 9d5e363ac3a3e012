import type {Socket} from 'node:net'

/** Where a connection goes, once the proxy (if any) has been dealt with. */
export interface Endpoint {
  readonly host: string
  readonly port: number
}

/** An error of the network, with a code that the failure table knows. */
export function networkError(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), {code})
}

/**
 * Reads until `complete` says how many bytes belong to the answer; what follows is put back for the next reader.
 */
export async function readUntil(socket: Socket, complete: (bytes: Buffer) => number | undefined): Promise<Buffer> {
  let bytes: Buffer = Buffer.alloc(0)
  return await new Promise<Buffer>((resolve, reject) => {
    const done = (settle: () => void): void => {
      socket.removeListener('readable', onReadable)
      socket.removeListener('error', onError)
      socket.removeListener('close', onClose)
      settle()
    }
    const onReadable = (): void => {
      for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
        bytes = Buffer.concat([bytes, chunk])
      }
      let length: number | undefined
      try {
        length = complete(bytes)
      } catch (error) {
        done(() => reject(error))
        return
      }
      if (length === undefined) return
      const rest = bytes.subarray(length)
      done(() => {
        if (rest.length > 0) socket.unshift(rest)
        resolve(bytes.subarray(0, length))
      })
    }
    const onError = (error: Error): void => done(() => reject(error))
    const onClose = (): void => done(() => reject(networkError('ECONNRESET', 'the proxy closed the connection')))
    socket.on('readable', onReadable)
    socket.once('error', onError)
    socket.once('close', onClose)
    onReadable()
  })
}
