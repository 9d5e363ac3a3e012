import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {chartModes, imagesInManifests} from '../../../src/registry/images/modes.ts'
import type {TextValue} from '../../../src/registry/images/shapes.ts'
import {parseTextValues} from '../../../src/registry/images/values-text.ts'

const values = async (text: string) => (await parseTextValues(text, 'test'))[0] as TextValue
const settings = (modes: ReturnType<typeof chartModes>) => modes.map(({set}) => set.join(' '))

describe('modes of a chart', () => {
  test('as it stands first, then each switch turned over, one at a time', async () => {
    const modes = chartModes(new Map(), await values('a: true\nb: {c: false, d: text, e: 1}\nlist: [true]\n'))
    expect(settings(modes)).toEqual(['', '--set a=false', '--set b.c=true'])
    expect(modes.map(({name}) => name)).toEqual(['as it stands', 'a=false', 'b.c=true'])
  })
  test('each text that a template compares a value with, once', async () => {
    const files = new Map([
      [
        'templates/a.yaml',
        '{{ if eq .Values.controller.mode "coredns-import" }}x{{ end }}{{ if ne $.Values.controller.mode "off" }}',
      ],
      ['templates/_b.tpl', '{{- if and (eq .Values.controller.mode "coredns-import") (eq .Values.kind "a,b") }}'],
      ['README.md', '{{ eq .Values.not "read" }}'],
    ])
    expect(settings(chartModes(files, await values('controller: {mode: coredns}\n')))).toEqual([
      '',
      '--set-string controller.mode=coredns-import',
      '--set-string controller.mode=off',
      // Helm would split at the comma.
      '--set-string kind=a\\,b',
    ])
  })
  test('a wrapper’s prefix goes before, and dots in keys are no paths', async () => {
    const modes = chartModes(new Map(), await values('labels: {"example.org/on": true}\n'), ['addons', 'x.y'])
    expect(settings(modes)).toEqual(['', '--set addons.x\\.y.labels.example\\.org/on=false'])
  })
  test('any values give modes that name each setting once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), async (text) => {
        const all = settings(chartModes(new Map(), (await values(text)) ?? ''))
        expect(new Set(all).size).toBe(all.length)
      }),
    )
  })
})

test('every image of rendered manifests: hooks, init containers, quotes, comments', () => {
  const manifests = [
    'spec:',
    '  initContainers:',
    '    - image: "quay.io/a/init:1"',
    '      name: init',
    '  containers:',
    '    - name: app',
    `      image: 'quay.io/a/app@sha256:00' # main`,
    '    - image: quay.io/a/app@sha256:00',
    '---',
    'metadata: {annotations: {helm.sh/hook: pre-delete}}',
    '      image:   quay.io/a/hook:2',
    '      imagePullPolicy: Always',
    '      myimage: quay.io/not/this:1',
  ].join('\n')
  expect(imagesInManifests(manifests)).toEqual(['quay.io/a/app@sha256:00', 'quay.io/a/hook:2', 'quay.io/a/init:1'])
})
