/**
 * Does a request to this server go through the ingress that is to be switched? Its name is one of the names that the ingress serves (or
 * `api.` before one), or it resolves to an address of its balancer (design.md 6). `resolved` are the addresses of the server's name. Pure.
 */
export function goesThroughIngress(
  server: string,
  resolved: readonly string[],
  {hosts, addresses}: {readonly hosts: readonly string[]; readonly addresses: readonly string[]},
): boolean {
  const host = new URL(server).hostname.replace(/^\[|\]$/g, '').toLowerCase()
  return (
    hosts.some((name) => host === name || host === `api.${name}`) ||
    [host, ...resolved].some((address) => addresses.includes(address))
  )
}
