import {afterAll, beforeAll, expect, test} from 'vitest'
import type {DnsRecord, Simulation} from '../../plugins/coredns/src/index.ts'
import {checkSetup, compileServer, parseCorefile, parseVersion, simulateOn} from '../../plugins/coredns/src/index.ts'
import {freePorts, startCoredns} from '../support/coredns-process.ts'
import {
  DnsAsker,
  startStub,
  type StubServer,
  type WireQuestion,
  type WireRecord,
  type WireReply,
} from '../support/dns-exchange.ts'
import {startLiveCluster} from '../support/live-cluster.ts'
import {propertySeed} from '../support/property-seed.ts'
import {cluster, simulatorCase, type SimulatorCase} from '../support/simulator-cases.ts'
import {upstreamPacket, upstreamSays} from '../support/upstream-zone.ts'
import {API_SERVER_PARTS, type ApiServer} from './bed/index.ts'
import {stateFolder, type StateFolder} from './bed/state-folder.ts'
import {describeWithParts} from './bed/suite.ts'

/** SRCIP_SEED and SRCIP_CASES replay, vary or shorten a run: the printed seed gives the same cases again. */
const seed = propertySeed
const wanted = Number(process.env['SRCIP_CASES'] ?? 2000)
/** Questions a Corefile is asked, and Corefiles that share a process (each on a port of its own). */
const questionsEach = 10
const together = 24

const versions = ['1.14.7', '1.11.3'] as const

const sorted = (records: readonly WireRecord[]): string[] =>
  records.map(({name, type, data}) => `${name} ${type} ${data}`).sort()

function wireRecord({name, type, target, data}: DnsRecord): WireRecord {
  if (type === 'SRV') return {name, type, data: `${target ?? ''} ${data.split(' ')[2] ?? ''}`}
  return {name, type, data: target ?? (type === 'HINFO' ? '' : data)}
}

/** What is compared of a predicted and of a real reply. */
function comparable(reply: WireReply): unknown {
  return {
    rcode: reply.rcode,
    question: reply.question,
    answer: sorted(reply.answer),
    authority: sorted(reply.authority),
  }
}

function predicted({reply}: Simulation): WireReply | undefined {
  if (reply === undefined) return undefined
  const records = (list: readonly DnsRecord[]): WireRecord[] => list.filter(({type}) => type !== 'OPT').map(wireRecord)
  const {name, type} = reply.question
  return {
    rcode: reply.rcode,
    question: {name, type},
    answer: records(reply.answer),
    authority: records(reply.authority),
  }
}

