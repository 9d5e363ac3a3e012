import {createHash} from 'node:crypto'
import {chmod, open, readFile, rename, rm, stat, writeFile} from 'node:fs/promises'
import type {KubeClient} from '../kube/index.ts'
import {SrcipError} from '../model/errors.ts'
import {readHostsText, writeHostsText} from './hosts-text.ts'
import type {HostsForm, HostsText} from './hosts-text.ts'
import type {Published} from './names-guard.ts'
import type {Output, OutputPlan, OutputView, RefusedName, WrittenOutput} from './output.ts'
import {readTargets, targetsOf, withAddresses} from './targets.ts'
import type {TargetAddresses} from './targets.ts'

/** Another tool's lines, with addresses that are given and not looked up. */
export interface HostsOutputForm {
  readonly form: HostsForm
  readonly addresses: readonly string[]
}

/**
 * A hosts file as an output, for node-level use: the resolver of a node, or a `hosts` plugin. Each process writes its
 * own file, so no Lease is needed; a wildcard cannot be written.
 */
export class HostsOutput implements Output {
  readonly name = 'hosts'
  readonly #client: Pick<KubeClient, 'find'>
  readonly #path: string
  readonly #wildcards: boolean
  readonly #other: HostsOutputForm | undefined

  constructor(client: Pick<KubeClient, 'find'>, path: string, wildcards: boolean, other?: HostsOutputForm) {
    this.#client = client
    this.#path = path
    this.#wildcards = wildcards
    this.#other = other
  }

  async read(targets: readonly string[], signal: AbortSignal): Promise<OutputView> {
    const text = await readText(this.#path)
    const read = readHostsText(text, this.#other?.form)
    const given = this.#other?.addresses
    const addresses =
      given === undefined
        ? await readTargets(this.#client, targetsOf(targets, read.published), signal)
        : new Map(targets.map((target) => [target, {addresses: given}]))
    const version = createHash('sha256')
      .update(text, 'latin1')
      .update(JSON.stringify([...addresses]))
      .digest('hex')
    return {
      version,
      published: read.published,
      object: undefined,
      managers: () => Promise.resolve([]),
      plan: (names) => this.#plan(text, read, addresses, names),
    }
  }

  #plan(
    text: string,
    read: HostsText,
    addresses: ReadonlyMap<string, TargetAddresses>,
    names: readonly Published[],
  ): OutputPlan {
    const exact = names.filter((entry) => entry.kind === 'exact')
    const wildcards = this.#wildcards ? names.filter((entry) => entry.kind !== 'exact') : []
    const {taken, refused} = withAddresses(exact, addresses)
    const after = read.damage === undefined ? writeHostsText(read, taken, this.#other?.form) : text
    return {
      changes: after !== text,
      refused: [
        ...refused,
        ...wildcards.map(({name}): RefusedName => ({
          name,
          code: 'WildcardUnsupported',
          reason: 'a hosts file has no wildcards',
        })),
      ],
      blocked:
        read.damage === undefined
          ? undefined
          : {
              code: 'MarkersDamaged',
              reason: `${this.#path}: ${read.damage}`,
              remedy: 'take the marker lines out by hand',
            },
      warnings: [],
      published: taken.map(({name, kind, target}) => ({name, kind, target})),
      bytes: after.length,
      write: () => this.#write(text, after),
    }
  }

  async #write(before: string, after: string): Promise<WrittenOutput> {
    if ((await readText(this.#path)) !== before) {
      throw new SrcipError('Conflict', `${this.#path} was changed since it was read`, {object: this.#path})
    }
    await writeText(this.#path, after)
    return {
      // The file is what the resolver reads: when it holds the text, the names are in effect.
      prove: async () => {
        const same = (await readText(this.#path)) === after
        const detail = {subject: this.#path, verdict: same ? 'done' : 'unconfirmed'}
        return {
          verdict: same ? 'done' : 'unconfirmed',
          details: [same ? detail : {...detail, reason: 'was changed since it was written'}],
        }
      },
      undo: async () => {
        if ((await readText(this.#path)) !== after) return {restored: false, reason: 'was changed since it was written'}
        await writeText(this.#path, before)
        return {restored: true}
      },
    }
  }
}

/** latin1 keeps every byte on both ways. A file that is not there is an empty one. */
async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'latin1')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw fileError(path, error)
  }
}

/**
 * Replaces the file by rename, so that a reader or a crash meets the old text or the new one. A file that is mounted by
 * itself (a Pod's /etc/hosts) cannot be renamed over and is written in place.
 */
async function writeText(path: string, text: string): Promise<void> {
  const temporary = `${path}.srcip-${process.pid}`
  try {
    const mode = await stat(path).then(
      (found) => found.mode & 0o777,
      () => 0o644,
    )
    const file = await open(temporary, 'w', mode)
    try {
      await file.writeFile(text, 'latin1')
      await file.sync()
    } finally {
      await file.close()
    }
    await chmod(temporary, mode)
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, {force: true}).catch(() => undefined)
    const {code} = error as NodeJS.ErrnoException
    if (code !== 'EBUSY' && code !== 'EXDEV' && code !== 'EROFS' && code !== 'EACCES') throw fileError(path, error)
    await writeFile(path, text, 'latin1').catch((second: unknown) => {
      throw fileError(path, second)
    })
  }
}

function fileError(path: string, error: unknown): SrcipError {
  const {code, message} = error as NodeJS.ErrnoException
  const denied = code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
  return new SrcipError(denied ? 'Denied' : 'Precondition', `${path}: ${message}`, {
    object: path,
    hints: ['name another file with --hosts-path'],
    cause: error,
  })
}
