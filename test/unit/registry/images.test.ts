import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {parse} from 'yaml'
import {chart as chartArchive} from '../../cluster/mirror/images.ts'
import {makeVariables} from '../../../src/registry/images/cozystack.ts'
import {readPackagedChart, searchChart} from '../../../src/registry/images/chart.ts'
import {readList} from '../../../src/registry/images/input.ts'
import {findImages, formatPath, type TextValue} from '../../../src/registry/images/shapes.ts'
import {parseTextValues} from '../../../src/registry/images/values-text.ts'
import {editValues, overlayText, readPrefix, rewriteImages} from '../../../src/registry/mirror/values.ts'
import {compareVersions, newestVersion, readVersion} from '../../../src/registry/plan/versions.ts'
import {parseTarget} from '../../../src/registry/reference.ts'

const digest = `sha256:${'ab'.repeat(32)}`
const values = async (text: string) => (await parseTextValues(text, 'test'))[0] as TextValue
const found = async (text: string, options = {}) =>
  findImages(await values(text), options).images.map(({path, reference}) => [formatPath(path), reference])

describe('shapes of images in values', () => {
  test.each([
    ['repository and tag', 'image:\n  repository: ghcr.io/a/b\n  tag: 1.36\n', [['image', 'ghcr.io/a/b:1.36']]],
    [
      'a digest inside the tag',
      `image:\n  repository: ghcr.io/a/b\n  tag: 1.0@${digest}\n`,
      [['image', `ghcr.io/a/b:1.0@${digest}`]],
    ],
    [
      'registry, repository, tag',
      'image:\n  registry: quay.io\n  repository: a/b\n  tag: "2"\n',
      [['image', 'quay.io/a/b:2']],
    ],
    [
      'registry, repository, digest',
      `image: {registry: quay.io, repository: a/b, tag: x, digest: "${digest}"}`,
      [['image', `quay.io/a/b:x@${digest}`]],
    ],
    [
      'sha without its algorithm',
      `image: {repository: quay.io/a/b, tag: x, sha: ${'ab'.repeat(32)}}`,
      [['image', `quay.io/a/b:x@${digest}`]],
    ],
    ['one string', `image: quay.io/a/b:1@${digest}`, [['image', `quay.io/a/b:1@${digest}`]]],
    ['a key that ends in Image', 'sidecarImage: quay.io/a/b:1', [['sidecarImage', 'quay.io/a/b:1']]],
    ['image and tag beside each other', 'proxy: {image: quay.io/a/b, tag: v1}', [['proxy', 'quay.io/a/b:v1']]],
    [
      'kustomize',
      `images: [{name: app, newName: quay.io/a/b, digest: "${digest}"}, {name: quay.io/c/d, newTag: "1"}]`,
      [
        ['images[0]', `quay.io/a/b@${digest}`],
        ['images[1]', 'quay.io/c/d:1'],
      ],
    ],
    [
      'hooks in any depth',
      'a: {b: {cleanupHookImage: {repository: mirror.gcr.io/alpine/kubectl, tag: "1.36.1", pullPolicy: Always}}}',
      [['a.b.cleanupHookImage', 'mirror.gcr.io/alpine/kubectl:1.36.1']],
    ],
    [
      'a container of a manifest',
      'spec: {containers: [{name: app, image: "docker.io/library/nginx:1"}]}',
      [['spec.containers[0].image', 'docker.io/library/nginx:1']],
    ],
    ['a name without a host', 'image: nginx:1.27', [['image', 'nginx:1.27']]],
    [
      'nothing that is none',
      'chart: {repository: https://charts.example.org, version: 1}\ngit: {repository: git@example.org:a/b.git}\nimage: ""\nurl: http://a.example.org/b:1\nport: 80:8080\n',
      [],
    ],
  ])('%s', async (_name, text, expected) => {
    expect(await found(text)).toEqual(expected)
  })
  test('an empty tag is the chart’s appVersion, an empty registry the global one', async () => {
    expect(await found('image: {repository: ghcr.io/a/b, tag: ""}', {appVersion: '0.8.1'})).toEqual([
      ['image', 'ghcr.io/a/b:0.8.1'],
    ])
    expect(await found('image: {registry: "", repository: a/b, tag: 1}', {globalRegistry: 'quay.io'})).toEqual([
      ['image', 'quay.io/a/b:1'],
    ])
  })
  test('images in arguments and environment are suspected, not missed', async () => {
    const search = findImages(
      await values('args: ["--reloader=quay.io/a/b:v1", "--port=8080"]\nenv: [{name: X, value: "ghcr.io/c/d:2"}]'),
    )
    expect(search.suspected.map(({reference}) => reference)).toEqual(['quay.io/a/b:v1', 'ghcr.io/c/d:2'])
  })
  test('any YAML is searched without harm', () => {
    return fc.assert(
      fc.asyncProperty(fc.json(), async (text) => Array.isArray(findImages((await values(text)) ?? '').images)),
    )
  })
})

