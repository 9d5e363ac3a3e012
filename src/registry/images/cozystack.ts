import {readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {SrcipError} from '../../model/errors.ts'
import {isDigest} from '../digest.ts'
import {parseReference, type Reference, versionToTag} from '../reference.ts'
import type {TextValue} from './shapes.ts'
import {parseTextValues} from './values-text.ts'

/** What a release of the platform says about one package: the chart by digest, and the values laid over it. */
export interface PlatformPackage {
  readonly folder: string
  /** The chart as the Makefile pins it. */
  readonly chart: Reference
  /** The platform's values, under the chart's name. */
  readonly values: TextValue
  readonly valuesFile: string
}

const packageFolder = 'packages/system/ouroboros'

async function text(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new SrcipError('Usage', `${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`, {
      object: path,
      cause: error,
      hints: ['--cozystack PATH is the folder of a Cozystack release (the one that holds packages/system)'],
    })
  }
}

/** Variables of a Makefile that are set to plain text (`NAME = value`, `?=`, `:=`). */
export function makeVariables(makefile: string): Map<string, string> {
  const variables = new Map<string, string>()
  for (const line of makefile.split('\n')) {
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*(?:\?|:|::)?=\s*(.*?)\s*(?:\s#.*)?$/.exec(line)
    if (match !== null) variables.set(match[1] ?? '', match[2] ?? '')
  }
  return variables
}

function expand(value: string, variables: ReadonlyMap<string, string>): string {
  return value.replace(/\$[({]([A-Za-z_][A-Za-z0-9_]*)[)}]/g, (whole, name: string) => variables.get(name) ?? whole)
}

/**
 * Reads the chart that the package's Makefile pulls (`helm pull oci://…@$(…DIGEST)`), its version where a variable holds it, and the values.
 * @throws SrcipError Usage when the folder is no such release; Precondition when the Makefile does not pin the chart by digest
 */
export async function readPlatformPackage(release: string): Promise<PlatformPackage> {
  const folder = join(release, packageFolder)
  const makefilePath = join(folder, 'Makefile')
  const makefile = await text(makefilePath)
  const variables = makeVariables(makefile)
  const pulled = /oci:\/\/[^\s"'\\;]+/.exec(makefile.replace(/^\s*#.*$/gm, ''))?.[0]
  if (pulled === undefined)
    throw new SrcipError('Precondition', `${makefilePath} pulls no chart from a registry`, {object: makefilePath})
  const chart = parseReference(expand(pulled, variables))
  const versionVariable = [...variables].find(([name]) => name.endsWith('CHART_VERSION'))?.[1]
  const digestVariable = [...variables].find(([name]) => name.endsWith('CHART_DIGEST'))?.[1]
  const digest = chart.digest ?? digestVariable
  if (digest === undefined || !isDigest(digest))
    throw new SrcipError('Precondition', `${makefilePath} does not pin its chart by digest`, {object: makefilePath})
  const tag = chart.tag ?? (versionVariable === undefined ? undefined : versionToTag(versionVariable))
  const valuesFile = join(folder, 'values.yaml')
  const [values = {}] = await parseTextValues(await text(valuesFile), valuesFile)
  return {folder, chart: {...chart, digest, ...(tag === undefined ? {} : {tag})}, values, valuesFile}
}
