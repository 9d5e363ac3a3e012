import {openSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import type {Actor} from './actor.ts'

/** Starts the public DNS: every name of these zones has one address, every other name does not exist. */
export async function startPublicDns(actor: Actor, coredns: string, zones: string[], address: string): Promise<void> {
  const corefile = `${zones.join(' ')} {
    template IN A {
        answer "{{ .Name }} 60 IN A ${address}"
    }
    template ANY ANY {
        rcode NOERROR
    }
}
. {
    template ANY ANY {
        rcode NXDOMAIN
    }
}
`
  const file = join(actor.folder, 'Corefile')
  writeFileSync(file, corefile)
  await actor.start([coredns, '-conf', file], {output: openSync(join(actor.folder, 'coredns.log'), 'a')})
}
