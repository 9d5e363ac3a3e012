/** A fault of the network: worth another try. `fresh` faults hit a connection before anything was answered. */
export class NetworkFault extends Error {
  readonly code: string

  constructor(code: string, message: string, cause?: unknown) {
    super(message, {cause})
    this.name = 'NetworkFault'
    this.code = code
  }
}

/** The value of an Authorization header from an address's user information. */
export function basicOf(url: URL): string {
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return `Basic ${Buffer.from(user).toString('base64')}`
}
