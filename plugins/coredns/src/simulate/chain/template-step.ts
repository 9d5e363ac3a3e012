import type {TemplateStanza} from '../../setup/plugins/template.ts'
import {isSubdomain, longestZone, questionName} from '../dns-name.ts'
import {executeTemplate} from '../go-template.ts'
import type {DnsRecord} from '../message.ts'
import {optRecord, replyTo} from '../message.ts'
import {recordOf} from '../record-text.ts'
import type {Run, Step} from '../run.ts'
import {AnswerUnknown} from '../run.ts'

/** The `template` plugin of a block: its stanzas are tried in file order. Source: plugin/template/template.go. */
export function templateStep(stanzas: readonly TemplateStanza[]): Step {
  const [first] = stanzas
  return {
    plugin: 'template',
    line: first?.line ?? 0,
    file: first?.file ?? '',
    serve: (run, write, request, next) => {
      const {question} = request
      const name = questionName(question.name)
      if (!stanzas.some((stanza) => longestZone(stanza.zones, name) !== undefined)) return next(write, request)
      for (const stanza of stanzas) {
        const zone = longestZone(stanza.zones, name)
        if (zone === undefined) continue
        if (stanza.class !== 'ANY' && question.class !== 'ANY' && question.class !== stanza.class) continue
        if (stanza.type !== 'ANY' && question.type !== 'ANY' && question.type !== stanza.type) continue
        const found = findPattern(stanza, name)
        if (found === undefined) {
          if (stanza.fallthrough.some((through) => isSubdomain(through, name))) continue
          run.claim({
            plugin: 'template',
            file: stanza.file,
            line: stanza.line,
            why: `zone ${zone}, no pattern matches, no fallthrough`,
          })
          return 'SERVFAIL'
        }
        run.claim({
          plugin: 'template',
          file: stanza.file,
          line: stanza.line,
          why: `zone ${zone}, pattern ${found.source}`,
        })
        if (stanza.rcode === 'SERVFAIL') return 'SERVFAIL'
        const data = {
          Zone: zone,
          Name: name,
          Regex: found.source,
          Match: found.groups,
          Group: found.named,
          Class: question.class === 'ANY' ? stanza.class : question.class,
          Type: question.type === 'ANY' ? stanza.type : question.type,
          Remote: run.client.address,
          QuestionName: question.name,
        }
        const make = (text: string): DnsRecord | undefined => recordOf(executeTemplate(text, data))
        const answer: DnsRecord[] = []
        for (const text of stanza.answers) {
          const record = make(text)
          if (record === undefined) return failed(run)
          answer.push(record)
          if (record.type !== 'CNAME' || record.target === undefined || !['A', 'AAAA'].includes(question.type)) continue
          const more = run.lookup(record.target, question.type, request.edns, `template, line ${stanza.line}`)
          if (more !== undefined) answer.push(...more.answer)
        }
        const additional = stanza.additional.map(make)
        const authority = stanza.authority.map(make)
        if ([...additional, ...authority].includes(undefined)) return failed(run)
        const known = (records: readonly (DnsRecord | undefined)[]) => records.filter((record) => record !== undefined)
        write(
          replyTo(request, stanza.rcode, {
            answer,
            authority: known(authority),
            additional: [...known(additional), ...(stanza.ederror ? [optRecord] : [])],
          }),
        )
        return stanza.rcode
      }
      return next(write, request)
    },
  }
}

/** A record text that is no record. */
function failed(run: Run): string {
  run.fault.raised = true
  return 'SERVFAIL'
}

function findPattern(
  stanza: TemplateStanza,
  name: string,
): {source: string; groups: readonly string[]; named: ReadonlyMap<string, string>} | undefined {
  for (const {source, regex} of stanza.patterns) {
    if (regex === undefined) throw new AnswerUnknown(`pattern ${source} of template cannot be judged`)
    const groups = regex.find(name)
    if (groups === null) continue
    const named = new Map(groups.map((group, index) => [String(index), group]))
    for (const [index, group] of groups.entries()) {
      const label = regex.names[index] ?? ''
      if (label !== '') named.set(label, group)
    }
    return {source, groups, named}
  }
  return undefined
}
