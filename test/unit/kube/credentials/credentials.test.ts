import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, expect, test} from 'vitest'
import {resources, systemClock} from '../../../../src/kube/index.ts'
import type {ClusterConfig} from '../../../../src/kube/index.ts'
import {testAuthority} from '../../../support/certificates.ts'
import {FakeApiServer, sendStatus} from '../../../support/fake-api-server.ts'
import type {Fault} from '../../../support/fake-api-server.ts'
import {KubeStage, corednsMap} from '../../../support/kube-stage.ts'

const stage = new KubeStage()

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kube-credentials-'))
})
afterEach(async () => rm(folder, {recursive: true}))

const authority = testAuthority('ca')
const serving = authority.issue('kube', ['127.0.0.1', 'kube.example.org'])

async function secure(): Promise<Partial<ClusterConfig>> {
  await stage.replaceServer(new FakeApiServer({tls: {...serving, ca: authority.cert, requestCert: true}}))
  return {server: stage.server.url, certificateAuthority: {data: Buffer.from(authority.cert)}}
}

/** 401 unless this token comes. */
const wants =
  (token: string): Fault =>
  (request, response) => {
    if (request.headers.authorization === `Bearer ${token}`) return false
    sendStatus(response, 401, {reason: 'Unauthorized'})
    return true
  }

test('nothing is sent to a plain http server, as with kubectl', async () => {
  await stage.connect({user: {token: 'secret'}}).get(resources.configMaps, corednsMap)
  expect(stage.server.requests[0]?.headers.authorization).toBeUndefined()
})

test('a token, a password', async () => {
  const tls = await secure()
  await stage.connect({...tls, user: {token: 'abc\n'}}).get(resources.configMaps, corednsMap)
  await stage.connect({...tls, user: {username: 'u', password: 'p:q'}}).get(resources.configMaps, corednsMap)
  expect(stage.server.requests.map(({headers}) => headers.authorization)).toEqual([
    'Bearer abc',
    `Basic ${Buffer.from('u:p:q').toString('base64')}`,
  ])
  await expect(
    stage.connect({...tls, user: {token: 'a\nb: c'}}).get(resources.configMaps, corednsMap),
  ).rejects.toMatchObject({
    exitCode: 2,
  })
})

test('a token file is read again after a 401 at once, and a 401 that stays is told', async () => {
  const tls = await secure()
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 'one\n')
  const reading = stage.connect({...tls, user: {tokenFile}})
  stage.server.faults.push(wants('one'))
  await reading.get(resources.configMaps, corednsMap)
  stage.server.faults.splice(0, 1, wants('two'))
  await writeFile(tokenFile, 'two')
  await reading.get(resources.configMaps, corednsMap)
  expect(stage.server.requests).toHaveLength(3)
  stage.server.faults.splice(0, 1, wants('three'))
  await expect(reading.get(resources.configMaps, corednsMap)).rejects.toMatchObject({status: 401, exitCode: 31})
  expect(stage.server.requests).toHaveLength(4)
})

test('fault 7, 15: a token file is read again after 10 s of the monotonic clock, and the last token kept when it is gone', async () => {
  const tls = await secure()
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 'one')
  let ahead = 0
  const clock = {...systemClock, now: () => systemClock.now() + ahead, wall: () => 0}
  const reading = stage.connect({...tls, user: {tokenFile}}, {clock})
  const sent = async (): Promise<string | undefined> => {
    await reading.get(resources.configMaps, corednsMap)
    return stage.server.requests.at(-1)?.headers.authorization
  }
  expect(await sent()).toBe('Bearer one')
  await writeFile(tokenFile, 'two')
  ahead = 9000
  expect(await sent()).toBe('Bearer one')
  ahead = 10_500
  expect(await sent()).toBe('Bearer two')
  await rm(tokenFile)
  ahead = 30_000
  expect(await sent()).toBe('Bearer two')
  await expect(stage.connect({...tls, user: {tokenFile}}).get(resources.configMaps, corednsMap)).rejects.toMatchObject({
    exitCode: 31,
    object: tokenFile,
  })
})

