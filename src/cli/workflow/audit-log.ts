import {closeSync, fsyncSync, openSync, writeSync} from 'node:fs'
import {resourceText, type KubeClient, type Resource} from '../../kube/index.ts'
import {KubeFailure} from '../../kube/index.ts'
import {SrcipError} from '../../model/errors.ts'

/** One write that was sent, in one line of the audit log (style: schema version first, no value, no secret). */
interface AuditLine {
  readonly run: string
  readonly sequence: number
  readonly verb: string
  readonly object: string
  readonly dryRun: boolean
  readonly result: 'ok' | 'failed'
  readonly code: number
  readonly seconds: number
}

export interface AuditLog {
  /** Everything from now on belongs to this run. */
  begin(run: string): void
  write(line: Omit<AuditLine, 'run' | 'sequence'>): void
  close(): void
}

/** Appends to FILE, mode 0600, flushed to the disk line by line: what was sent is on record whatever happens next. */
export function openAuditLog(
  file: string,
  facts: {readonly context: string; readonly user: string; readonly arguments: readonly string[]},
): AuditLog {
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'a', 0o600)
  } catch (error) {
    throw new SrcipError('Usage', `cannot write the audit log ${file}: ${(error as Error).message}`, {
      object: file,
      cause: error,
    })
  }
  let run = ''
  let sequence = 0
  return {
    begin(id) {
      run = id
    },
    write(line) {
      if (descriptor === undefined) return
      sequence += 1
      const record = {
        ...{apiVersion: 'srcip.dev/v1alpha1', time: new Date().toISOString(), ...facts, run, sequence},
        ...line,
      }
      writeSync(descriptor, `${JSON.stringify(record)}\n`)
      fsyncSync(descriptor)
    },
    close() {
      if (descriptor !== undefined) closeSync(descriptor)
      descriptor = undefined
    },
  }
}

/** Arguments as they were typed, with the values of flags that hold secrets taken out. */
export function withoutSecrets(words: readonly string[]): string[] {
  return words.map((word, index) => {
    if (/^--(?:token|password)=/.test(word)) return word.replace(/=.*/s, '=...')
    return /^--(?:token|password)$/.test(words[index - 1] ?? '') ? '...' : word
  })
}

/** The same client, with every write told to the audit log. Renewals of a Lease are the lock's own and left out. */
export function auditedClient(client: KubeClient, log: AuditLog): KubeClient {
  const told = async <T>(
    verb: string,
    resource: Resource,
    key: {readonly namespace?: string | undefined; readonly name?: string | undefined},
    dryRun: boolean,
    send: () => Promise<T>,
  ): Promise<T> => {
    if (resource.plural === 'leases') return await send()
    const place = key.namespace === undefined ? '' : `${key.namespace}/`
    const object = `${resourceText(resource)}/${place}${key.name ?? ''}`
    const started = performance.now()
    const seconds = (): number => Math.round(performance.now() - started) / 1000
    try {
      const answer = await send()
      log.write({verb, object, dryRun, result: 'ok', code: 200, seconds: seconds()})
      return answer
    } catch (error) {
      const code = error instanceof KubeFailure ? (error.status ?? 0) : 0
      log.write({verb, object, dryRun, result: 'failed', code, seconds: seconds()})
      throw error
    }
  }
  const isDry = (options: {readonly dryRun?: 'none' | 'server' | undefined} | undefined): boolean =>
    options?.dryRun === 'server'
  const audited: Pick<KubeClient, 'create' | 'update' | 'apply' | 'mergePatch' | 'delete'> = {
    create: (resource, object, options) =>
      told('create', resource, object.metadata, isDry(options), () => client.create(resource, object, options)),
    update: (resource, object, options) =>
      told('update', resource, object.metadata, isDry(options), () => client.update(resource, object, options)),
    apply: (resource, object, options) =>
      told('apply', resource, object.metadata, isDry(options), () => client.apply(resource, object, options)),
    mergePatch: (resource, key, patch, options) =>
      told('patch', resource, key, isDry(options), () => client.mergePatch(resource, key, patch, options)),
    delete: (resource, key, options) =>
      told('delete', resource, key, isDry(options), () => client.delete(resource, key, options)),
  }
  return new Proxy(client, {
    get: (target, name) => {
      if (Object.hasOwn(audited, name)) return audited[name as keyof typeof audited]
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
