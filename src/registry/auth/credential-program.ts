import {spawn} from 'node:child_process'
import {SrcipError} from '../../model/errors.ts'
import {redactText} from '../text.ts'
import type {Credential} from './credential-files.ts'

/** Milliseconds that docker-credential-NAME may take. */
const patience = 10_000
const answerLimit = 64 * 1024

/**
 * Asks `docker-credential-NAME get` for a host: docker's protocol, the host on stdin, JSON on stdout. No shell.
 * @returns undefined when the program has no login for the host
 * @throws SrcipError Precondition when the program is missing, fails, or takes longer than 10 s
 */
export async function askCredentialProgram(name: string, host: string): Promise<Credential | undefined> {
  if (!/^[A-Za-z0-9._-]+$/.test(name))
    throw new SrcipError('Precondition', `"${redactText(name)}" is no name of a credential program`)
  const program = `docker-credential-${name}`
  const {status, stdout} = await run(program, host)
  if (status !== 0) {
    if (/credentials not found/i.test(stdout)) return undefined
    throw new SrcipError('Precondition', `${program} failed (${status}): ${redactText(stdout)}`)
  }
  let answer: {Username?: unknown; Secret?: unknown}
  try {
    answer = JSON.parse(stdout) as typeof answer
  } catch {
    throw new SrcipError('Precondition', `${program} did not answer with JSON`)
  }
  if (typeof answer.Username !== 'string' || typeof answer.Secret !== 'string') {
    throw new SrcipError('Precondition', `${program} answered without Username and Secret`)
  }
  const from = `${program} for ${host}`
  return answer.Username === '<token>'
    ? {username: '', password: '', identityToken: answer.Secret, from}
    : {username: answer.Username, password: answer.Secret, from}
}

function run(program: string, input: string): Promise<{status: number; stdout: string}> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['get'], {stdio: ['pipe', 'pipe', 'ignore']})
    let stdout = ''
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new SrcipError('Precondition', `${program} gave no answer within ${patience / 1000} s`))
    }, patience)
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', (text: string) => {
      stdout += text
      if (stdout.length > answerLimit) child.kill('SIGKILL')
    })
    child.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      reject(
        new SrcipError(
          'Precondition',
          error.code === 'ENOENT' ? `${program} is not on PATH` : `${program}: ${error.message}`,
          {cause: error},
        ),
      )
    })
    child.once('close', (status) => {
      clearTimeout(timer)
      resolve({status: status ?? 1, stdout})
    })
    // A program that exits before it reads its input is not an error of ours.
    child.stdin.on('error', () => {})
    child.stdin.end(`${input}\n`)
  })
}