describe('charts', () => {
  const files = {
    'Chart.yaml': 'name: demo\nversion: 1.0.0\nappVersion: 3.2.1\ndependencies: [{name: sub, alias: other}]\n',
    'values.yaml': 'image: {repository: ghcr.io/a/main, tag: ""}\nother: {image: {tag: "9"}}\n',
    'templates/a.yaml':
      'spec:\n  containers:\n    - image: quay.io/hard/coded:1\n    - image: {{ .Values.x | default "quay.io/by/default:2" }}\n  labels:\n    app.kubernetes.io/version: {{ .Values.image.tag }}\n',
    'charts/sub/Chart.yaml': 'name: sub\nversion: 0.1.0\nappVersion: 7.7.7\n',
    'charts/sub/values.yaml':
      'image: {repository: ghcr.io/a/sub, tag: ""}\nsidecar: {image: {repository: ghcr.io/a/side, tag: ""}}\n',
  }
  test('trap 38: every image of every mode: own, subchart under its alias, literals in templates', async () => {
    const [, content] = chartArchive('demo', '1.0.0', files).blobs
    const search = await searchChart(await readPackagedChart(content?.bytes ?? Buffer.alloc(0), 'demo.tgz'), 'demo.tgz')
    expect(search.images.map(({reference}) => reference).sort()).toEqual([
      'ghcr.io/a/main:3.2.1',
      'ghcr.io/a/side:7.7.7',
      'ghcr.io/a/sub:9',
      'quay.io/by/default:2',
      'quay.io/hard/coded:1',
    ])
    expect(search.tagUses).toEqual(['templates/a.yaml:6'])
  })
  test('values given by the user decide', async () => {
    const over = await values('image: {repository: mirror.example.org/main, tag: x}')
    const search = await searchChart(new Map(Object.entries(files)), 'demo', [over])
    expect(search.images[0]?.reference).toBe('mirror.example.org/main:x')
  })
  test('a bomb is refused', async () => {
    const {gzipSync} = await import('node:zlib')
    await expect(readPackagedChart(gzipSync(Buffer.alloc(129 * 1024 * 1024)), 'bomb.tgz')).rejects.toThrow(
      'unpacks to more than',
    )
  })
})

