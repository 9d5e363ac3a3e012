import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {
  applyEdits,
  markerTexts,
  parseCorefile,
  type EditRequest,
  type ParsedCorefile,
  type WantedHost,
} from '../../../plugins/coredns/src/index.ts'
import {corefileCase} from '../../support/corefile-generator.ts'
import {target, text, planEdit, planRemoval} from './edit-support.ts'

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9_-]{0,5}[a-z0-9])?$/)
const names = fc.array(label, {minLength: 2, maxLength: 4}).map((labels) => labels.join('.'))
const host = fc.record({name: names, wild: fc.boolean()}).map(({name, wild}): WantedHost => {
  return wild ? {name: `*.${name}`, kind: 'wildcard-one-label', target} : {name, kind: 'exact', target}
})
/** Mostly a few hosts, sometimes more than have lines of their own. */
const hosts = fc.oneof(
  {weight: 4, arbitrary: fc.array(host, {minLength: 1, maxLength: 5})},
  {weight: 1, arbitrary: fc.array(host, {minLength: 101, maxLength: 130})},
)

/** A file in one of the shapes that editors and platforms leave behind, always one that CoreDNS loads. */
const corefiles = fc
  .record({
    bom: fc.boolean(),
    eols: fc.array(fc.constantFrom('\n', '\r\n'), {minLength: 1, maxLength: 3}),
    indent: fc.constantFrom('    ', '\t', '  ', ' \t', ''),
    header: fc.constantFrom(
      '.:53 {',
      '. {',
      '.:53 { # {',
      '".:53" {',
      'dns://.:53 {',
      '.:53|{',
      'a.b:53 .:53 {',
      '. { errors',
    ),
    before: fc.constantFrom('', '# note', '(s) {|  log|}|', 'corp.example {|  forward . 192.0.2.1|}'),
    body: fc.array(
      fc.constantFrom(
        '',
        '# a comment',
        'ready',
        'log . {|  class error  |}',
        'rewrite name x.example y.example  # mine',
        'loop',
      ),
      {maxLength: 6},
    ),
    behind: fc.constantFrom('', '|', '||# end', '|z.example {|  whoami|}', '|  '),
  })
  .map(({bom, eols, indent, header, before, body, behind}) => {
    const once = body.filter((line, index) => !['ready', 'loop'].includes(line) || body.indexOf(line) === index)
    const inner = [...once, 'reload']
      .map((line) =>
        line
          .split('|')
          .map((part) => indent + part)
          .join('|'),
      )
      .join('|')
    const lines = `${before}${before === '' ? '' : '|'}${header}|${inner}|}${behind}`.split('|')
    const joined = lines
      .map((line, index) => (index === lines.length - 1 ? line : line + eols[index % eols.length]))
      .join('')
    return new TextEncoder().encode((bom ? '\ufeff' : '') + joined)
  })

function after(request: EditRequest): Uint8Array {
  const plan = planEdit(request)
  expect(plan.refusal).toBeUndefined()
  const change = plan.files.find(({file}) => file === '')
  const edited = (change?.after as Uint8Array | undefined) ?? request.corefile
  // The edits alone lead to the same bytes.
  expect(
    Buffer.compare(
      applyEdits(
        request.corefile,
        plan.edits.filter(({file}) => file === ''),
      ),
      edited,
    ),
  ).toBe(0)
  return edited
}

const shape = ({blocks, snippets}: ParsedCorefile): unknown => [
  blocks.map(({keys, directives}) => [
    keys,
    directives.map(({tokens}) => tokens.map(({raw}) => raw).join(' ')).filter((line) => !line.includes(`${target}.`)),
  ]),
  snippets.map(({name, tokens}) => [name, tokens.map(({raw}) => raw)]),
]

