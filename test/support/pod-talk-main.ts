/** Talks to the pod of pipes-main.ts through the API, with the kubeconfig of the environment, and prints what came of it as JSON. */
import {once} from 'node:events'
import type {Duplex} from 'node:stream'
import {createKubeClient, loadKubeconfig, resources} from '../../src/kube/index.ts'

const pod = {namespace: 'talk', name: 'pipes'}
const client = createKubeClient(await loadKubeconfig({}, process.env), {env: {}, rate: 'unlimited'})
const [mode = 'all'] = process.argv.slice(2)

async function failure(run: () => Promise<unknown>): Promise<object> {
  try {
    await run()
    return {}
  } catch (error) {
    const {message, exitCode, kind, status} = error as {
      message: string
      exitCode: number
      kind: string
      status?: number
    }
    return {message, exitCode, kind, status}
  }
}

async function readSome(stream: Duplex, bytes: number): Promise<string> {
  let text = ''
  while (text.length < bytes) text += String((await once(stream, 'data'))[0])
  return text
}

async function echo(): Promise<unknown> {
  const stream = await client.portForward(pod, 7000)
  stream.write('hello ')
  stream.write(Buffer.alloc(200_000, 'x'))
  const text = await readSome(stream, 200_006)
  stream.end()
  await once(stream, 'close')
  return {begins: text.slice(0, 7), length: text.length}
}

async function download(): Promise<unknown> {
  const stream = await client.portForward(pod, 7001)
  // Nobody reads yet: the pod must be held back, and nothing may be lost.
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const buffered = stream.readableLength
  let bytes = 0
  let inOrder = true
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    for (let at = Math.ceil(bytes / 1_048_576) * 1_048_576 - bytes; at + 4 <= chunk.length; at += 1_048_576) {
      inOrder &&= chunk.readUInt32BE(at) === (bytes + at) / 1_048_576
    }
    bytes += chunk.length
  }
  return {bytes, inOrder, buffered}
}

async function upload(): Promise<unknown> {
  const stream = await client.portForward(pod, 7002)
  const size = 8 * 1024 * 1024
  stream.write(`${size}\n`)
  let waits = 0
  for (let sent = 0; sent < size; sent += 65_536) {
    if (!stream.write(Buffer.alloc(65_536))) {
      waits += 1
      await once(stream, 'drain')
    }
  }
  const answer = (await readSome(stream, 8)).trim()
  stream.destroy()
  return {answer, waits}
}

async function closedPort(): Promise<object> {
  return await failure(async () => {
    const stream = await client.portForward(pod, 9)
    stream.write('x')
    for await (const chunk of stream) void chunk
  })
}

async function follow(): Promise<unknown> {
  const stop = new AbortController()
  const stream = await client.logStream(pod, {follow: true, tailLines: 1, signal: stop.signal})
  let text = ''
  for await (const chunk of stream) {
    text += String(chunk)
    if (text.split('\n').length > 5) break
  }
  stop.abort()
  return text
    .split('\n')
    .slice(0, 5)
    .every((line) => /^line \d+$/.test(line))
}

const results: Record<string, unknown> =
  mode === 'denied'
    ? {denied: await failure(() => client.portForward(pod, 7000))}
    : {
        echo: await echo(),
        many: await Promise.all(Array.from({length: 8}, echo)),
        download: await download(),
        upload: await upload(),
        closedPort: await closedPort(),
        noPod: await failure(() => client.portForward({...pod, name: 'nobody'}, 7000)),
        logs: {
          tail: (await client.logs(pod, {tailLines: 2})).trim().split('\n').length,
          limited: (await client.logs(pod, {limitBytes: 5})).length,
          follow: await follow(),
        },
        noLog: await failure(() => client.logs({...pod, name: 'nobody'})),
        metrics: (
          await client
            .request({path: '/api/v1/namespaces/talk/pods/pipes:7003/proxy/metrics'})
            .catch((error: unknown) => error as {status?: number})
        ).status,
        pods: (await client.list(resources.pods, {namespace: 'talk'})).items.length,
      }
client.close()
console.log(JSON.stringify(results))