describe('rewriting', () => {
  const destination = {to: parseTarget('mirror.example.org/site'), layout: 'host-prefix' as const}
  const item = (source: string, tag: string) => ({
    role: 'image' as const,
    source,
    tag,
    digest,
    mediaType: 'x',
    size: 1,
    platforms: [{platform: 'linux/amd64', digest: `sha256:${'cd'.repeat(32)}`}],
    extras: [],
    foundIn: [],
    notes: [],
  })
  const plan = {
    apiVersion: 'srcip.dev/v1alpha1' as const,
    kind: 'MirrorPlan' as const,
    exitCode: 0,
    changed: false,
    warnings: [],
    items: [item('ghcr.io/a/b', '1.36'), item('docker.io/library/nginx', '1')],
  }
  const rewrite = async (text: string, more = {}) => {
    const {images} = findImages(await values(text))
    const {changes} = rewriteImages(images, {destination, pin: 'keep', plan, ...more})
    return {changes, overlay: parse(await overlayText(changes, [], undefined)) as unknown}
  }

  test.each([
    [
      'image: {repository: ghcr.io/a/b, tag: 1.36}',
      {image: {repository: 'mirror.example.org/site/ghcr.io/a/b', tag: `1.36@${digest}`}},
    ],
    [
      'image: {registry: ghcr.io, repository: a/b, tag: "1.36", digest: ""}',
      {image: {registry: 'mirror.example.org', repository: 'site/ghcr.io/a/b', digest}},
    ],
    ['image: "nginx:1"', {image: `mirror.example.org/site/docker.io/library/nginx:1@${digest}`}],
    [
      'images: [{name: ghcr.io/a/b, newTag: "1.36"}]',
      {images: [{newName: 'mirror.example.org/site/ghcr.io/a/b', digest}]},
    ],
  ])('%s', async (text, expected) => {
    expect((await rewrite(text)).overlay).toEqual(expected)
  })
  test('trap 36: --pin none keeps tags, --pin child writes the platform’s digest', async () => {
    expect((await rewrite('image: {repository: ghcr.io/a/b, tag: 1.36}', {pin: 'none'})).overlay).toEqual({
      image: {repository: 'mirror.example.org/site/ghcr.io/a/b', tag: '1.36'},
    })
    expect(
      (await rewrite('image: {repository: ghcr.io/a/b, tag: 1.36}', {pin: 'child', platform: 'linux/amd64'})).overlay,
    ).toEqual({image: {repository: 'mirror.example.org/site/ghcr.io/a/b', tag: `1.36@sha256:${'cd'.repeat(32)}`}})
  })
  test('its own output is left alone, and what is not in the plan is named', async () => {
    const {changes} = await rewrite(`image: {repository: mirror.example.org/site/ghcr.io/a/b, tag: 1.36@${digest}}`)
    expect(changes).toEqual([])
    await expect(rewrite('image: {repository: ghcr.io/not/there, tag: 1}')).rejects.toThrow(
      'ghcr.io/not/there is not in the plan',
    )
  })
  test('trap 36: a file of the user keeps comments, order and everything else', async () => {
    const before = '# mine\nreplicas: 2 # two\nimage:\n  # where from\n  repository: ghcr.io/a/b\n  tag: 1.36\n'
    const {changes} = await rewrite(before)
    expect(await editValues(before, changes, [], 'values.yaml')).toBe(
      `# mine\nreplicas: 2 # two\nimage:\n  # where from\n  repository: mirror.example.org/site/ghcr.io/a/b\n  tag: "1.36@${digest}"\n`,
    )
  })
  test('trap 38: an overlay under a prefix says what each image was', async () => {
    const {changes} = await rewrite('image: {repository: ghcr.io/a/b, tag: 1.36}')
    const text = await overlayText(changes, readPrefix('addons.ouroboros.valuesOverride'), 'mirror-login')
    expect(parse(text)).toEqual({
      addons: {
        ouroboros: {
          valuesOverride: {
            image: {repository: 'mirror.example.org/site/ghcr.io/a/b', tag: `1.36@${digest}`},
            imagePullSecrets: [{name: 'mirror-login'}],
          },
        },
      },
    })
    expect(text).toContain('# was ghcr.io/a/b:1.36')
  })
})

test('versions: the newest stable one, by SemVer', () => {
  expect(newestVersion(['1.9.0', '1.10.0', '2.0.0-rc.1', 'latest', 'v1.10.0-beta', '1.10.0_build'])).toMatch(
    /^1\.10\.0/,
  )
  expect(newestVersion(['1.0.0-alpha.2', '1.0.0-alpha.10'])).toBe('1.0.0-alpha.10')
  expect(newestVersion(['latest'])).toBeUndefined()
  const order = [
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    '1.0.0',
  ]
  for (let at = 1; at < order.length; at++) {
    const [one, other] = [readVersion(order[at - 1] ?? ''), readVersion(order[at] ?? '')]
    expect(
      compareVersions(one as NonNullable<typeof one>, other as NonNullable<typeof other>),
      `${order[at - 1]} < ${order[at]}`,
    ).toBeLessThan(0)
  }
})

test('a list names its wrong line; a Makefile gives its plain variables', () => {
  expect(readList('# images\nr.example.org/a:1 # main\n\nr.example.org/b@' + digest, 'list').wanted).toHaveLength(2)
  expect(() => readList('r.example.org/a:1\nr.example.org/B:1', 'list')).toThrow('list, line 2')
  expect(makeVariables('A ?= 1\nexport B := two # note\nC=$(A)\n')).toEqual(
    new Map([
      ['A', '1'],
      ['B', 'two'],
      ['C', '$(A)'],
    ]),
  )
})
