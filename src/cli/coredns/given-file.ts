import {open, stat} from 'node:fs/promises'
import {Readable} from 'node:stream'
import {readCorefileFile} from '../../cluster-dns/corefile-file.ts'
import {createSnapshotClient, readSnapshotFiles, type KubeClient} from '../../kube/index.ts'
import {SrcipError} from '../../model/errors.ts'
import {masked} from '../../model/projection/mask.ts'

/** What `-f` gives: a Corefile, or a snapshot that is read as if it were the cluster. */
export type Given = {readonly corefile: Uint8Array} | {readonly client: KubeClient}

/** A snapshot says so within its first lines, in JSON and in YAML. */
const headLength = 4096
const mostBytes = 256 * 1024 * 1024

/** Reads what `-f` names; `-` is stdin. Errors are those of a Corefile, or of a snapshot where it is one. */
export async function readGiven(path: string, stdin: AsyncIterable<Uint8Array> = process.stdin): Promise<Given> {
  if (path !== '-') {
    if (!isSnapshot(await headOf(path))) return {corefile: await readCorefileFile(path)}
    return {client: createSnapshotClient(await readSnapshotFiles([path]), path)}
  }
  const bytes = await collect(stdin)
  const again = Readable.from([bytes])
  if (!isSnapshot(bytes.subarray(0, headLength))) return {corefile: await readCorefileFile('-', again)}
  return {client: createSnapshotClient(await readSnapshotFiles(['-'], {stdin: again}), 'stdin')}
}

/** Throws for a text in which a secret was masked: what is planned from it must not be written anywhere. */
export function refuseMasked(bytes: Uint8Array, place: string): void {
  if (!Buffer.from(bytes).includes(masked)) return
  throw new SrcipError('Precondition', `the Corefile in ${place} held a secret, which the snapshot left out`, {
    object: place,
    hints: ['plan on the cluster, or give the Corefile itself with -f'],
  })
}

function isSnapshot(head: Uint8Array): boolean {
  const text = Buffer.from(head).toString('utf8')
  const kind = /^kind: Snapshot\s*$/m.test(text) || /"kind"\s*:\s*"Snapshot"/.test(text)
  return kind && /apiVersion"?\s*:\s*"?srcip\.dev\//.test(text)
}

/** The first bytes of a file; nothing where it cannot be read, which the reader of the whole will say better. */
async function headOf(path: string): Promise<Uint8Array> {
  try {
    // A pipe gives its bytes once; there a Corefile is expected.
    if (!(await stat(path)).isFile()) return new Uint8Array()
    const file = await open(path, 'r')
    try {
      const {buffer, bytesRead} = await file.read({buffer: Buffer.alloc(headLength), position: 0})
      return buffer.subarray(0, bytesRead)
    } finally {
      await file.close()
    }
  } catch {
    return new Uint8Array()
  }
}

async function collect(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size > mostBytes)
      throw new SrcipError('Usage', `stdin has more than the ${mostBytes} bytes that are read`, {object: 'stdin'})
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
