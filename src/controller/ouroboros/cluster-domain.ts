/** What kubelet calls the cluster when nobody says otherwise (`--cluster-domain`). */
const usual = 'cluster.local'

/**
 * The cluster domain that kubelet's search list in /etc/resolv.conf shows: the entry that most others extend as
 * `svc.DOMAIN` or `NAMESPACE.svc.DOMAIN`; of equals the shorter. `cluster.local` where the list does not tell.
 */
export function clusterDomainFrom(resolvConf: string): string {
  for (const line of resolvConf.split('\n')) {
    const [word, ...entries] = line.trim().split(/\s+/)
    if (word !== 'search') continue
    const names = entries.map((entry) => entry.replace(/\.$/, '')).filter((entry) => entry !== '')
    const scored = names
      .filter((name) => !name.startsWith('svc.') && !name.includes('.svc.'))
      .map((name) => ({
        name,
        score: names.filter((other) => other === `svc.${name}` || other.endsWith(`.svc.${name}`)).length,
      }))
      .filter(({score}) => score > 0)
      .sort((a, b) => b.score - a.score || a.name.length - b.name.length)
    if (scored[0] !== undefined) return scored[0].name
  }
  return usual
}
