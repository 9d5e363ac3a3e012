import type {WayFacts} from './facts.ts'

/** What a switch to PROXY, or away from it, would break beside the verdicts of this way in. One sentence each. */
export function breakages(_facts: WayFacts, _direction: 'enable' | 'disable'): string[] {
  return []
}
