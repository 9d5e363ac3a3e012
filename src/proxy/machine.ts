import {readFileSync} from 'node:fs'
import {networkInterfaces} from 'node:os'
import {plainAddress} from '../model/address.ts'
import type {ProxyOptions} from './options.ts'

/** Descriptors that the process itself needs. */
const ownFiles = 100
/** Descriptors for each connection, whatever the thread: two sockets; HAProxy also needs pipes for every fourth of them. */
const filesPerConnection = {node: 2, haproxy: 2.5} as const

/** What the machine allows. */
export interface Machine {
  /** Open files that one process may have; Infinity where that is not known. */
  readonly openFiles: number
  readonly hasIPv6: boolean
  /** Addresses of its interfaces, plain. */
  readonly addresses: ReadonlySet<string>
}

/** Reads the limits and addresses of this machine. */
export function readMachine(): Machine {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  return {
    openFiles: openFileLimit(),
    hasIPv6: all.some(({family}) => family === 'IPv6'),
    addresses: new Set(all.flatMap(({address}) => plainAddress(address) ?? [])),
  }
}

/**
 * Options that this machine can keep, and what had to give way. Pure.
 * Without IPv6 `--listen ::` is every IPv4 address; more connections than open files would end in accepting what cannot be relayed.
 */
export function fitToMachine(
  options: ProxyOptions,
  machine: Machine,
): {readonly options: ProxyOptions; readonly warnings: readonly string[]} {
  const listenAddress = options.listenAddress === '::' && !machine.hasIPv6 ? '0.0.0.0' : options.listenAddress
  const room = Math.max(1, Math.floor((machine.openFiles - ownFiles) / filesPerConnection[options.engine]))
  const maxConnections = Math.min(options.maxConnections, engineRoom(options, room))
  const warnings =
    maxConnections < options.maxConnections
      ? [
          `--max-connections ${options.maxConnections} is lowered to ${maxConnections}: a process may have ${machine.openFiles} open files only`,
        ]
      : []
  return {options: {...options, listenAddress, maxConnections}, warnings}
}

/** HAProxy reckons with its headroom of two in a hundred, too (haproxy-config.ts). */
function engineRoom({engine}: ProxyOptions, room: number): number {
  return engine === 'haproxy' ? Math.max(1, Math.min(room - 100, Math.floor(room / 1.02))) : room
}

function openFileLimit(): number {
  try {
    const line = /^Max open files +([0-9]+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]
    return line === undefined || line === 'unlimited' ? Infinity : Number(line)
  } catch {
    return Infinity
  }
}
