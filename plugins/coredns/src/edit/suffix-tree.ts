/** One label of the tree of names, read from the right. */
interface Node {
  readonly label: string
  /** Whether the name that ends here is in the set itself. */
  terminal: boolean
  readonly children: Map<string, Node>
  /** Characters of all children's patterns together. */
  childrenLength: number
  /** Characters of this node's pattern. */
  length: number
}

/** Characters around alternatives: `(?:` and `)`. */
const group = 4
/** Characters of `\.`. */
const dot = 2

/**
 * A set of names as one pattern, common parents written once: `(?:a|b)\.apps\.example\.org|x\.example\.net`. It knows
 * the length of that pattern after every name, which is what fills rules to the brim.
 */
export class SuffixTree {
  private readonly root = node('')
  private readonly path: Node[] = []

  /** Characters of the pattern over all names added so far. */
  get length(): number {
    const {children, childrenLength} = this.root
    return childrenLength + Math.max(0, children.size - 1)
  }

  /**
   * Adds a name unless the pattern would become longer than `limit`; then nothing changes.
   *
   * @param labels of the name, leftmost first
   */
  add(labels: readonly string[], limit: number): boolean {
    const {path} = this
    path.length = 0
    let here = this.root
    let created = -1
    for (let at = labels.length - 1; at >= 0; at--) {
      path.push(here)
      const label = labels[at] as string
      let child = here.children.get(label)
      if (!child) {
        if (created === -1) created = path.length - 1
        child = node(label)
        here.children.set(label, child)
      }
      here = child
    }
    path.push(here)
    const wasTerminal = here.terminal
    here.terminal = true
    this.measure()
    if (this.length <= limit) return true
    here.terminal = wasTerminal
    // The first new node and everything below it hangs on one branch: cut it off.
    if (created !== -1) (path[created] as Node).children.delete((path[created + 1] as Node).label)
    this.measure(created === -1 ? path.length - 1 : created)
    return false
  }

  /** Works the lengths out again, from one node of the path up to the root. */
  private measure(from = this.path.length - 1): void {
    for (let at = from; at >= 0; at--) {
      const here = this.path[at] as Node
      const before = here.length
      if (at === from) {
        here.childrenLength = 0
        for (const child of here.children.values()) here.childrenLength += child.length
      }
      here.length = nodeLength(here)
      const parent = this.path[at - 1]
      if (parent) parent.childrenLength += here.length - before
    }
  }

  /** Alternatives at the top of the pattern. */
  get alternatives(): number {
    return this.root.children.size
  }

  /** The pattern. Alternatives are sorted: RE2 shares the beginnings of neighbours. */
  pattern(): string {
    return alternatives(this.root).join('|')
  }
}

function node(label: string): Node {
  return {label, terminal: false, children: new Map(), childrenLength: 0, length: 0}
}

function nodeLength({label, terminal, children, childrenLength}: Node): number {
  if (children.size === 0) return label.length
  const inner = childrenLength + children.size - 1
  const grouped = children.size > 1 ? group + inner : inner
  return label.length + grouped + dot + (terminal ? group + 1 : 0)
}

function nodePattern(here: Node): string {
  const parts = alternatives(here)
  if (parts.length === 0) return here.label
  const inner = parts.length > 1 ? `(?:${parts.join('|')})` : (parts[0] as string)
  return here.terminal ? `(?:${inner}\\.)?${here.label}` : `${inner}\\.${here.label}`
}

function alternatives(here: Node): string[] {
  return [...here.children.values()].map(nodePattern).sort()
}
