import {mkdirSync, writeFileSync} from 'node:fs'
import {dirname, join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {freePorts, startCoredns, type CorednsProcess} from '../support/coredns-process.ts'
import {DnsAsker, startStub, type StubServer, type WireReply} from '../support/dns-exchange.ts'
import {bytesOf, corefileOf, lintExamples, optionsOf, type LintExample} from '../support/lint-examples.ts'
import {startLiveCluster} from '../support/live-cluster.ts'
import {upstreamPacket} from '../support/upstream-zone.ts'
import {API_SERVER_PARTS, type ApiServer} from './bed/index.ts'
import {stateFolder, type StateFolder} from './bed/state-folder.ts'
import {describeWithParts} from './bed/suite.ts'

type Side = 'failing' | 'passing'

/** `RCODE (question) records`: what the table of examples holds. */
function compact(reply: WireReply | undefined, asked: string): string {
  if (reply === undefined) return 'no answer'
  const question = `${reply.question.name} ${reply.question.type}`
  const records = reply.answer.map(({name, type, data}) => `${name} ${type} ${data}`).sort()
  return [reply.rcode, ...(question === asked ? [] : [`(${question})`]), ...records].join(' ')
}

await describeWithParts(
  'examples of lint rules on real CoreDNS',
  ['coredns-1.14.7', 'coredns-1.11.3', ...API_SERVER_PARTS],
  (parts) => {
    let api: ApiServer
    let stub: StubServer
    let state: StateFolder
    const asker = new DnsAsker()
    beforeAll(async () => {
      state = stateFolder('lint')
      stub = await startStub(upstreamPacket)
      api = await startLiveCluster()
    })
    afterAll(async () => {
      asker.close()
      await stub?.close()
      await api?.stop()
      state?.release()
    })

    /** Starts CoreDNS on one side of an example: its port 53 becomes a free one, its upstream the stub, its cluster the real API. */
    async function start(example: LintExample, side: Side): Promise<{process: CorednsProcess; port: number}> {
      const [port = 0] = await freePorts(1)
      const folder = join(state.path, `${example.id}-${side}`)
      const {parse} = optionsOf(example, side)
      for (const [path, bytes] of parse?.files ?? []) {
        const target = join(folder, path.slice('/etc/coredns/'.length))
        mkdirSync(dirname(target), {recursive: true})
        writeFileSync(target, bytes)
      }
      mkdirSync(folder, {recursive: true})
      const text = corefileOf(example, side)
        .replace(/:53(?=[\s{,]|$)/gm, `:${port}`)
        .replace(/192\.0\.2\.53/g, `127.0.0.1:${stub.port}`)
        .replace(/(kubernetes [^\n]*\{)/g, `$1\n        kubeconfig ${api.kubeconfig}`)
      const binary = parts[example.version === '1.11.3' ? 'coredns-1.11.3' : 'coredns-1.14.7']
      const env = typeof example.env === 'object' ? example.env : {}
      const guard = (child: Parameters<StateFolder['guard']>[0]): void => state.guard(child)
      const process = await startCoredns({binary, folder, name: side, corefile: bytesOf(text), env, guard, port})
      return {process, port}
    }

    async function ask(example: LintExample, side: Side): Promise<string> {
      const [name = '', type = ''] = (example.observed.ask ?? '').split(' ')
      const {process, port} = await start(example, side)
      try {
        if (!process.serving) return `not serving: ${process.output()}`
        const reply = await asker.ask({name, type, edns: false, tcp: false}, port, example.observed.at, 1500)
        return compact(reply, `${name}. ${type}`)
      } finally {
        await process.stop()
      }
    }

    const observable = lintExamples.filter(({observed}) => observed.unobserved === undefined)

    async function refuses(example: LintExample): Promise<void> {
      const failing = await start(example, 'failing')
      await failing.process.stop()
      expect(failing.process.serving, failing.process.output()).toBe(false)
      expect(failing.process.output()).toContain(example.observed.refused)
      const passing = await start(example, 'passing')
      await passing.process.stop()
      expect(passing.process.serving, passing.process.output()).toBe(true)
    }

    async function answersDiffer(example: LintExample): Promise<void> {
      const answers = {failing: await ask(example, 'failing'), passing: await ask(example, 'passing')}
      expect(answers).toEqual({failing: example.observed.failing, passing: example.observed.passing})
    }

    async function logs(example: LintExample): Promise<void> {
      const failing = await start(example, 'failing')
      await failing.process.stop()
      const passing = await start(example, 'passing')
      await passing.process.stop()
      const wanted = (port: number): string => (example.observed.log ?? '').replace(/:53$/, `:${port}`)
      expect(failing.process.output()).toContain(wanted(failing.port))
      expect(passing.process.output()).not.toContain(wanted(passing.port))
    }

    const kinds = [
      ['is refused at the start', 'refused', refuses],
      ['is answered as the table says', 'ask', answersDiffer],
      ['shows in the log', 'log', logs],
    ] as const

    for (const [what, key, check] of kinds) {
      const examples = observable.filter(({observed}) => observed[key] !== undefined)
      test.each(examples.map((example) => [example.id, example] as const))(`%s ${what}`, (_, example) => check(example))
    }

    test('what cannot be observed says why', () => {
      const silent = lintExamples.filter(({observed}) => Object.keys(observed).length === 0)
      expect(silent).toEqual([])
      const told = kinds.flatMap(([, key]) => observable.filter(({observed}) => observed[key] !== undefined))
      expect(told).toHaveLength(observable.length)
      console.log(`lint examples: ${observable.length} of ${lintExamples.length} observed on real CoreDNS`)
    })
  },
)
