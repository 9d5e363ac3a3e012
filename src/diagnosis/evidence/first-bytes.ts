/** What a connection begins with. The bytes themselves go no further than this module: they may hold cookies and credentials. */
export type FirstBytes = 'nothing' | 'proxy-v1' | 'proxy-v2' | 'tls' | 'http' | 'http-health-check' | 'something else'

const methods = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|CONNECT|TRACE|PRI) [^\s"]{1,4000}/
/** Paths and agents that probes of balancers, clouds and kubelets use. */
const healthPath =
  /^(?:GET|HEAD|OPTIONS) \/(?:healthz?|livez|readyz?|ping|status|nginx-health|health-?check|_?health)?(?:[/?][^\s]{0,100})? HTTP/i
const healthAgent =
  /^User-Agent: (?:kube-probe|ELB-HealthChecker|GoogleHC|Load Balancer Agent|Amazon-Route53|HAProxy|hcloud|Envoy\/HC|Go-http-client.{0,40}health|.{0,60}health)/im

/**
 * Classifies the first bytes of a connection, as latin1 text; `\xNN` spellings of logs are read as the bytes that they stand for.
 * A request to `/` counts as a health check only with the agent of one.
 */
export function classifyFirstBytes(text: string): FirstBytes {
  const bytes = unescapeBytes(text.slice(0, 8192))
  if (bytes === '') return 'nothing'
  if (bytes.startsWith('PROXY ')) return 'proxy-v1'
  if (bytes.startsWith('\r\n\r\n\0\r\nQUIT\n') || bytes.startsWith('\n\n\0\nQUIT\n')) return 'proxy-v2'
  if (bytes.charCodeAt(0) === 0x16 && bytes.charCodeAt(1) === 0x03) return 'tls'
  if (!methods.test(bytes)) return 'something else'
  const isRoot = /^[A-Z]+ \/ /.test(bytes)
  return healthAgent.test(bytes) || (!isRoot && healthPath.test(bytes)) ? 'http-health-check' : 'http'
}

function unescapeBytes(text: string): string {
  return text.replaceAll(/\\x([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