test('client certificates, by file and inline', async () => {
  const tls = await secure()
  const own = authority.issue('jane', [])
  let subject: unknown
  stage.server.faults.push((_, response) => {
    subject = (response.socket as unknown as {getPeerCertificate(): {subject?: {CN: string}}}).getPeerCertificate()
      .subject?.CN
    return false
  })
  await writeFile(join(folder, 'cert'), own.cert)
  await writeFile(join(folder, 'key'), own.key)
  await stage
    .connect({
      ...tls,
      user: {clientCertificate: {file: join(folder, 'cert')}, clientKey: {file: join(folder, 'key')}},
    })
    .get(resources.configMaps, corednsMap)
  expect(subject).toBe('jane')
  subject = undefined
  await stage
    .connect({
      ...tls,
      user: {clientCertificate: {data: Buffer.from(own.cert)}, clientKey: {data: Buffer.from(own.key)}},
    })
    .get(resources.configMaps, corednsMap)
  expect(subject).toBe('jane')
  const broken = stage.connect({
    ...tls,
    user: {clientCertificate: {data: Buffer.from('no pem')}, clientKey: {data: Buffer.from('x')}},
  })
  await expect(broken.get(resources.configMaps, corednsMap)).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining('not usable'),
  })
})

test('an authority that did not sign, a name that does not fit, and no verification', async () => {
  const tls = await secure()
  const other = testAuthority('other')
  await expect(
    stage
      .connect({...tls, certificateAuthority: {data: Buffer.from(other.cert)}})
      .get(resources.configMaps, corednsMap),
  ).rejects.toMatchObject({
    exitCode: 30,
    message: expect.stringContaining('signed by an unknown authority'),
    hints: expect.arrayContaining([expect.stringContaining('--certificate-authority')]),
  })
  await expect(
    stage.connect({...tls, tlsServerName: 'wrong.example.org'}).get(resources.configMaps, corednsMap),
  ).rejects.toMatchObject({
    message: expect.stringContaining('for another name'),
  })
  await stage.connect({...tls, tlsServerName: 'kube.example.org'}).get(resources.configMaps, corednsMap)
  await stage.connect({server: stage.server.url, insecureSkipTlsVerify: true}).get(resources.configMaps, corednsMap)
  await expect(stage.connect({server: stage.server.url}).get(resources.configMaps, corednsMap)).rejects.toMatchObject({
    exitCode: 30,
  })
  await expect(
    stage
      .connect({...tls, certificateAuthority: {file: join(folder, 'missing')}})
      .get(resources.configMaps, corednsMap),
  ).rejects.toMatchObject({exitCode: 2})
})

test('fault 15: a rotated CA file is used for new connections within a minute', async () => {
  await secure()
  const caFile = join(folder, 'ca.crt')
  await writeFile(caFile, authority.cert)
  let ahead = 0
  const clock = {...systemClock, now: () => systemClock.now() + ahead}
  const following = stage.connect({server: stage.server.url, certificateAuthority: {file: caFile}}, {clock})
  await following.get(resources.configMaps, corednsMap)
  const next = testAuthority('next')
  const port = stage.server.port
  await writeFile(caFile, next.cert)
  await stage.replaceServer(new FakeApiServer({tls: next.issue('kube', ['127.0.0.1'])}), port)
  await expect(following.get(resources.configMaps, corednsMap)).rejects.toMatchObject({exitCode: 30})
  ahead = 61_000
  await following.get(resources.configMaps, corednsMap)
  expect(stage.server.requests).toHaveLength(1)
})

test('no failure shows a secret', async () => {
  const tls = await secure()
  stage.server.faults.push((_, response) => (sendStatus(response, 401), true))
  for (const user of [{token: 'tok-secret'}, {username: 'u', password: 'pass-secret'}]) {
    const error: unknown = await stage
      .connect({...tls, user})
      .get(resources.configMaps, corednsMap)
      .catch((reason: unknown) => reason)
    expect(`${String(error)} ${JSON.stringify(error)} ${(error as Error).stack ?? ''}`).not.toMatch(/-secret|cGFzcy/)
  }
})
