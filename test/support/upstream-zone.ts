import type {Packet} from 'dns-packet'
import type {DnsMessage, DnsRecord, Question} from '../../plugins/coredns/src/index.ts'

const soa: DnsRecord = {
  name: 'example.net.',
  type: 'SOA',
  ttl: 60,
  target: 'ns.example.net.',
  data: 'host.example.net. 1 60 60 60 60',
}

/** What the name server behind `forward` says: a few names with ways of their own, an address for all others. */
export function upstreamSays(question: Question): DnsMessage {
  const name = question.name.toLowerCase()
  const reply = (rcode: string, answer: DnsRecord[] = [], authority: DnsRecord[] = []): DnsMessage => ({
    rcode,
    question,
    answer,
    authority,
    additional: [],
  })
  const record = (data: string, type = question.type): DnsRecord => ({name: question.name, type, ttl: 60, data})
  const label = name.split('.')[0] ?? ''
  if (label === 'gone' || label === 'org' || label === 'com') return reply('NXDOMAIN', [], [soa])
  if (label === 'empty') return reply('NOERROR', [], [soa])
  if (label === 'broken') return reply('SERVFAIL')
  if (label === 'refused') return reply('REFUSED')
  if (label === 'alias' || label === 'foo') {
    const alias: DnsRecord = {name: question.name, type: 'CNAME', ttl: 60, target: 'app.example.net.', data: ''}
    return reply(
      'NOERROR',
      question.type === 'A' ? [alias, {name: 'app.example.net.', type: 'A', ttl: 60, data: '203.0.113.9'}] : [alias],
    )
  }
  switch (question.type) {
    case 'A':
      return reply('NOERROR', [record(`203.0.113.${(name.length % 200) + 1}`)])
    case 'AAAA':
      return reply('NOERROR', [record(`2001:db8::${((name.length % 200) + 1).toString(16)}`)])
    case 'TXT':
      return reply('NOERROR', [record(`upstream ${name}`)])
    case 'MX':
      return reply('NOERROR', [{...record('10'), target: 'mail.example.net.'}])
    default:
      return reply('NOERROR', [], [soa])
  }
}

/** The same as a packet. */
export function upstreamPacket(question: {name: string; type: string}): Partial<Packet> {
  const said = upstreamSays({...question, class: 'IN'})
  const codes = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED']
  const bare = (name: string): string => (name === '.' ? '.' : name.replace(/\.$/, ''))
  const records = (list: readonly DnsRecord[]): unknown[] =>
    list.map(({name, type, ttl, target, data}) => {
      const base = {name: bare(name), type, ttl, class: 'IN'}
      if (type === 'MX') return {...base, data: {preference: 10, exchange: bare(target ?? '')}}
      if (type === 'SOA') {
        return {
          ...base,
          data: {
            mname: bare(target ?? ''),
            rname: 'host.example.net',
            serial: 1,
            refresh: 60,
            retry: 60,
            expire: 60,
            minimum: 60,
          },
        }
      }
      return {...base, data: target === undefined ? (type === 'TXT' ? [data] : data) : bare(target)}
    })
  return {
    flags: codes.indexOf(said.rcode),
    answers: records(said.answer),
    authorities: records(said.authority),
  } as Partial<Packet>
}
