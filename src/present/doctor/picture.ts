import type {DoctorReport, Hop, WayIn} from '../../model/doctor.ts'
import {printable} from '../table.ts'

/** Columns where nothing tells how wide the reader's page is. */
const standardWidth = 80
const arrow = ' ─> '
/** Short enough for six hops in 80 columns. */
const labels: Readonly<Partial<Record<Hop['at'], string>>> = {'service-proxy': 'service', application: 'app'}

export interface PictureOptions {
  /** Columns of the terminal; undefined in a pipe. */
  readonly columns?: number | undefined
  readonly color: boolean
}

/** What stands below the name of a hop. */
export function hopWord(hop: Hop): string {
  if (hop.lost) return '✗ lost'
  const word = {kept: 'kept', translated: 'translated', carried: 'carried', unknown: '?'}[hop.source]
  return hop.grade === 'unconfirmed' && hop.source !== 'unknown' ? `${word}?` : word
}

/** Every way in; ports of one Service that fare alike share a picture. */
export function drawWays(ways: readonly WayIn[], options: PictureOptions): string[] {
  const groups = new Map<string, WayIn[]>()
  for (const way of ways) {
    const {id: _id, port: _port, ...same} = way
    const key = JSON.stringify(same)
    groups.set(key, [...(groups.get(key) ?? []), way])
  }
  return [...groups.values()].map(([first, ...others]) => drawWay(first!, options, others))
}

/**
 * One way in as a person sees it: head line, hops from left to right with what each does to the address, then both verdicts. Nothing
 * is wider than the terminal, or than 80 columns, unless a single name is; hops that do not fit go on in the next row.
 */
function drawWay(way: WayIn, options: PictureOptions, alike: readonly WayIn[]): string {
  const width = Math.max(40, Math.min(options.columns ?? standardWidth, 120))
  const lines = [
    ...wrap(headOf(way, alike), width, '  '),
    ...drawHops(way.hops, width - 2, options.color).map((line) => `  ${line}`),
    ...verdictLines('outside', way.outside, width, options.color),
    ...verdictLines('hairpin', way.hairpin, width, options.color),
    ...(way.after === undefined
      ? []
      : [
          `  after ${way.after.for}:`,
          ...verdictLines('outside', way.after.outside, width, options.color),
          ...verdictLines('hairpin', way.after.hairpin, width, options.color),
          ...way.after.breaks.flatMap((text) => wrap(printable(`breaks: ${text}`), width, '            ', '    ')),
        ]),
  ]
  return lines.map((line) => `${line.trimEnd()}\n`).join('')
}

function headOf({namespace, service, addresses, hosts, ...way}: WayIn, alike: readonly WayIn[]): string {
  const shown = hosts.slice(0, 3).join(', ')
  const ports = [way, ...alike].map(({port, protocol}) => `${port}/${protocol}`).join(' ')
  const more = hosts.length > 3 ? ` and ${hosts.length - 3} more` : ''
  return printable(
    [`service/${namespace}/${service} ${ports}`, addresses.join(' '), `${shown}${more}`].filter(Boolean).join('  '),
  )
}

function drawHops(hops: readonly Hop[], width: number, color: boolean): string[] {
  const cells = hops.map((hop) => {
    const texts = [
      labels[hop.at] ?? hop.at,
      hop.name === hop.at ? '' : printable(hop.name),
      hop.at === 'client' ? '' : hopWord(hop),
    ]
    return {hop, texts, size: Math.max(...texts.map((text) => [...text].length))}
  })
  const rows: (typeof cells)[] = []
  let used = Infinity
  for (const cell of cells) {
    const row = rows.at(-1)
    if (row === undefined || used + arrow.length + cell.size > width) {
      rows.push([cell])
      used = (rows.length === 1 ? 0 : arrow.length) + cell.size
    } else {
      row.push(cell)
      used += arrow.length + cell.size
    }
  }
  return rows.flatMap((row, at) => {
    const first = at === 0 ? '' : arrow
    const line = (which: number): string =>
      row
        .map(({hop, texts, size}, index) => {
          const text = texts[which]!
          const padded = text + ' '.repeat(size - [...text].length)
          const joint = index > 0 ? arrow : first
          return (
            (which === 0 ? joint : ' '.repeat(joint.length)) +
            (which === 2 ? tint(padded, wordColour(hop), color) : padded)
          )
        })
        .join('')
    return [0, 1, 2].map(line).filter((text) => text.trim() !== '')
  })
}

function wordColour(hop: Hop): string {
  return hop.lost ? '31' : hop.source === 'unknown' ? '33' : hop.source === 'translated' ? '33' : '32'
}

const verdictColours = {
  broken: '31',
  'half-broken': '31',
  fine: '32',
  'not-needed': '32',
  depends: '33',
  unknown: '33',
} as const

function verdictLines(name: string, {verdict, why, check}: WayIn['outside'], width: number, color: boolean): string[] {
  const indent = ' '.repeat(11)
  const lines = wrap(printable(`${verdict}: ${why}`), width, indent, `  ${name.padEnd(8)} `)
  return [
    ...lines.map((line, at) =>
      at === 0 ? line.replace(verdict, tint(verdict, verdictColours[verdict], color)) : line,
    ),
    ...(check === undefined ? [] : wrap(printable(`settle it: ${check}`), width, indent, indent)),
  ]
}

function tint(text: string, colour: string, color: boolean): string {
  return color ? `\u001b[${colour}m${text}\u001b[0m` : text
}

/** Breaks a line at spaces; `indent` stands before the following lines, `first` before the first. */
function wrap(text: string, width: number, indent: string, first = ''): string[] {
  const lines: string[] = []
  let line = first
  let isEmpty = true
  for (const word of text.split(' ').filter(Boolean)) {
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line)
      line = `${indent}${word}`
    } else line = isEmpty ? `${line}${word}` : `${line} ${word}`
    isEmpty = false
  }
  return [...lines, line]
}

/** What a person wants to know first: how many ways in are broken. */
export function summary(report: DoctorReport): string {
  const all = report.paths.length
  if (all === 0) return 'no way in: no Service of type LoadBalancer or NodePort or with externalIPs was read'
  const of = (which: 'outside' | 'hairpin', words: readonly string[]): number =>
    report.paths.filter((path) => words.includes(path[which].verdict)).length
  const bad = ['broken', 'half-broken']
  const open = ['depends', 'unknown']
  const part = (which: 'outside' | 'hairpin'): string =>
    `${which}: ${all - of(which, bad) - of(which, open)} fine, ${of(which, bad)} broken, ${of(which, open)} open`
  return `${all} ${all === 1 ? 'way' : 'ways'} in; ${part('outside')}; ${part('hairpin')}`
}
