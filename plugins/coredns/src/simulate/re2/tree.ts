import {setOf} from './classes.ts'
import type {Node} from './syntax.ts'
import {foldOrbit} from './syntax.ts'

/** Out: the node of one character, with its other cases on request. */
export function literalOf(codePoint: number, fold: boolean): Node {
  if (!fold) return {t: 'char', codePoint}
  const orbit = foldOrbit(codePoint)
  return orbit.length === 1
    ? {t: 'char', codePoint}
    : {t: 'set', set: setOf(orbit.map((other) => [other, other] as const))}
}

/** Out: items one behind the other as one node. */
export function concatOf(items: readonly Node[]): Node {
  const [only] = items
  if (only === undefined) return {t: 'empty'}
  return items.length === 1 ? only : {t: 'concat', items}
}

/** Out: finished alternatives, and the items of the last one, as one node. */
export function alternateOf(alternatives: readonly Node[], items: readonly Node[]): Node {
  const last = concatOf(items)
  return alternatives.length === 0 ? last : {t: 'alternate', items: [...alternatives, last]}
}

/** Out: how deep a tree is: Go ends at 1,000. */
export function heightOf(node: Node): number {
  let height = 0
  for (const child of childrenOf(node)) height = Math.max(height, heightOf(child))
  return height + 1
}

function childrenOf(node: Node): readonly Node[] {
  if (node.t === 'concat' || node.t === 'alternate') return node.items
  return node.t === 'repeat' || node.t === 'group' ? [node.item] : []
}

/** Out: whether nested counted repeats stay within a limit of copies, as Go checks it. */
export function repeatFits(node: Node, limit: number): boolean {
  let rest = limit
  if (node.t === 'repeat') {
    const count = node.max < 0 ? node.min : node.max
    // Only counted repeats multiply; `*`, `+` and `?` are operators of their own in Go.
    const counted = !(node.max === -1 && node.min <= 1) && !(node.min === 0 && node.max === 1)
    if (counted) {
      if (node.max === 0) return true
      if (count > rest) return false
      if (count > 0) rest = Math.floor(rest / count)
    }
  }
  return childrenOf(node).every((child) => repeatFits(child, rest))
}

/** In: text that begins with a brace. Out: the counts of `{2}`, `{2,}` or `{2,3}` (max -1: no end), undefined for an ordinary brace. */
export function countsOf(
  text: string,
): {readonly min: number; readonly max: number; readonly length: number} | undefined {
  const match = /^\{(0|[1-9]\d*)(,(0|[1-9]\d*)?)?\}/.exec(text)
  if (match === null) return undefined
  const min = Number(match[1])
  const max = match[2] === undefined ? min : match[3] === undefined ? -1 : Number(match[3])
  return {min, max, length: match[0].length}
}
