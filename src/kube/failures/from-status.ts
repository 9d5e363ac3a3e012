import type {IncomingHttpHeaders} from 'node:http'
import type {ErrorCode} from '../../model/errors.ts'
import {KubeFailure} from './failure.ts'
import type {CallPlace} from './from-network.ts'
import {canICommand, contextFlag, oneLine, rightText, subjectText} from './subject.ts'

/** The parts of a metav1.Status that are used. Everything in it comes from outside. */
export interface StatusBody {
  readonly code?: number
  readonly reason?: string
  readonly message?: string
  readonly retryAfterSeconds?: number
  /** Field names of `details.causes`. */
  readonly fields: readonly string[]
}

/** Reads a Status object, or takes the text itself for a message where a proxy answered with something else. */
export function readStatus(body: Buffer | unknown): StatusBody {
  if (Buffer.isBuffer(body)) {
    const text = body.toString('utf8')
    try {
      return readStatus(JSON.parse(text) as unknown)
    } catch {
      return {message: oneLine(text, 300), fields: []}
    }
  }
  if (typeof body !== 'object' || body === null) return {fields: []}
  const {code, reason, message, details} = body as Readonly<Record<string, unknown>>
  const {retryAfterSeconds, causes} = (typeof details === 'object' && details !== null ? details : {}) as Readonly<
    Record<string, unknown>
  >
  const fields = Array.isArray(causes)
    ? causes.flatMap((cause: unknown) => {
        const field = (cause as {field?: unknown} | null)?.field
        return typeof field === 'string' ? [field] : []
      })
    : []
  return {
    ...(typeof code === 'number' ? {code} : {}),
    ...(typeof reason === 'string' && reason !== '' ? {reason} : {}),
    ...(typeof message === 'string' && message !== '' ? {message: oneLine(message)} : {}),
    ...(typeof retryAfterSeconds === 'number' && retryAfterSeconds > 0 ? {retryAfterSeconds} : {}),
    fields,
  }
}

/** Milliseconds of a Retry-After header: seconds, or an HTTP date (RFC 9110, 10.2.3); at most an hour. */
export function retryAfterMs(headers: IncomingHttpHeaders, wallNow: number): number | undefined {
  const text = headers['retry-after']?.trim()
  if (text === undefined || text === '') return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - wallNow
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), 3_600_000)
}

interface Verdict {
  readonly code: ErrorCode
  readonly message: string
  readonly hints?: readonly string[]
}

/**
 * Turns an HTTP status, or the Status of a watch's ERROR event, into a failure with its exit code: 401 and 403 are 31,
 * 409 and a foreign uid 33, 404 and other refusals 32, 429 and 5xx 30.
 */
export function statusFailure(
  status: number,
  body: StatusBody,
  place: CallPlace,
  afterMs: number | undefined,
): KubeFailure {
  const {code, message, hints} = verdict(status, body, place)
  const fromBody = body.retryAfterSeconds === undefined ? undefined : body.retryAfterSeconds * 1000
  return new KubeFailure(message, {
    kind: 'status',
    code,
    status,
    reason: body.reason,
    serverMessage: body.message,
    retryAfterMs: afterMs ?? fromBody,
    about: place.about,
    ...(hints === undefined ? {} : {hints}),
    ...(place.about?.resource === undefined ? {} : {object: subjectText(place.about)}),
  })
}

function verdict(status: number, body: StatusBody, place: CallPlace): Verdict {
  const {about, config} = place
  const what = subjectText(about)
  const said = body.message === undefined ? '' : `: ${body.message}`
  const kubectl = ['kubectl', ...contextFlag(config)].join(' ')
  const webhook = status < 500 ? webhookText(body.message) : undefined
  if (webhook !== undefined) return {code: 'Denied', message: `${what}: ${webhook}`}
  switch (status) {
    case 401: {
      const who = config.userName === undefined ? '' : ` of user "${config.userName}"`
      return {
        code: 'Denied',
        message: `API server ${config.server} does not accept the credentials${who} (${about === undefined ? what : rightText(about)})`,
        hints: [`${kubectl} auth whoami`],
      }
    }
    case 403:
      return forbidden(body, place)
    case 404:
      if (about?.name !== undefined) return {code: 'Precondition', message: `${what} not found`}
      return {code: 'Precondition', message: `the cluster does not serve ${what}`, hints: [`${kubectl} api-resources`]}
    case 409:
      if (body.reason === 'AlreadyExists') return {code: 'Conflict', message: `${what} exists already`}
      return {
        code: 'Conflict',
        message: `${what} has changed since it was read${said}`,
        hints: ['run the command again'],
      }
    case 410:
      return {code: 'Conflict', message: `the version of ${what} that was asked for is gone${said}`}
    case 413:
      return {code: 'Precondition', message: `${what} is too large for the API server`}
    case 422:
      if (body.fields.includes('metadata.uid') || /\bmetadata\.uid\b/.test(body.message ?? '')) {
        const hints = ['run the command again']
        return {code: 'Conflict', message: `${what} was deleted and created anew since it was read`, hints}
      }
      return {code: 'Precondition', message: `the API server refuses ${what}${said}`}
    default:
      return status === 429 || status >= 500
        ? {
            code: 'Unreachable',
            message: `API server ${config.server} cannot answer now (HTTP ${status}, ${what})${said}`,
          }
        : {code: 'Precondition', message: `the API server refuses ${what} (HTTP ${status})${said}`}
  }
}

function forbidden(body: StatusBody, place: CallPlace): Verdict {
  const {about, config} = place
  const right = about === undefined ? 'do this' : rightText(about)
  // RBAC's own words repeat the right; anything else (quota, policy) says something new.
  const said = body.message === undefined || /cannot \S+ resource/.test(body.message) ? '' : `: ${body.message}`
  const who = /User "([^"]+)" cannot/.exec(body.message ?? '')?.[1]
  const canI = about === undefined ? undefined : canICommand(about, config)
  return {
    code: 'Denied',
    message: `${who === undefined ? 'the user' : `user "${who}"`} is not allowed to ${right}${said}`,
    hints: ['ask for this right', ...(canI === undefined ? [] : [canI])],
  }
}

/** `admission webhook "x" denied the request: text`, which is no matter of RBAC whatever its status, or undefined. */
export function webhookText(message: string | undefined): string | undefined {
  if (message === undefined) return undefined
  return /admission webhook ".*" denied the request.*|ValidatingAdmissionPolicy '.*' with binding '.*' denied request.*/s.exec(
    message,
  )?.[0]
}

/** True for a write that an admission webhook or policy refused (controller.md 4, fault 11), false for missing rights. */
export function isAdmissionDenial(error: unknown): error is KubeFailure {
  return error instanceof KubeFailure && error.kind === 'status' && webhookText(error.serverMessage) !== undefined
}
