import {fileImports, readsKeyOfItsOwn, rewriteNeeded} from './dns-writes.ts'
import {advice, type Check} from './check.ts'
import {dnsObject} from './two-hairpin-tools.ts'

export const importNotRead: Check = {
  id: 'SRC057',
  name: 'import-not-read',
  severity: 'info',
  means:
    'The Corefile imports files of a mounted ConfigMap, and not inside the block that answers public names (or as a whole file at the top): a rewrite in such a key would be dead or break the file.',
  act: 'Import `*.override` inside the root block, or let the lines go between markers.',
  sources: ['https://coredns.io/plugins/import/'],
  run: (diagnosis) => {
    const {dns} = diagnosis.cluster
    const {elsewhere} = fileImports(dns)
    if (elsewhere.length === 0 || readsKeyOfItsOwn(dns) || !rewriteNeeded(diagnosis)) return []
    return [
      {
        title: `no import in the block that answers public names: ${elsewhere.join(', ')} ${elsewhere.length === 1 ? 'is' : 'are'} read elsewhere`,
        object: dnsObject(diagnosis),
        evidence: elsewhere.map((value) => ({object: dnsObject(diagnosis), field: 'import', value})),
        remedies: [
          advice(
            'import-in-root',
            2,
            'import /etc/coredns/custom/*.override inside the root block',
            'a key of our own is then read',
          ),
        ],
      },
    ]
  },
}
