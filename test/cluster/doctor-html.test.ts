import {spawn} from 'node:child_process'
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import WebSocket from 'ws'
import {diagnose} from '../../src/diagnosis/diagnose.ts'
import {indexSnapshot} from '../../src/model/snapshot.ts'
import {doctorHtml} from '../../src/present/doctor/html.ts'
import {doctorCases, doctorObjects, snapshotOf} from '../support/doctor-cases.ts'
import {describeWithParts} from './bed/index.ts'

/** What a page says about itself once it is laid out. */
interface Seen {
  readonly title: string
  readonly text: string
  readonly lost: number
  readonly overflow: number
  readonly requests: number
}

await describeWithParts('doctor -o html in Chromium', ['chromium'], ({chromium}) => {
  const folder = mkdtempSync(join(tmpdir(), 'srcip-html-'))
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser(chromium, folder)
  })
  afterAll(async () => {
    await browser?.stop()
    rmSync(folder, {recursive: true, force: true, maxRetries: 5})
  })

  const show = async (name: string, width: number): Promise<Seen> => {
    const html = doctorHtml(
      diagnose(indexSnapshot(snapshotOf(doctorObjects(name, doctorCases()[name]!))), {for: 'enable'}),
    )
    const file = join(folder, `${name}.html`)
    writeFileSync(file, html)
    return browser.look(`file://${file}`, width)
  }

  test.each([1200, 400])('fits a page of %d pixels, shows picture and findings, loads nothing', async (width) => {
    for (const name of [
      'ic-nginx-passthrough-proxy',
      'lb-aws-lbc-instance-cluster',
      'lb-hetzner-proxy',
      'bad-no-ingress',
    ]) {
      const seen = await show(name, width)
      expect(seen.title).toBe('kubectl srcip doctor')
      expect(seen.overflow, `${name} is wider than the page`).toBe(0)
      expect(seen.requests, `${name} loads something`).toBe(0)
    }
  })

  test('the hop that loses the address is marked, and the verdicts are there to read', async () => {
    const seen = await show('lb-metallb-l2-cluster', 1000)
    expect(seen.lost).toBe(2)
    expect(seen.text).toContain('✗ lost')
    expect(seen.text).toMatch(/outside\s+broken/)
    expect(seen.text).toContain('What to do, cheapest first:')
  })
})

interface Browser {
  look(url: string, width: number): Promise<Seen>
  stop(): Promise<void>
}

/** Chromium over its DevTools protocol: looking at a page needs no script in it. */
async function startBrowser(program: string, folder: string): Promise<Browser> {
  const child = spawn(
    program,
    [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'],
      ...[`--user-data-dir=${join(folder, 'profile')}`, '--remote-debugging-port=0', 'about:blank'],
    ],
    {stdio: ['ignore', 'ignore', 'pipe']},
  )
  const address = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const found = /DevTools listening on (ws:\S+)/.exec(text)
      if (found !== null) resolve(found[1]!)
    })
    child.once('exit', () => reject(new Error(`chromium ended: ${text.slice(-1000)}`)))
  })
  const socket = new WebSocket(address)
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const waiting = new Map<number, (result: Record<string, never>) => void>()
  let last = 0
  socket.on('message', (data: Buffer) => {
    const {id, result} = JSON.parse(data.toString()) as {id?: number; result?: Record<string, never>}
    if (id !== undefined) waiting.get(id)?.(result ?? {})
  })
  const call = (method: string, params: object, sessionId?: string): Promise<Record<string, never>> => {
    const id = ++last
    return new Promise((resolve) => {
      waiting.set(id, resolve)
      socket.send(JSON.stringify({id, method, params, ...(sessionId === undefined ? {} : {sessionId})}))
    })
  }
  const expression = `JSON.stringify({
    ready: document.readyState,
    title: document.title,
    text: document.body.innerText,
    lost: document.querySelectorAll('.hop.lost').length,
    overflow: Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth),
    requests: performance.getEntriesByType('resource').length,
  })`
  return {
    async look(url, width) {
      const {targetId} = await call('Target.createTarget', {url: 'about:blank'})
      const {sessionId} = await call('Target.attachToTarget', {targetId, flatten: true})
      await call(
        'Emulation.setDeviceMetricsOverride',
        {width, height: 900, deviceScaleFactor: 1, mobile: false},
        sessionId,
      )
      await call('Page.navigate', {url}, sessionId)
      for (;;) {
        const answer = await call('Runtime.evaluate', {expression}, sessionId)
        const {value} = (answer['result'] ?? {}) as {value?: string}
        const seen = JSON.parse(value ?? '{}') as Seen & {ready?: string}
        if (seen.ready === 'complete' && seen.title !== '') return seen
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
    async stop() {
      await Promise.race([call('Browser.close', {}), new Promise((resolve) => setTimeout(resolve, 3000))])
      socket.terminate()
      child.kill('SIGKILL')
    },
  }
}
