import {projectSettings} from './config-map.ts'
import {conditions} from './core-kinds.ts'
import {target, type Row} from './custom-rows.ts'
import {projectFields, type ShapeFields} from './shape.ts'

/** What is kept of chart values: the switches of Cozystack and of the ingress controllers it installs (cozystack.md 1). */
const chartValues: ShapeFields = {
  publishing: {
    proxyProtocol: 'scalar',
    proxyProtocolAcknowledgeUnclean: 'scalar',
    ingressName: 'scalar',
    externalIPs: ['scalar'],
    loadBalancerClass: 'scalar',
    host: 'scalar',
    exposedServices: ['scalar'],
    exposure: 'scalar',
  },
  bundles: {disabledPackages: ['scalar'], enabledPackages: ['scalar'], system: {enabled: 'scalar', variant: 'scalar'}},
  gateway: {enabled: 'scalar'},
  networking: {clusterDomain: 'scalar', podCIDR: 'scalar', serviceCIDR: 'scalar'},
  proxyProtocol: 'scalar',
  cloudflareProxy: 'scalar',
  whitelist: ['scalar'],
  'ingress-nginx': {
    controller: {
      config: projectSettings,
      kind: 'scalar',
      hostNetwork: 'scalar',
      extraArgs: {'enable-ssl-passthrough': 'scalar'},
      service: {type: 'scalar', externalTrafficPolicy: 'scalar', externalIPs: ['scalar']},
    },
  },
  cilium: {
    ingressController: {enabled: 'scalar', enableProxyProtocol: 'scalar'},
    gatewayAPI: {enabled: 'scalar', enableProxyProtocol: 'scalar'},
    kubeProxyReplacement: 'scalar',
  },
  ouroboros: {
    controller: {
      mode: 'scalar',
      clusterDomain: 'scalar',
      ingressClass: 'scalar',
      gatewayApi: {enabled: 'scalar'},
    },
    proxy: {target: {namespace: 'scalar', serviceName: 'scalar'}},
  },
}

const addon: ShapeFields = {
  enabled: 'scalar',
  exposeMethod: 'scalar',
  hosts: ['scalar'],
  valuesOverride: chartValues,
}

const tenantValues: ShapeFields = {
  addons: {
    ouroboros: addon,
    ingressNginx: addon,
    gatewayAPI: {enabled: 'scalar'},
    coredns: {valuesOverride: chartValues},
  },
}

/** Cozystack: the switch, what carries it on, tenants (cozystack.md 1 and 5). */
export const cozystackRows: readonly Row[] = [
  {
    group: 'cozystack.io',
    versions: ['v1alpha1'],
    clusterWide: ['packages', 'packagesources'],
    kinds: {
      packages: [
        'Package',
        {
          spec: {
            variant: 'scalar',
            ignoreDependencies: ['scalar'],
            components: (value) => componentValues(value),
          },
          status: {conditions},
        },
      ],
      packagesources: [
        'PackageSource',
        {
          spec: {
            sourceRef: target,
            variants: [
              {
                name: 'scalar',
                dependsOn: ['scalar'],
                components: [{name: 'scalar', install: {namespace: 'scalar', releaseName: 'scalar'}}],
              },
            ],
          },
          status: {conditions},
        },
      ],
    },
  },
  {
    group: 'helm.toolkit.fluxcd.io',
    versions: ['v2', 'v2beta2', 'v2beta1'],
    kinds: {
      helmreleases: [
        'HelmRelease',
        {
          spec: {
            suspend: 'scalar',
            interval: 'scalar',
            releaseName: 'scalar',
            targetNamespace: 'scalar',
            chartRef: target,
            chart: {spec: {chart: 'scalar', version: 'scalar'}},
            dependsOn: [{name: 'scalar', namespace: 'scalar'}],
            values: {...chartValues, ...tenantValues},
          },
          status: {observedGeneration: 'scalar', lastHandledReconcileAt: 'scalar', conditions},
        },
      ],
    },
  },
  {
    group: 'apps.cozystack.io',
    versions: ['v1alpha1'],
    kinds: {
      kuberneteses: ['Kubernetes', {spec: tenantValues, status: {version: 'scalar', conditions}}],
      ingresses: [
        'Ingress',
        {
          spec: {
            proxyProtocol: 'scalar',
            cloudflareProxy: 'scalar',
            whitelist: ['scalar'],
            replicas: 'scalar',
          },
          status: {conditions},
        },
      ],
      tenants: ['Tenant', {spec: {ingress: 'scalar', host: 'scalar', gateway: 'scalar'}, status: {conditions}}],
    },
  },
  {
    group: 'kamaji.clastix.io',
    versions: ['v1alpha1'],
    kinds: {
      tenantcontrolplanes: [
        'TenantControlPlane',
        {
          spec: {
            networkProfile: {clusterDomain: 'scalar', address: 'scalar', port: 'scalar', dnsServiceIPs: ['scalar']},
            addons: (value) => addonNames(value),
          },
          status: {controlPlaneEndpoint: 'scalar'},
        },
      ],
    },
  },
]

/** Components of a Package: of any of them the same few values. */
function componentValues(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== '__proto__')
      .map(([name, component]) => [name, projectFields(component, {enabled: 'scalar', values: chartValues}) ?? {}]),
  )
}

/** Which addons a tenant control plane has; their settings are of no use here. */
function addonNames(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.fromEntries(
    Object.keys(value)
      .filter((name) => /^[A-Za-z]+$/.test(name))
      .sort()
      .map((name) => [name, {}]),
  )
}
