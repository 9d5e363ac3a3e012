import type {DnsMessage, DnsRecord} from './message.ts'
import type {ZoneStep} from './server.ts'
import type {Simulation} from './simulate.ts'
import type {RuleTrace} from './trace.ts'

/**
 * In: a simulation, the keys of the file's blocks. Out: lines for a person: who takes the query, what every rule did,
 * which plugin claims the name, what comes back, and what is not known. Plain text, no colours.
 */
export function explain(
  simulation: Simulation,
  blocks: readonly {readonly keys: readonly string[]; readonly line: number}[],
): string[] {
  const {question, listener, notes, alternatives} = simulation
  const lines = [
    row('question', `${question.name} ${question.type}${question.class === 'IN' ? '' : ` ${question.class}`}`),
  ]
  if (listener !== undefined) {
    lines.push(
      row('listener', `${listener.transport}://${listener.address === '' ? '*' : listener.address}:${listener.port}`),
    )
  }
  lines.push(...simulation.zones.map((step) => row('zone', zoneText(step, blocks))))
  lines.push(row('block', blockText(simulation, blocks)))
  lines.push(
    ...simulation.rules.filter(({outcome}) => outcome !== 'passed').map((trace) => row('rule', ruleText(trace))),
  )
  const passed = simulation.rules.filter(({outcome}) => outcome === 'passed').length
  if (passed > 0) lines.push(row('rule', `${passed} more ${passed === 1 ? 'rule does' : 'rules do'} not match`))
  const {seen, owner, claimedBy} = simulation
  if (seen !== null && seen.name !== question.name)
    lines.push(row('asks for', `${seen.name} ${seen.type}; a record found comes back as ${owner ?? 'unknown'}`))
  if (claimedBy !== undefined) lines.push(row('taken by', `${claimedBy.plugin}, ${at(claimedBy)}: ${claimedBy.why}`))
  lines.push(...replyText(simulation))
  lines.push(...notes.map((note) => row('note', note)))
  for (const alternative of alternatives) {
    lines.push(row('or', `if ${alternative.when}:`))
    lines.push(...explain(alternative, blocks).map((line) => `    ${line}`))
  }
  return lines
}

function row(label: string, text: string): string {
  return `${label.padEnd(10)}${text}`
}

function at({file, line}: {readonly file: string; readonly line: number}): string {
  return file === '' ? `line ${line}` : `${file} line ${line}`
}

function blockName(
  index: number,
  blocks: readonly {readonly keys: readonly string[]; readonly line: number}[],
): string {
  const block = blocks[index]
  return block === undefined ? `number ${index}` : `${block.keys.join(' ')} (line ${block.line})`
}

function zoneText(step: ZoneStep, blocks: Parameters<typeof explain>[1]): string {
  const words = {
    taken: 'takes the query',
    'view-false': 'its view says no',
    'view-unknown': 'its view cannot be judged',
    'no-handler': 'has no plugin that answers',
    'kept-for-ds': 'kept, a parent is looked for (DS)',
  }
  return `${step.zone}: ${step.blocks.map(({block, verdict}) => `${blockName(block, blocks)} ${words[verdict]}`).join('; ')}`
}

function blockText(simulation: Simulation, blocks: Parameters<typeof explain>[1]): string {
  if (simulation.block !== null) return blockName(simulation.block, blocks)
  return simulation.listener === undefined ? 'none' : 'none: REFUSED'
}

function ruleText(trace: RuleTrace): string {
  const {rule, before, after, outcome, stopped, shadowed} = trace
  const head = `${at(rule)}: ${rule.text}`
  const change =
    before.name === after.name ? `${before.type} becomes ${after.type}` : `${before.name} becomes ${after.name}`
  switch (outcome) {
    case 'rewrote':
      return `${head} | ${change}${stopped ? ', ends the list' : ', the list goes on'}`
    case 'matched':
      return `${head} | works on the reply${stopped ? ', ends the list' : ', the list goes on'}`
    case 'illegal':
      return `${head} | makes ${JSON.stringify(after.name)}, which is no domain name: SERVFAIL`
    case 'unknown':
      return `${head} | cannot be judged`
    case 'unreached':
      return `${head} | not reached${shadowed === true ? ', though it matches the name: an earlier rule shadows it' : ''}`
    default:
      return `${head} | does not match`
  }
}

function replyText(simulation: Simulation): string[] {
  const {reply, unknown, endless, question} = simulation
  if (endless !== undefined)
    return [row('reply', `none: CoreDNS asks itself without end and dies of it: ${endless.join(' -> ')}`)]
  if (reply === undefined) return [row('reply', `not known: ${unknown ?? ''}`)]
  const lines = [row('reply', reply.rcode)]
  if (reply.question.name !== question.name || reply.question.type !== question.type) {
    lines.push(
      row(
        '',
        `the reply asks ${reply.question.name} ${reply.question.type}, which is not the question: clients drop it`,
      ),
    )
  }
  const sections: readonly (readonly [string, DnsMessage['answer']])[] = [
    ['', reply.answer],
    ['authority: ', reply.authority],
  ]
  for (const [label, records] of sections) lines.push(...records.map((record) => row('', label + recordText(record))))
  return lines
}

function recordText({name, type, ttl, target, data}: DnsRecord): string {
  return `${name} ${ttl} ${type} ${[type === 'SOA' ? target : data, type === 'SOA' ? data : target].filter((part) => part !== undefined && part !== '').join(' ')}`
}
