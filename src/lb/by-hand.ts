import {parseIP} from '../model/address.ts'
import {SrcipError} from '../model/errors.ts'
import type {Backend, BalancerPort} from './balancer.ts'

/** `--backend PORT=ADDRESS:PORT`, IPv6 in brackets; the same port again is one more backend of it. */
export function backendsByHand(words: readonly string[]): BalancerPort[] {
  const ports = new Map<number, Backend[]>()
  for (const word of words) {
    const [, from, bracketed, plain, to] = /^(\d{1,5})=(?:\[([0-9a-f:.]+)\]|([\d.]+)):(\d{1,5})$/i.exec(word) ?? []
    const address = bracketed ?? plain ?? ''
    const [port, target] = [Number(from), Number(to)]
    if (parseIP(address) === undefined || !isPort(port) || !isPort(target))
      throw new SrcipError('Usage', `--backend ${JSON.stringify(word)} is no backend`, {
        hints: ['write PORT=ADDRESS:PORT, such as 443=192.0.2.10:30443 or 443=[2001:db8::10]:30443'],
      })
    const backends = ports.get(port) ?? []
    if (!backends.some((one) => one.address === address && one.port === target))
      backends.push({name: `backend-${backends.length}`, address, port: target})
    ports.set(port, backends)
  }
  return [...ports].map(([port, backends]) => ({port, backends})).toSorted((a, b) => a.port - b.port)
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535
}
