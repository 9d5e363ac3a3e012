import {expect, test} from 'vitest'
import {readDns} from '../../../src/diagnosis/dns-view.ts'
import {indexSnapshot} from '../../../src/model/snapshot.ts'
import {doctorCases, doctorObjects, snapshotOf} from '../../support/doctor-cases.ts'

const cases = Object.entries(doctorCases()).filter(([, one]) => one.dns !== undefined)

/** The objects of this case do not say the port that its platform uses. */
const portUnsaid = new Set(['dns-openshift'])

test.each(cases)('%s: cluster DNS is where the specialist says', (name, one) => {
  const {location, problem} = readDns(indexSnapshot(snapshotOf(doctorObjects(name, one), one.hidden)))
  const {file, port} = one.dns!
  if (typeof file !== 'string') {
    expect(location).toBeUndefined()
    expect(problem).toContain('different Corefiles')
    return
  }
  expect(location === undefined ? 'none' : `${location.namespace}/${location.corefile.configMap}`).toBe(file)
  if (port !== undefined && !portUnsaid.has(name)) expect(location?.dnsPort).toBe(port)
})
