import {execFileSync} from 'node:child_process'
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'

export interface TestCertificate {
  readonly cert: string
  readonly key: string
}

export interface TestAuthority extends TestCertificate {
  /** Signs a certificate for these names and addresses. */
  issue(commonName: string, names: readonly string[]): TestCertificate
}

/** A certificate authority for one test, made with openssl. */
export function testAuthority(name: string): TestAuthority {
  const own = openssl(name, undefined, [])
  return {...own, issue: (commonName, names) => openssl(commonName, own, names)}
}

function openssl(commonName: string, issuer: TestCertificate | undefined, names: readonly string[]): TestCertificate {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'))
  const file = (name: string): string => join(folder, name)
  try {
    const run = (...args: string[]): void => void execFileSync('openssl', args, {stdio: 'pipe', cwd: folder})
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', file('key')]
    if (issuer === undefined) {
      run('req', '-x509', ...key, '-subj', `/CN=${commonName}`, '-days', '2', '-out', file('cert'))
    } else {
      writeFileSync(file('ca'), issuer.cert)
      writeFileSync(file('ca-key'), issuer.key)
      const san = names.map((name) => (/^[\d.]+$|:/.test(name) ? `IP:${name}` : `DNS:${name}`)).join(',')
      writeFileSync(file('extensions'), `subjectAltName=${san === '' ? 'DNS:client' : san}\n`)
      run('req', ...key, '-subj', `/CN=${commonName}`, '-out', file('request'))
      run(
        'x509',
        '-req',
        '-in',
        file('request'),
        '-CA',
        file('ca'),
        '-CAkey',
        file('ca-key'),
        '-CAcreateserial',
        '-days',
        '2',
        '-extfile',
        file('extensions'),
        '-out',
        file('cert'),
      )
    }
    return {cert: readFileSync(file('cert'), 'utf8'), key: readFileSync(file('key'), 'utf8')}
  } finally {
    rmSync(folder, {recursive: true})
  }
}
