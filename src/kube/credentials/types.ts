import type {KeyPair} from '../transport/tls-material.ts'

/** What one request is authenticated with. The same object is given out until it is replaced. */
export interface Credential {
  /** Value of the Authorization header; never logged. */
  readonly authorization?: string
  /** A client certificate that came from an exec plugin. */
  readonly pair?: KeyPair
}

/** Hands out credentials and renews them. */
export interface Credentials {
  current(signal: AbortSignal | undefined): Promise<Credential>
  /**
   * After a 401: fetches anew, unless that has just been done.
   * @param refused the credential that the server did not take
   * @returns whether a new try makes sense
   */
  renew(refused: Credential, signal: AbortSignal | undefined): Promise<boolean>
}
