/**
 * Assembles the folder that the image holds: Node, the bundle, HAProxy with its libraries. Linux only, on the architecture
 * that the image is for. `node scripts/image-rootfs.ts [FOLDER]`; default: build/rootfs. Exit code 21 when a part is missing.
 */
import {dirname, resolve} from 'node:path'
import {assembleRootfs} from './image/rootfs.ts'

const root = resolve(dirname(import.meta.dirname))
const target = resolve(process.argv[2] ?? `${root}/build/rootfs`)
try {
  const {files, bytes, sha256} = assembleRootfs(root, target)
  process.stdout.write(`${target}: ${files} files, ${(bytes / 1e6).toFixed(0)} MB, sha256 ${sha256}\n`)
} catch (error) {
  process.stderr.write(`image-rootfs: ${(error as Error).message}\n`)
  process.exitCode = 21
}
