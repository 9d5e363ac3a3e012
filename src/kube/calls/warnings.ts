import type {IncomingHttpHeaders} from 'node:http'
import {oneLine} from '../failures/subject.ts'

/** The texts of `Warning: 299 - "text"` headers (RFC 7234, 5.5), which Kubernetes sends for deprecations and policies. */
export function warningTexts(headers: IncomingHttpHeaders): string[] {
  const value: string | string[] | undefined = headers['warning']
  if (value === undefined) return []
  const found = [value]
    .flat()
    .join(', ')
    .matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)
  return [...found].map((match) => oneLine((match[1] ?? '').replaceAll(/\\(.)/g, '$1'), 500))
}
