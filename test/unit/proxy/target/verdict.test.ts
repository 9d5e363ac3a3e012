import {describe, expect, test} from 'vitest'
import {probeRequest, probeSender, readOutcome} from '../../../../src/proxy/target/probe-bytes.ts'
import {causeFor, isFit, judge, unprobed} from '../../../../src/proxy/target/verdict.ts'

const text = (content: string) => Buffer.from(content, 'latin1')
const hex = (content: string) => Buffer.from(content, 'hex')

describe('outcome of a probe', () => {
  test.each([
    ['http', text('HTTP/1.1 404 Not Found\r\n'), 'bytes', 'answer'],
    ['http', text('HTTP/1.1 400 Bad Request\r\n'), 'bytes', 'rejected'],
    ['http', text('HTTP/1.0 200 OK'), 'closed', 'answer'],
    ['http', text('SSH-2.0-OpenSSH'), 'bytes', 'unclear'],
    ['http', text(''), 'closed', 'cut'],
    ['http', text(''), 'time', 'mute'],
    ['http', text(''), 'no-connection', 'unreachable'],
    ['tls', hex('160303007a020000'), 'bytes', 'answer'],
    // A server that does not like the name has read the hello; one that does not understand has not.
    ['tls', hex('15030300020270'), 'bytes', 'answer'],
    ['tls', hex('15030300020228'), 'bytes', 'answer'],
    ['tls', hex('15030100020246'), 'bytes', 'rejected'],
    ['tls', hex('1503010002020a'), 'bytes', 'rejected'],
    ['tls', text('HTTP/1.1 400 Bad Request'), 'bytes', 'rejected'],
    ['tls', text(''), 'closed', 'cut'],
    ['tcp', text(''), 'time', 'answer'],
    ['tcp', text('220 hello'), 'bytes', 'answer'],
    ['tcp', text(''), 'closed', 'cut'],
    ['tcp', text(''), 'no-connection', 'unreachable'],
  ] as const)('%s %s, %s: %s', (kind, bytes, end, wanted) => {
    expect(readOutcome(kind, {bytes, end})).toBe(wanted)
  })
})

describe('the mark in a probe', () => {
  const instance = '0123456789abcdef0123'

  test.each(['http', 'tls'] as const)('%s: is found, also behind a header and with a host name', (kind) => {
    for (const host of ['', 'shop.example.org']) {
      const bytes = probeRequest(kind, instance, host, Buffer.alloc(64, 7))
      expect(probeSender(bytes)).toBe(instance)
      expect(probeSender(Buffer.concat([text('PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n'), bytes]))).toBe(instance)
      if (host) expect(bytes.includes(host)).toBe(true)
    }
  })

  test('other first bytes have none', () => {
    expect(probeSender(text('GET / HTTP/1.1\r\nHost: shop.example.org\r\n\r\n'))).toBeUndefined()
    expect(probeSender(Buffer.alloc(0))).toBeUndefined()
  })
})

describe('verdict', () => {
  const header = {verdict: 'header', failures: 0, cause: undefined} as const
  const plain = {verdict: 'plain', failures: 0, cause: undefined} as const

  test.each([
    ['strict receiver', unprobed, 'answer', undefined, 'header'],
    ['plain receiver', unprobed, 'rejected', 'answer', 'plain'],
    ['plain receiver that only closes', unprobed, 'cut', 'answer', 'plain'],
    ['tolerant receiver', plain, 'answer', undefined, 'header'],
    ['plain receiver asked without a header', plain, undefined, 'answer', 'plain'],
    ['nobody answers', unprobed, 'cut', 'cut', 'unknown'],
    ['ambiguous', unprobed, 'rejected', 'cut', 'unknown'],
    ['was strict, now nobody is there', header, 'unreachable', undefined, 'header'],
    ['was strict, ambiguous', header, 'rejected', 'rejected', 'header'],
    ['was plain, silent', plain, 'mute', 'mute', 'plain'],
    ['bare answer after a connection that failed', header, 'unreachable', 'answer', 'header'],
  ] as const)('%s', (_, before, withHeader, bare, wanted) => {
    expect(judge(before, withHeader, bare).verdict).toBe(wanted)
  })

  test('one probe that errs changes nothing at all, the second one says why', () => {
    const once = judge(header, 'unreachable', undefined)
    expect(once).toEqual({...header, failures: 1})
    expect(isFit('always', once)).toBe(true)
    const twice = judge(once, 'unreachable', undefined)
    expect(twice).toEqual({verdict: 'header', failures: 2, cause: 'target-unreachable'})
    expect(isFit('always', twice)).toBe(false)
    expect(judge(twice, 'answer', undefined)).toEqual(header)
  })

  test('always needs a receiver that takes the header, auto one that answers', () => {
    expect(causeFor('always', plain)).toBe('header-refused')
    expect(causeFor('auto', plain)).toBeUndefined()
    expect(causeFor('always', header)).toBeUndefined()
    expect(causeFor('auto', unprobed)).toBe('not-probed')
  })

  test.each([
    ['target-cuts', 'cut', 'cut'],
    ['target-mute', 'mute', 'mute'],
    ['answer-unclear', 'rejected', 'rejected'],
    ['target-unreachable', 'unreachable', undefined],
  ] as const)('%s', (cause, withHeader, bare) => {
    expect(judge(unprobed, withHeader, bare).cause).toBe(cause)
  })
})