describe('for any file that CoreDNS loads', () => {
  test('apply and remove give the same bytes back, twice is once, the order of hosts does not matter', () => {
    fc.assert(
      fc.property(corefiles, hosts, (corefile, wanted) => {
        const request = {corefile, hosts: wanted, wildcards: true}
        const edited = after(request)
        expect(Buffer.compare(edited, corefile)).not.toBe(0)
        expect(Buffer.compare(after({...request, corefile: edited}), edited)).toBe(0)
        expect(Buffer.compare(after({...request, hosts: wanted.toReversed()}), edited)).toBe(0)
        expect(text(after({corefile: edited, hosts: [], allowEmpty: true}))).toBe(text(corefile))
      }),
      {numRuns: 300},
    )
  })

  test('only whole lines of ours come, all other bytes stay', () => {
    fc.assert(
      fc.property(corefiles, hosts, (corefile, wanted) => {
        const {edits} = planEdit({corefile, hosts: wanted, wildcards: true})
        for (const {removed, inserted, offset} of edits) {
          expect(removed).toBe('')
          expect(offset === 0 || corefile[offset - 1] === 0x0a).toBe(true)
          for (const line of inserted.split(/\r?\n/)) {
            const trimmed = line.trim()
            const marker = trimmed === markerTexts.srcip.begin || trimmed === markerTexts.srcip.end
            expect(
              trimmed === '' || marker || /^rewrite name (exact|regex) \S+ \S+\.( answer auto)?$/.test(trimmed),
            ).toBe(true)
            expect(line).toBe(line.trimEnd())
          }
        }
      }),
      {numRuns: 200},
    )
  })

  test('from any set to any other is the same as from nothing', () => {
    fc.assert(
      fc.property(corefiles, hosts, hosts, (corefile, first, second) => {
        const direct = after({corefile, hosts: second, wildcards: true})
        const detour = after({
          corefile: after({corefile, hosts: first, wildcards: true}),
          hosts: second,
          wildcards: true,
        })
        expect(text(detour)).toBe(text(direct))
      }),
      {numRuns: 200},
    )
  })

  test('with the markers gone our lines are found again', () => {
    fc.assert(
      fc.property(corefiles, hosts, (corefile, wanted) => {
        const request = {hosts: wanted, wildcards: true}
        const edited = after({...request, corefile})
        const stripped = Buffer.from(text(edited).replaceAll(/^[ \t]*# === (BEGIN|END) srcip.*\r?\n/gm, ''))
        expect(text(after({...request, corefile: stripped}))).toBe(text(edited))
        const {files} = planRemoval({corefile: stripped, targets: [target]})
        expect(text(files[0]?.after as Uint8Array)).toBe(text(corefile))
      }),
      {numRuns: 200},
    )
  })

  test('a damaged marker never loses a line of anybody else, repaired or not', () => {
    const damage = fc.record({line: fc.nat(), how: fc.constantFrom('drop', 'double', 'swap', 'cut')})
    fc.assert(
      fc.property(corefiles, fc.array(damage, {minLength: 1, maxLength: 2}), (corefile, damages) => {
        const edited = text(after({corefile, hosts: [{name: 'a.b.c', kind: 'exact', target}]}))
        const lines = edited.split('\n')
        for (const {line, how} of damages) {
          const marked = lines.flatMap((one, index) => (one.includes('=== ') ? [index] : []))
          const at = marked[line % marked.length]
          if (at === undefined) continue
          const old = lines[at] as string
          if (how === 'drop') lines.splice(at, 1)
          else if (how === 'double') lines.splice(at, 0, old)
          else if (how === 'cut') lines[at] = old.replace(' ===', '')
          else
            lines[at] = old.includes('BEGIN')
              ? old.replace(/#.*===/, markerTexts.srcip.end)
              : old.replace(/#.*===/, markerTexts.srcip.begin)
        }
        const broken = new TextEncoder().encode(lines.join('\n'))
        const before = shape(parseCorefile(corefile))
        for (const repair of [false, true]) {
          const plan = planEdit({corefile: broken, hosts: [{name: 'd.e.f', kind: 'exact', target}], repair})
          if (plan.refusal) {
            expect([repair, plan.refusal.code]).toEqual([false, 'MarkersDamaged'])
            continue
          }
          const result = plan.files[0]?.after as Uint8Array
          expect(shape(parseCorefile(result))).toEqual(before)
          const rules = text(result).match(/rewrite name exact \S+ srcip-proxy/g)
          expect(rules).toEqual(['rewrite name exact d.e.f srcip-proxy'])
        }
      }),
      {numRuns: 300},
    )
  })
})

test('broken, odd and generated files are refused or edited without harm, never worse', () => {
  const counts = {refused: 0, taken: 0, hosts: 0}
  fc.assert(
    fc.property(fc.nat(), fc.nat({max: 100_000}), (seed, index) => {
      const {corefile, files, env} = corefileCase(seed, index)
      const parse = {
        files: new Map([...files].map(([path, bytes]) => [`/etc/coredns/${path}`, bytes])),
        env: {known: new Map([...env, ['HERE', '/etc/coredns']]), others: 'unset'},
      } as const
      const plan = planEdit({corefile, parse, hosts: [{name: 'app.shop.example', kind: 'exact', target}]})
      if (plan.refusal) {
        counts.refused++
        expect(plan.files).toEqual([])
        return
      }
      if (plan.taken.length === 0) {
        counts.hosts++
        return
      }
      counts.taken++
      const edited = plan.files[0]?.after as Uint8Array
      expect(shape(parseCorefile(edited, parse))).toEqual(shape(parseCorefile(corefile, parse)))
      const back = planRemoval({corefile: edited, parse, targets: [target]})
      expect(back.refusal).toBeUndefined()
      expect(Buffer.compare(back.files[0]?.after as Uint8Array, corefile)).toBe(0)
    }),
    {numRuns: 2000},
  )
  expect(counts.taken).toBeGreaterThan(50)
  expect(counts.refused).toBeGreaterThan(50)
})
