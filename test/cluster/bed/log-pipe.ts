import {execFileSync} from 'node:child_process'
import {constants, openSync, rmSync, writeSync} from 'node:fs'
import {Socket} from 'node:net'
import {createInterface} from 'node:readline'

/**
 * A pipe of the file system's kind, already without a name: programs may open /dev/stdout again, which they cannot with
 * the sockets that Node hands to its children. Returns the end to write to; lines go to `file` until it is closed,
 * each behind the time it came.
 */
export function logPipe(file: string): number {
  const pipe = `${file}.pipe`
  execFileSync('mkfifo', [pipe])
  const input = new Socket({
    fd: openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK),
    readable: true,
    writable: false,
  })
  const output = openSync(pipe, constants.O_WRONLY)
  rmSync(pipe)
  const log = openSync(file, 'a')
  input.on('error', () => {})
  input.unref()
  createInterface({input}).on('line', (line) => writeSync(log, `${new Date().toISOString()} ${line}\n`))
  return output
}
