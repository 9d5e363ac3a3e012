/*
 * The text exposition format of Prometheus (version 0.0.4), written by hand: names and labels are those of
 * controller.md 3.9, values are kept as numbers until somebody asks.
 */

export type Labels = Readonly<Record<string, string>>

interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  render(lines: string[]): void
}

/** A set of values with the same label names. */
export class Values implements Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly #values = new Map<string, number>()

  constructor(type: 'counter' | 'gauge', name: string, help: string) {
    this.type = type
    this.name = name
    this.help = help
  }

  add(labels: Labels = {}, by = 1): void {
    const key = labelText(labels)
    this.#values.set(key, (this.#values.get(key) ?? 0) + by)
  }

  set(labels: Labels, value: number): void {
    this.#values.set(labelText(labels), value)
  }

  /** Drops every value: for states that are told anew at each scrape. */
  clear(): void {
    this.#values.clear()
  }

  get(labels: Labels = {}): number {
    return this.#values.get(labelText(labels)) ?? 0
  }

  render(lines: string[]): void {
    for (const [labels, value] of this.#values) lines.push(`${this.name}${labels} ${numberText(value)}`)
  }
}

/** A distribution over fixed upper bounds. */
export class Histogram implements Metric {
  readonly name: string
  readonly help: string
  readonly type = 'histogram'
  readonly #bounds: readonly number[]
  readonly #series = new Map<string, {labels: Labels; buckets: number[]; sum: number; count: number}>()

  constructor(name: string, help: string, bounds: readonly number[]) {
    this.name = name
    this.help = help
    this.#bounds = bounds
  }

  observe(labels: Labels, value: number): void {
    const key = labelText(labels)
    const series = this.#series.get(key) ?? {labels, buckets: this.#bounds.map(() => 0), sum: 0, count: 0}
    for (const [index, bound] of this.#bounds.entries()) {
      if (value <= bound) series.buckets[index] = (series.buckets[index] ?? 0) + 1
    }
    series.sum += value
    series.count++
    this.#series.set(key, series)
  }

  render(lines: string[]): void {
    for (const {labels, buckets, sum, count} of this.#series.values()) {
      for (const [index, bound] of this.#bounds.entries()) {
        lines.push(`${this.name}_bucket${labelText({...labels, le: String(bound)})} ${buckets[index] ?? 0}`)
      }
      lines.push(`${this.name}_bucket${labelText({...labels, le: '+Inf'})} ${count}`)
      lines.push(
        `${this.name}_sum${labelText(labels)} ${numberText(sum)}`,
        `${this.name}_count${labelText(labels)} ${count}`,
      )
    }
  }
}

/** All metrics of the process, and what refreshes the ones that are only looked up when asked. */
export class Registry {
  readonly #metrics: Metric[] = []
  readonly #refresh: (() => void)[] = []

  counter(name: string, help: string): Values {
    return this.#keep(new Values('counter', name, help))
  }

  gauge(name: string, help: string): Values {
    return this.#keep(new Values('gauge', name, help))
  }

  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    return this.#keep(new Histogram(name, help, bounds))
  }

  /** Runs before every exposition. */
  onExpose(refresh: () => void): void {
    this.#refresh.push(refresh)
  }

  expose(): string {
    for (const refresh of this.#refresh) refresh()
    const lines: string[] = []
    for (const metric of this.#metrics) {
      lines.push(`# HELP ${metric.name} ${metric.help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}`)
      lines.push(`# TYPE ${metric.name} ${metric.type}`)
      metric.render(lines)
    }
    return `${lines.join('\n')}\n`
  }

  #keep<M extends Metric>(metric: M): M {
    this.#metrics.push(metric)
    return metric
  }
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')}"`,
  )
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (value === Infinity) return '+Inf'
  return value === -Infinity ? '-Inf' : String(value)
}
