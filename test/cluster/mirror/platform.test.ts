import {cpSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {mirror, run} from './command.ts'
import {chart, image, missingAt, multiArch, push, type Document} from './images.ts'
import {describeWith} from './parts.ts'
import {Registries, type TestRegistry} from './registries.ts'

const release = fileURLToPath(new URL('../../cases/cozystack-release', import.meta.url))
const folder = 'packages/system/ouroboros'

/** Modes of the chart, as its values name them. */
const modes = [
  ['--set', 'ouroboros.controller.mode=coredns'],
  ['--set', 'ouroboros.controller.mode=coredns-import'],
  ['--set', 'ouroboros.controller.mode=external-dns'],
  ['--set', 'ouroboros.etcHosts.enabled=true'],
]

await describeWith('a Cozystack release', ['registry-3', 'registry-2.8', 'helm'], (parts) => {
  const registries = new Registries()
  const main = multiArch('ouroboros')
  const kubectl = image('kubectl')
  const at = (name: string) => join(registries.path, name)
  let source: TestRegistry
  let target: TestRegistry
  let pack: Document
  let map: string[]
  const lock = () => at('release.lock.yaml')

  beforeAll(async () => {
    ;[source, target] = await Promise.all([
      registries.start(parts['registry-2.8']),
      registries.start(parts['registry-3']),
    ])
    const home = join(release, folder, 'charts/ouroboros')
    const files = Object.fromEntries(
      readdirSync(home, {recursive: true, encoding: 'utf8'})
        .filter((name) => /\.(yaml|tpl)$/.test(name))
        .map((name) => [name, readFileSync(join(home, name), 'utf8')]),
    )
    pack = chart('ouroboros', '0.8.1', files)
    await push(source.host, 'lexfrei/ouroboros', main, ['0.8.1'])
    await push(source.host, 'lexfrei/charts/ouroboros', pack, ['0.8.1'])
    await push(source.host, 'alpine/kubectl', kubectl, ['1.36.1'])
    cpSync(release, at('release'), {recursive: true})
    const zero = `sha256:${'0'.repeat(64)}`
    for (const [name, digest] of [
      ['Makefile', pack.digest],
      ['values.yaml', main.digest],
    ] as const) {
      const path = at(`release/${folder}/${name}`)
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll(zero, digest))
    }
    map = ['--source-map', `ghcr.io=${source.host}`, '--source-map', `mirror.gcr.io=${source.host}`]
  })
  afterAll(() => registries.stop())

  /** Every `image:` that Helm renders in every mode, hooks included. */
  async function rendered(values: readonly string[] = []): Promise<Set<string>> {
    const images = new Set<string>()
    for (const mode of modes) {
      const text = await run(parts.helm, ['template', 'x', at(`release/${folder}`), ...mode, ...values], {
        HOME: registries.path,
      })
      if (text.code !== 0) throw new Error(text.stderr)
      for (const [, reference = ''] of text.stdout.matchAll(/image:\s*"?([^"\s]+)"?\s*$/gm)) images.add(reference)
    }
    return images
  }

  test('the plan holds the chart by digest and every image that Helm renders in any mode', async () => {
    const planned = await mirror(
      ['plan', '--cozystack', at('release'), '--no-own', ...map, '--output-file', lock(), '-o', 'json'],
      [source.host],
    )
    expect(planned).toMatchObject({exitCode: 0})
    const {items} = JSON.parse(planned.stdout) as {
      items: {role: string; source: string; tag?: string; digest: string; foundIn: string[]}[]
    }
    expect(items.map(({role, source: from, tag, digest}) => [role, from, tag, digest])).toEqual([
      ['chart', 'ghcr.io/lexfrei/charts/ouroboros', '0.8.1', pack.digest],
      ['image', 'ghcr.io/lexfrei/ouroboros', '0.8.1', main.digest],
      ['image', 'mirror.gcr.io/alpine/kubectl', '1.36.1', kubectl.digest],
    ])
    const images = await rendered()
    expect(images.size).toBe(2)
    for (const reference of images) {
      const [name = '', digest] = reference.split('@')
      expect(
        items.some((item) => `${item.source}:${item.tag}` === name && (digest === undefined || digest === item.digest)),
        reference,
      ).toBe(true)
    }
  })

  test('copied and with the printed values, Helm renders nothing but the mirror, every image by digest', async () => {
    expect(
      await mirror(
        ['copy', '--plan-file', lock(), ...map, '--to', `${target.host}/site`, '--layout', 'host-prefix'],
        [source.host, target.host],
      ),
    ).toMatchObject({exitCode: 0})
    for (const [name, content] of [
      ['ghcr.io/lexfrei/ouroboros', main],
      ['ghcr.io/lexfrei/charts/ouroboros', pack],
      ['mirror.gcr.io/alpine/kubectl', kubectl],
    ] as const)
      expect(await missingAt(target.host, `site/${name}`, content)).toEqual([])
    const overlay = at('mirror-values.yaml')
    expect(
      await mirror([
        'values',
        '--cozystack',
        at('release'),
        '--plan-file',
        lock(),
        '--to',
        `${target.host}/site`,
        '--layout',
        'host-prefix',
        '--pull-secret-name',
        'mirror-login',
        '--output-file',
        overlay,
      ]),
    ).toMatchObject({exitCode: 0})
    const images = await rendered(['-f', overlay])
    expect([...images].sort()).toEqual([
      `${target.host}/site/ghcr.io/lexfrei/ouroboros:0.8.1@${main.digest}`,
      `${target.host}/site/mirror.gcr.io/alpine/kubectl:1.36.1@${kubectl.digest}`,
    ])
    const again = await mirror([
      'values',
      '-f',
      overlay,
      '--plan-file',
      lock(),
      '--to',
      `${target.host}/site`,
      '--layout',
      'host-prefix',
      '--values-in',
      overlay,
      '-o',
      'diff',
    ])
    expect(again.stdout).toBe('')
  })

  test('values says what Helm makes of it in every mode, and ends with 22 where an image is not the mirror’s', async () => {
    const values = (chart: string, more: readonly string[] = []) =>
      mirror(
        [
          'values',
          ...more,
          '--plan-file',
          lock(),
          '--to',
          `${target.host}/site`,
          '--layout',
          'host-prefix',
          '-o',
          'json',
        ],
        [],
        {HELM_BIN: chart},
      )
    const good = await values(parts.helm, ['--cozystack', at('release')])
    expect(good).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/rendered by helm in \d+ modes, hooks included/),
    })
    const without = await values('/nonexistent/helm', ['--cozystack', at('release')])
    expect(without).toMatchObject({exitCode: 0, stderr: expect.stringContaining('not rendered (helm is not on PATH)')})
    // A template that writes one image out, in one mode only: no value moves it.
    cpSync(at(`release/${folder}/charts/ouroboros`), at('stubborn'), {recursive: true})
    writeFileSync(
      at('stubborn/templates/extra.yaml'),
      '{{ if eq .Values.controller.mode "coredns-import" }}\napiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containers:\n    - name: a\n      image: {{ printf "%s/%s" "docker.io" "library/busybox:1" }}\n{{ end }}\n',
    )
    writeFileSync(at('tagged.yaml'), `image: {tag: "0.8.1@${main.digest}"}\n`)
    const stubborn = await values(parts.helm, ['-f', at('stubborn'), '--values', at('tagged.yaml')])
    expect(stubborn).toMatchObject({exitCode: 22})
    expect(JSON.parse(stubborn.stdout)).toMatchObject({
      warnings: expect.arrayContaining([
        "helm renders docker.io/library/busybox:1 (controller.mode=coredns-import), which is not the mirror's",
      ]),
    })
  })

  test('a chart that is not in the checkout is read from its registry, by the digest of the Makefile', async () => {
    rmSync(at(`release/${folder}/charts`), {recursive: true})
    const planned = await mirror(
      ['plan', '--cozystack', at('release'), '--no-own', ...map, '-o', 'name'],
      [source.host],
    )
    expect(planned.stdout.split('\n')).toHaveLength(4)
  })

  test('this product itself is named when its place is given, and missed aloud when it is not', async () => {
    const silent = await mirror(['plan', '--cozystack', at('release'), ...map], [source.host])
    expect(silent.stderr).toContain('the image of srcip itself is not planned')
    writeFileSync(
      at('own.yaml'),
      `srcip:\n  image: {repository: ghcr.io/lexfrei/ouroboros, digest: "${main.digest}"}\n`,
    )
    const named = await mirror(['plan', '--own', '--values', at('own.yaml'), ...map, '-o', 'name'], [source.host])
    expect(named.stdout).toBe(`ghcr.io/lexfrei/ouroboros@${main.digest}\n`)
  })

  test('a folder that is no release is a usage error with a hint', async () => {
    expect(await mirror(['plan', '--cozystack', registries.path])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('holds packages/system'),
    })
  })
})
