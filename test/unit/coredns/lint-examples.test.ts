import {describe, expect, test} from 'vitest'
import {lint, lintRules} from '../../../plugins/coredns/src/index.ts'
import {bytesOf, corefileOf, lintExamples, optionsOf} from '../../support/lint-examples.ts'

describe('the table of lint rules', () => {
  test('every rule has its example, and no example is of an unknown rule', () => {
    expect(lintExamples.map(({id}) => id).sort()).toEqual(Object.keys(lintRules).sort())
  })

  describe.each(lintExamples.map((example) => [example.id, example] as const))('%s', (id, example) => {
    const findings = (side: 'failing' | 'passing') =>
      lint(bytesOf(corefileOf(example, side)), optionsOf(example, side)).findings

    test('the failing example raises exactly this rule, with a place, a message and a remedy', () => {
      const raised = findings('failing')
      expect([...new Set(raised.map((finding) => finding.id))], JSON.stringify(raised, null, 1)).toEqual([id])
      for (const {message, remedy, line} of raised) {
        expect(message.length).toBeGreaterThan(10)
        expect(remedy.length).toBeGreaterThan(5)
        expect(line).toBeGreaterThanOrEqual(0)
      }
    })

    test('the passing example raises none', () => {
      expect(findings('passing')).toEqual([])
    })
  })
})
