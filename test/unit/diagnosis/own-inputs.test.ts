import {fileURLToPath} from 'node:url'
import {describe, expect, test} from 'vitest'
import {diagnose} from '../../../src/diagnosis/diagnose.ts'
import {readSnapshotFiles} from '../../../src/kube/index.ts'
import {indexSnapshot} from '../../../src/model/snapshot.ts'

const report = async (name: string) => {
  const file = fileURLToPath(new URL(`../../cases/${name}/objects.yaml`, import.meta.url))
  return diagnose(indexSnapshot(await readSnapshotFiles([file])), {for: 'enable'})
}

/** Bare objects, as people attach them to a ticket: nodes, pods and classes are missing. */
describe('inputs of cases as they came', () => {
  test('B45: hostNetwork, passthrough, no balancer: 127.0.0.1 is the loop of the controller, and PROXY would shut everybody out', async () => {
    const {paths, findings} = await report('B45-ssl-passthrough-and-proxy-protocol')
    const [http, https] = paths
    expect(https).toMatchObject({port: 443, outside: {verdict: 'broken'}, lostAt: 'receiver'})
    expect(https?.outside.why).toContain('from 127.0.0.1')
    expect(http).toMatchObject({port: 80, after: {outside: {verdict: 'broken'}}})
    expect(http?.after?.outside.why).toContain('sends none: nobody gets in')
    const loop = findings.find(({id}) => id === 'SRC025')
    expect(loop?.remedies.map(({id}) => id)).toEqual(['second-controller'])
    expect(loop?.remedies[0]?.text).toContain('put a sender of PROXY in front')
  })

  test('B47: each status shape; two families of one balancer are told apart', async () => {
    const {paths, findings} = await report('B47-ipmode-and-hostname-status')
    const hairpin = (service: string) => paths.find((way) => way.service === service && way.port === 443)?.hairpin
    // nobody sees whether the receiver insists on a header: what pods meet depends on that, where they bypass the balancer
    for (const name of ['vip-default', 'vip-stated']) {
      expect(hairpin(name)).toMatchObject({verdict: 'depends'})
      expect(hairpin(name)?.why).toContain('pods bypass the balancer and come without a header')
    }
    expect(hairpin('hostname')).toMatchObject({verdict: 'not-needed'})
    expect(findings.find(({object}) => object === 'service/ingress-nginx/hostname')).toBeDefined()
    expect(findings.some(({title}) => title === 'public names must lead to lb.example.org')).toBe(true)
    expect(hairpin('mixed')?.why).toMatch(/calls to IPv6 2001:db8::63 stay inside|pods bypass/)
    expect(paths.find(({service}) => service === 'plain')?.outside.verdict).toBe('fine')
  })
})
