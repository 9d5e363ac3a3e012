import fc from 'fast-check'
import {afterEach, expect, test, vi} from 'vitest'
import {layoutTable, printableJson, printableLines} from '../../../src/present/table.ts'
import {createEventSink} from '../../../src/present/progress.ts'

const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/

afterEach(() => vi.restoreAllMocks())

test('a message keeps its lines and tabs, and nothing else of it reaches the terminal', () => {
  expect(printableLines('a\tb\n\u001b[31mred\u009b2J\u202e\u{e0041}')).toBe(
    'a\tb\n\\x1b[31mred\\x9b2J\\u202e\\u{e0041}',
  )
  fc.assert(
    fc.property(fc.string({unit: 'binary'}), (text) => {
      expect(printableLines(text)).not.toMatch(steering)
    }),
  )
})

test('a line as long as a hostile file is cut, and says so', () => {
  expect(printableLines(`${'x'.repeat(1_000_000)}\nend`)).toBe(`${'x'.repeat(4000)} ... (996000 more characters)\nend`)
})

test('JSON on a terminal is the same document and steers nothing', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string({unit: 'binary'}), (value, text) => {
      const json = printableJson(JSON.stringify({value, text}, null, 2))
      expect(json).not.toMatch(steering)
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify({value, text})))
    }),
  )
})

test('a table of half a million rows is laid out', () => {
  const rows = Array.from({length: 500_000}, () => ['a', 'b'])
  expect(layoutTable(['A', 'B'], rows).length).toBe(500_001 * 6)
})

test.each([true, false])('events of hostile text cannot steer the terminal, colour %s', (color) => {
  const lines: string[] = []
  vi.spyOn(process.stderr, 'write').mockImplementation((line) => (lines.push(String(line)), true))
  const {sink} = createEventSink({target: undefined, color})
  const text = '\u001b[2J\u009b31m\n\u202e'
  sink({type: 'step-started', step: 's', title: text})
  sink({type: 'step-progress', step: 's', message: text})
  sink({type: 'step-done', step: 's', title: text, changed: true, detail: text})
  sink({type: 'step-failed', step: 's', title: text, reason: text})
  sink({type: 'warning', message: text})
  sink({type: 'info', message: text})
  expect(lines).toHaveLength(6)
  for (const line of lines) {
    expect(line.replaceAll(/\u001b\[(?:0|31|32|33)m/g, '').replace(/\n$/, '')).not.toMatch(
      /[\u0000-\u001f\u0080-\u009f\u202e]/,
    )
    expect(line).toContain('\\x1b[2J\\x9b31m\\x0a\\u202e')
  }
})
