import {Flags} from '@oclif/core'
import {cleanFlags} from '../coredns/flags.ts'
import {changeFlags, durationFlag, kubeFlags, outputFlags} from '../flags.ts'

const group = 'CLEAN-UP'

export const cleanupFlags = {
  ...kubeFlags,
  'stop-run': Flags.boolean({
    summary: 'scale our controllers to 0 first, and wait until they have let go',
    helpGroup: group,
  }),
  'dns-only': Flags.boolean({
    summary:
      'take only the lines out of cluster DNS, names of ExternalDNS and the Lease away; the rest is left to Helm',
    helpGroup: group,
  }),
  'even-in-use': Flags.boolean({
    summary: 'also when pods are served by these names now',
    helpGroup: group,
  }),
  settle: durationFlag('settle', {
    summary: 'how long answers may live on in caches before the proxies go',
    default: 30_000,
    helpGroup: group,
  }),
  target: cleanFlags.target,
  'dns-service': cleanFlags['dns-service'],
  via: cleanFlags.via,
  'verify-timeout': cleanFlags['verify-timeout'],
  repair: cleanFlags.repair,
  'restart-coredns': cleanFlags['restart-coredns'],
  ...changeFlags,
  ...outputFlags(['table', 'wide', 'json', 'yaml', 'name']),
} as const
