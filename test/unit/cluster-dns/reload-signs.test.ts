import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {readReloadLog, readReloadMetrics} from '../../../src/cluster-dns/reload-signs.ts'

describe('reload metrics', () => {
  it('reads counter and hash', () => {
    const text = [
      '# TYPE coredns_reload_failed_total counter',
      'coredns_reload_failed_total 2',
      'coredns_reload_version_info{hash="sha512",value="AB12"} 1',
    ].join('\n')
    expect(readReloadMetrics(text)).toEqual({failedTotal: 2, hash: 'ab12'})
  })

  it('takes the series that is 1', () => {
    const text =
      'coredns_reload_version_info{hash="sha512",value="aa"} 0\ncoredns_reload_version_info{hash="sha512",value="bb"} 1\n'
    expect(readReloadMetrics(text)).toEqual({hash: 'bb'})
  })

  it('finds nothing in anything else, and never throws', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const {hash, failedTotal} = readReloadMetrics(`coredns_reload_failed_total${text}`)
        return hash === undefined && (failedTotal === undefined || Number.isFinite(failedTotal))
      }),
    )
  })
})

describe('reload log', () => {
  it('forgets errors from before the last good reload', () => {
    const log = [
      '[ERROR] Restart failed: x',
      '[INFO] plugin/reload: Running configuration SHA512 = aa',
      '[WARNING] plugin/reload: Corefile parse failed: /etc/coredns/Corefile:3 - Error',
      '[ERROR] plugin/reload: Corefile changed but reload failed: plugin/cache: bad',
    ].join('\n')
    expect(readReloadLog(log)).toEqual({
      hashes: ['aa'],
      errors: [expect.stringContaining('parse failed'), expect.stringContaining('reload failed')],
    })
  })

  it('does not take other warnings for evidence', () => {
    expect(
      readReloadLog(
        '[WARNING] No files matching import glob pattern: /x/*.override\n[ERROR] plugin/errors: 2 a.example. A: timeout',
      ),
    ).toEqual({hashes: [], errors: []})
  })
})
