import {copyItems, type CopyReport} from '../../../src/registry/copy/copy.ts'
import type {CopyEvent} from '../../../src/model/mirror-events.ts'
import type {CopyItem, CopyOptions} from '../../../src/registry/copy/item.ts'
import {CopyRun, type RunOptions} from '../../../src/registry/copy/run.ts'
import {registrySource} from '../../../src/registry/copy/source.ts'
import {openRegistryClient, type OpenOptions} from '../../../src/registry/open.ts'
import {parseReference} from '../../../src/registry/reference.ts'
import {Repository} from '../../../src/registry/repository.ts'

export const usual: CopyOptions = {
  moveTags: false,
  trustManifests: false,
  platforms: [],
  sparse: false,
  skipAttestations: false,
}

export interface Copied extends CopyReport {
  readonly events: readonly CopyEvent[]
  readonly counts: CopyRun['counts']
}

/** Copies references between loopback registries with the library, as the command does. */
export async function copyReferences(
  references: readonly string[],
  to: string,
  options: Partial<CopyOptions> & {
    readonly extras?: CopyItem['extras']
    readonly open?: Partial<OpenOptions>
    readonly plain?: readonly string[]
    readonly dryRun?: boolean
    readonly spool?: RunOptions['spool']
    readonly spoolFolder?: string
  } = {},
): Promise<Copied> {
  const events: CopyEvent[] = []
  const hosts = [...references.map((reference) => parseReference(reference).host), to.split('/')[0] as string]
  const client = openRegistryClient({
    env: {HOME: '/nonexistent'},
    plainHttp: options.plain ?? hosts,
    onEvent: (event) => events.push(event),
    retries: {attempts: 6, base: 20, longest: 200, longestAsked: 5000, budget: 20_000},
    ...options.open,
  })
  const run = new CopyRun(client, (event) => events.push(event), {
    dryRun: options.dryRun === true,
    spool: options.spool,
    spoolFolder: options.spoolFolder,
  })
  const [host = '', ...prefix] = to.split('/')
  const items = references.map((text): CopyItem => {
    const reference = parseReference(text)
    return {
      name: text,
      source: registrySource(new Repository(client, reference.host, reference.repository, 'pull')),
      target: new Repository(client, host, [...prefix, reference.repository].join('/'), 'push'),
      tag: reference.tag,
      digest: reference.digest,
      extras: options.extras ?? 'discover',
    }
  })
  try {
    const report = await copyItems(run, items, {...usual, ...options})
    return {...report, events, counts: run.counts}
  } finally {
    await run.close()
    client.close()
  }
}