await describeWithParts(
  'the simulator and real CoreDNS',
  ['coredns-1.14.7', 'coredns-1.11.3', ...API_SERVER_PARTS],
  (parts) => {
    let api: ApiServer
    let stub: StubServer
    let state: StateFolder
    const asker = new DnsAsker()
    const differences: {about: string; ours: unknown; theirs: unknown}[] = []
    beforeAll(async () => {
      state = stateFolder('agreement')
      stub = await startStub(upstreamPacket)
      api = await startLiveCluster()
    })
    afterAll(async () => {
      asker.close()
      await stub?.close()
      await api?.stop()
      state?.release()
    })

    test(
      `agree on ${wanted} questions, each put to both versions (SRCIP_SEED=${seed})`,
      {timeout: 300_000},
      async () => {
        const counts = {pairs: 0, corefiles: 0, unknown: 0, endless: 0, unloadable: 0}
        const seen: Record<string, number> = {}
        for (let number = 0; counts.pairs < wanted && number < wanted; number += together) {
          // The versions run side by side: CoreDNS shares ports with whoever else wants them, so each gets its own.
          const ports = await freePorts(together * versions.length)
          const agreed = await Promise.all(
            versions.map((version, turn) =>
              compareAll(version, number, ports.slice(turn * together, (turn + 1) * together)),
            ),
          )
          counts.corefiles += agreed[0]?.corefiles ?? 0
          counts.unloadable += together - (agreed[0]?.corefiles ?? 0)
          for (const outcome of agreed[0]?.outcomes ?? []) {
            if (outcome === 'unknown' || outcome === 'endless') counts[outcome] += 1
            else {
              counts.pairs += 1
              seen[outcome] = (seen[outcome] ?? 0) + 1
            }
          }
        }
        console.log(`simulator agreement: seed ${seed} ${JSON.stringify(counts)} ${JSON.stringify(seen)}`)
        for (const {about, ours, theirs} of differences.slice(0, 3)) expect(ours, about).toEqual(theirs)
        expect(differences).toHaveLength(0)
        expect(counts.pairs).toBeGreaterThanOrEqual(wanted)
        expect(counts.unknown).toBeLessThan(wanted / 10)
      },
    )

    function parsedFor(version: string, corefile: string) {
      const read = parseVersion(version)
      if (read === undefined) throw new Error(`no version: ${version}`)
      return parseCorefile(new TextEncoder().encode(corefile), {version: read})
    }

    /** Starts one version on all Corefiles of a batch and compares every answer. Out: what came of each question. */
    async function compareAll(version: (typeof versions)[number], number: number, ports: readonly number[]) {
      const cases = ports.map((port, index) => ({
        ...simulatorCase(seed, number + index, {
          port,
          stub: stub.port,
          kubeconfig: api.kubeconfig,
          questions: questionsEach,
        }),
        port,
      }))
      // Refused by one version, left out for both, so that the pairs stay the same.
      const used = cases.filter(({corefile}) =>
        versions.every((text) => checkSetup(parsedFor(text, corefile)).errors.length === 0),
      )
      const corefile = used.map((one) => one.corefile).join('')
      const server = compileServer(parsedFor(version, corefile))
      if (server === undefined)
        throw new Error(`SRCIP_SEED=${seed}: the simulator cannot load case ${number}\n${corefile}`)
      const world = {
        cluster,
        hostsFiles: new Map([['/nowhere/hosts', '']]),
        upstream: (_: unknown, question: {name: string; type: string; class: string}) => upstreamSays(question),
      }
      const process = await startCoredns({
        binary: parts[`coredns-${version}`],
        folder: state.path,
        name: `${version}-${number}`,
        corefile,
        guard: (child) => state.guard(child),
      })
      try {
        expect(process.serving, `SRCIP_SEED=${seed} ${version}\n${process.output()}\n${corefile}`).toBe(true)
        const jobs = used.flatMap((one) => one.questions.map((question) => ({one, question})))
        const outcomes: string[] = []
        const work = async (): Promise<void> => {
          for (let job = jobs.shift(); job !== undefined; job = jobs.shift())
            outcomes.push(await compareOne(job.one, job.question))
        }
        await Promise.all(Array.from({length: 8}, work))
        return {outcomes, corefiles: used.length}
      } finally {
        await process.stop()
      }

      async function compareOne(one: SimulatorCase & {port: number}, question: WireQuestion): Promise<string> {
        if (server === undefined) return 'unknown'
        const simulation = simulateOn(
          server,
          {
            name: question.name,
            type: question.type,
            edns: question.edns,
            client: '127.0.0.1',
            proto: question.tcp ? 'tcp' : 'udp',
            listener: {address: '127.0.0.1', port: String(one.port)},
          },
          world,
        )
        if (simulation.endless !== undefined) return 'endless'
        const told = predicted(simulation)
        if (told === undefined) return 'unknown'
        const reply = await asker.ask(question, one.port)
        const about = `SRCIP_SEED=${seed} CoreDNS ${version}: ${question.name} ${question.type}${question.edns ? ' +edns' : ''}\n${one.corefile}\n${process.running() ? '' : process.output().slice(-2000)}`
        if (reply === undefined || JSON.stringify(comparable(reply)) !== JSON.stringify(comparable(told))) {
          differences.push({
            about,
            ours: comparable(told),
            theirs: reply === undefined ? 'no answer' : comparable(reply),
          })
        }
        return told.rcode
      }
    }
  },
)
