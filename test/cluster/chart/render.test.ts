import fc from 'fast-check'
import {readFileSync} from 'node:fs'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {parse} from 'yaml'
import {createControllerMetrics} from '../../../src/controller/controller-metrics.ts'
import {renderMetrics} from '../../../src/proxy/metrics.ts'
import {flagTable} from '../../../src/proxy/flag-table.ts'
import {runFlags} from '../../../src/cli/run/flags.ts'
import {cleanupFlags} from '../../../src/cli/cleanup/flags.ts'
import {describeWithParts, type KubeObject} from '../bed/index.ts'
import {chartFolder, HelmHome, image, objectsIn, podTemplates, valuesFile} from './helm.ts'

const names = ['minimal', 'several', 'bare'] as const

await describeWithParts('the chart, rendered', ['helm', 'helm-3'], (parts) => {
  let home: HelmHome
  beforeAll(() => {
    home = new HelmHome(parts.helm)
  })
  afterAll(() => home.remove())

  test.each(names)('lint takes %s', async (name) => {
    const {code, output} = await home.helm('lint', chartFolder, '--strict', '-f', valuesFile(name))
    expect(code, output).toBe(0)
  })

  test.each(names)('%s renders as it did', async (name) => {
    await expect(await home.template(valuesFile(name))).toMatchFileSnapshot(`golden/${name}.yaml`)
  })

  test.each(names)('Helm 3 lints %s and renders the same', async (name) => {
    const three = new HelmHome(parts['helm-3'])
    try {
      const {code, output} = await three.helm('lint', chartFolder, '--strict', '-f', valuesFile(name))
      expect(code, output).toBe(0)
      const sorted = (text: string) =>
        objectsIn(text).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
      expect(sorted(await three.template(valuesFile(name)))).toEqual(sorted(await home.template(valuesFile(name))))
    } finally {
      three.remove()
    }
  })

  test('every flag in the templates is one that the command takes', async () => {
    const known: Record<string, Set<string>> = {
      run: new Set(Object.keys(runFlags)),
      proxy: new Set(flagTable.map((row) => row.name)),
      cleanup: new Set(Object.keys(cleanupFlags)),
    }
    const seen = new Set<string>()
    for (const name of names) {
      for (const {of, spec} of podTemplates(objectsIn(await home.template(valuesFile(name))))) {
        const [{args}] = spec['containers'] as [{args: [string, ...string[]]}]
        const [command, ...rest] = args
        seen.add(command)
        for (const word of rest) {
          const flag = /^--([a-z-]+)(?:=|$)/.exec(word)?.[1]
          expect(known[command]?.has(flag ?? ''), `${of}: ${word}`).toBe(true)
        }
      }
    }
    expect([...seen].toSorted()).toEqual(['cleanup', 'proxy', 'run'])
  })

  test('alerts ask for metrics and labels that controller and proxy give', async () => {
    const rule = objectsIn(await home.template(valuesFile('several'))).find(({kind}) => kind === 'PrometheusRule')
    const {groups = []} = (rule?.['spec'] ?? {}) as {groups?: {rules: {alert: string; expr: string}[]}[]}
    const alerts = groups.flatMap(({rules}) => rules)
    const proxy = renderMetrics({
      engine: 'node',
      isReady: true,
      isDraining: false,
      counters: [],
      verdicts: [],
      processes: [],
      startTime: 0,
    })
    const given = new Set(
      [...`${createControllerMetrics().registry.expose()}\n${proxy}`.matchAll(/^# TYPE (\S+)/gm)].map(
        ([, name]) => name,
      ),
    )
    // podTargetLabels of the PodMonitor
    const labels = new Set(['srcip_dev_path'])
    for (const {alert, expr} of alerts) {
      const asked = [...expr.matchAll(/\bsrcip_\w+/g)].map(([name]) => name).filter((name) => !labels.has(name))
      expect(asked.length, alert).toBeGreaterThan(0)
      for (const name of asked) expect(given, alert).toContain(name)
    }
    expect(alerts.length).toBeGreaterThan(4)
  })

  test('one image by digest everywhere, with the same pull secrets, and nothing that needs privileges', async () => {
    for (const name of names) {
      const {image: wanted} = parse(readFileSync(valuesFile(name), 'utf8')) as {
        image: {repository: string; digest: string; pullSecrets?: string[]}
      }
      const templates = podTemplates(objectsIn(await home.template(valuesFile(name))))
      expect(templates.length).toBeGreaterThan(0)
      for (const {of, spec} of templates) {
        const containers = spec['containers'] as {image: string; securityContext: object}[]
        expect(
          containers.map((each) => each.image),
          of,
        ).toEqual([`${wanted.repository}@${wanted.digest}`])
        const secrets = (spec['imagePullSecrets'] ?? []) as {name: string}[]
        expect(
          secrets.map((secret) => secret.name),
          of,
        ).toEqual(wanted.pullSecrets ?? [])
        expect(spec['securityContext'], of).toMatchObject({
          runAsNonRoot: true,
          seccompProfile: {type: 'RuntimeDefault'},
        })
        expect(containers[0]?.securityContext, of).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: {drop: ['ALL']},
        })
      }
    }
  })

  test('the hook ends by itself and runs before anything is deleted', async () => {
    const job = objectsIn(await home.template(valuesFile('several'))).find((object) => object.kind === 'Job')
    expect(job).toMatchObject({
      metadata: {
        annotations: {
          'helm.sh/hook': 'pre-delete',
          'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
        },
      },
      spec: {activeDeadlineSeconds: 120, backoffLimit: 1},
    })
    // what Helm says when the Job fails is the Job's name
    expect(job?.metadata.name).toContain('or-run-kubectl-srcip-cleanup')
  })

  test('no template ever holds the data of a ConfigMap, whatever the values', async () => {
    const word = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/)
    const path = fc.record(
      {
        name: word,
        to: fc.constantFrom('ingress.edge.svc', '192.0.2.80'),
        feeds: fc.tuple(word, word).map(([a, b]) => `${a}/${b}`),
        ingressClasses: fc.array(word, {maxLength: 2}).map((list) => [...new Set(list)]),
        sendProxy: fc.constantFrom('always', 'auto'),
      },
      {requiredKeys: ['name', 'to']},
    )
    const values = fc.record({
      image: fc.constant({repository: 'registry.example.org/srcip', digest: image.split('@')[1]}),
      paths: fc.uniqueArray(path, {maxLength: 3, selector: (each) => each.name}),
      controller: fc.record({
        enabled: fc.boolean(),
        wildcards: fc.boolean(),
        hosts: fc.uniqueArray(word, {maxLength: 2}),
      }),
      dns: fc.record({
        namespace: fc.constantFrom('kube-system', 'dns'),
        configMaps: fc.uniqueArray(fc.constantFrom('coredns', 'coredns-custom', 'rke2-coredns'), {minLength: 1}),
      }),
      cleanup: fc.record({enabled: fc.boolean()}),
      podMonitor: fc.record({enabled: fc.boolean()}),
      prometheusRule: fc.record({enabled: fc.boolean()}),
      networkPolicy: fc.record({enabled: fc.boolean()}),
    })
    await fc.assert(
      fc.asyncProperty(values, async (some) => {
        const objects = await home.render(some)
        expect(objects.filter((object) => object.kind === 'ConfigMap' || object.kind === 'Secret')).toEqual([])
        expect(objects.filter((object) => 'data' in object || 'binaryData' in object)).toEqual([])
        // and nobody gets a right over ConfigMaps but by name
        for (const rule of rulesOf(objects)) {
          if (rule.resources.some((each) => each === 'configmaps' || each === '*'))
            expect(rule.resourceNames).toEqual(some.dns.configMaps)
        }
      }),
      {numRuns: 40},
    )
  })

  test.each([
    ['a tag instead of a digest', ['--set', 'image.digest=v1.2.3'], 'image/digest'],
    ['a repository with a tag', ['--set', 'image.repository=registry.example.org/srcip:v1'], 'image/repository'],
    ['feeds without a namespace', ['--set', 'paths[0].feeds=ingress'], 'paths/0/feeds'],
    [
      'a privileged listening port',
      ['--set-json', 'paths=[{"name":"a","to":"x.y","ports":[{"service":80,"listen":80}]}]'],
      'listen',
    ],
    ['a path without a target', ['--set-json', 'paths=[{"name":"a"}]'], 'paths/0'],
    ['a value that nobody reads', ['--set', 'proxy.replica=3'], 'replica'],
    ['a settle time that is none', ['--set', 'cleanup.settle=soon'], 'cleanup/settle'],
    ['a word smuggled into roles', ['--set', 'dns.configMaps[0]=coredns]\n'], 'configMaps'],
  ])('the schema refuses %s', async (_what, argv, where) => {
    await expect(home.template(valuesFile('minimal'), ...argv)).rejects.toThrow(where)
  })

  test('an image that is not named is asked for', async () => {
    const {code, output} = await home.helm('template', 'srcip', chartFolder)
    expect(code).not.toBe(0)
    expect(output).toContain('image.repository is missing')
  })

  test('two paths of one name are refused', async () => {
    const paths = '[{"name":"a","to":"x.y"},{"name":"a","to":"y.z"}]'
    await expect(home.template(valuesFile('minimal'), '--set-json', `paths=${paths}`)).rejects.toThrow(
      'the name a is there twice',
    )
  })
})

function rulesOf(objects: readonly KubeObject[]): {resources: string[]; resourceNames?: string[]}[] {
  return objects
    .filter((object) => (object.kind ?? '').endsWith('Role'))
    .flatMap((object) => object['rules'] as {resources: string[]; resourceNames?: string[]}[])
}
