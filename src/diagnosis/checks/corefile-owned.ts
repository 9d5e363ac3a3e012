import {readsKeyOfItsOwn, rewriteNeeded} from './dns-writes.ts'
import {advice, type Check} from './check.ts'
import {dnsObject} from './two-hairpin-tools.ts'

export const corefileOwned: Check = {
  id: 'SRC055',
  name: 'corefile-owned',
  severity: 'info',
  means:
    'Somebody owns the Corefile and puts it back: a rewrite between markers would not last, and no import of an own key is there.',
  act: "Use the owner's own setting.",
  sources: ['https://docs.aws.amazon.com/eks/latest/userguide/coredns-add-on-update.html'],
  run: (diagnosis) => {
    const owner = diagnosis.cluster.dns.location?.owner
    if (owner?.edits !== 'reverted' || readsKeyOfItsOwn(diagnosis.cluster.dns) || !rewriteNeeded(diagnosis)) return []
    return [
      {
        title: `${owner.title} owns the Corefile: an edit lasts ${owner.lasts}`,
        object: dnsObject(diagnosis),
        evidence: owner.evidence.map((value) => ({object: dnsObject(diagnosis), value})),
        remedies:
          owner.instead === undefined
            ? []
            : [advice('owner-setting', 2, owner.instead, 'what the owner renders stays')],
      },
    ]
  },
}
