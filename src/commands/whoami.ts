import {readFile} from 'node:fs/promises'
import {Flags} from '@oclif/core'
import {SrcipCommand} from '../cli/command.ts'
import {durationFlag, noDefault} from '../cli/flags.ts'
import {SrcipError} from '../model/errors.ts'

/** A port flag; without a default the port is not served. */
const port = (name: string, summary: string) => ({
  summary,
  helpValue: 'PORT',
  min: 0,
  max: 65_535,
  env: `SRCIP_${name}_PORT`,
})

export default class Whoami extends SrcipCommand {
  static override summary = 'Answer every connection with the client address that arrived, and why it counts'
  static override description =
    'An echo for tests, as a Pod or on any machine, until SIGTERM. Every port takes connections with and without a PROXY header (v1, v2); HTTP answers are JSON, the TCP port writes one JSON line. Shown are the peer, the PROXY header, X-Forwarded-*, X-Real-IP and the trust decision; never a cookie, a credential, a query or a body.'
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --http-port 8080 --tcp-port 9000 --trusted-cidr 10.0.0.0/8',
    'curl -s http://localhost:8080/ | jq .client',
  ]
  static override flags = {
    listen: Flags.string({summary: 'address to listen on', helpValue: 'ADDRESS', default: '::', env: 'SRCIP_LISTEN'}),
    'http-port': Flags.integer({...port('HTTP', 'port for HTTP'), default: 8080}),
    'https-port': Flags.integer(port('HTTPS', 'port for HTTPS; needs --tls-cert and --tls-key')),
    'tcp-port': Flags.integer(port('TCP', 'port that answers any connection with one line')),
    'tls-cert': Flags.file({summary: 'PEM file with the certificate chain', helpValue: 'FILE'}),
    'tls-key': Flags.file({summary: 'PEM file with its key', helpValue: 'FILE'}),
    'trusted-cidr': Flags.string({
      summary: 'peers whose PROXY header and X-Forwarded-For count, may be repeated; nobody without it',
      helpValue: 'CIDR',
      multiple: true,
      multipleNonGreedy: true,
      default: [],
      defaultHelp: noDefault,
      env: 'SRCIP_TRUSTED_CIDR',
    }),
    'accept-proxy': Flags.boolean({summary: 'cut trusted peers that omit the PROXY header', env: 'SRCIP_ACCEPT_PROXY'}),
    'header-timeout': durationFlag('header-timeout', {
      summary: 'how long a connection may stay silent, or in the middle of a header',
      default: 1000,
    }),
    'max-connections': Flags.integer({summary: 'connections open at once', default: 1000, min: 1, helpValue: 'COUNT'}),
  }

  async run(): Promise<void> {
    const {flags} = await this.parse(Whoami)
    const {'tls-cert': cert, 'tls-key': key, 'https-port': https, 'tcp-port': tcp} = flags
    if ((cert === undefined) !== (key === undefined) || (https !== undefined && cert === undefined))
      throw new SrcipError('Usage', '--https-port needs both --tls-cert and --tls-key', {
        hints: ['give the two PEM files, or leave the port out'],
      })
    const {WhoamiServer, jsonLog, parseTrusted} = await import('../whoami/index.ts')
    const log = jsonLog((line) => process.stderr.write(line), undefined, 'whoami')
    const [certificate, privateKey] = await Promise.all([cert, key].map(async (file) => file && readFile(file, 'utf8')))
    const server = new WhoamiServer(
      {
        listen: flags.listen,
        ports: {http: flags['http-port'], https, tcp},
        certificate: certificate && privateKey ? {cert: certificate, key: privateKey} : undefined,
        trusted: parseTrusted(flags['trusted-cidr']),
        demandsHeader: flags['accept-proxy'],
        headerTimeout: flags['header-timeout'] ?? 1000,
        maxConnections: flags['max-connections'],
      },
      log,
    )
    this.onFinish(() => server.close())
    log('listening', JSON.stringify(await server.listen()))
    const {signal} = this.interruption
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve())
    })
  }
}
