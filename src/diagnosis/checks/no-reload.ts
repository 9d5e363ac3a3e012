import {advice, type Check} from './check.ts'
import {rewriteNeeded} from './dns-writes.ts'
import {dnsObject} from './two-hairpin-tools.ts'

export const noReload: Check = {
  id: 'SRC058',
  name: 'no-reload',
  severity: 'warning',
  means: 'The Corefile has no reload plugin: what is written is not read before CoreDNS restarts.',
  act: 'Add `reload` to the block, or use --restart-coredns.',
  sources: ['https://coredns.io/plugins/reload/'],
  run: (diagnosis) => {
    const {dns} = diagnosis.cluster
    if (dns.parsed === undefined || dns.parsed.error !== undefined || dns.reloads || !rewriteNeeded(diagnosis))
      return []
    return [
      {
        title: 'the Corefile has no reload plugin: a rewrite is not read before a restart',
        object: dnsObject(diagnosis),
        remedies: [advice('reload', 1, 'add reload to the root block', 'CoreDNS then reads changes by itself')],
      },
    ]
  },
}
