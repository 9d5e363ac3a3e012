import {randomBytes} from 'node:crypto'
import {writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {run} from './part-build.ts'
import {requirePart} from './parts.ts'

/** A key and a certificate as files. */
export type KeyPair = {key: string; cert: string}

/** A certificate authority of the bed. `cert` is the file that a client trusts. */
export type Authority = KeyPair & {
  /** Issues a certificate: server and client use, names and addresses as subject alternative names. */
  issue(name: string, subject: {cn: string; organizations?: string[]; names: string[]}): Promise<KeyPair>
}

async function openssl(args: string[]): Promise<void> {
  const {code, output} = await run(await requirePart('openssl'), args)
  if (code !== 0) throw new Error(`openssl ${args[0]} failed: ${output.trim()}`)
}

const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

/** A fresh certificate authority below `folder`, valid for ten days. */
export async function certificateAuthority(folder: string, cn: string): Promise<Authority> {
  const key = join(folder, 'ca.key')
  const cert = join(folder, 'ca.crt')
  const extensions = [
    '-addext',
    'basicConstraints=critical,CA:TRUE',
    '-addext',
    'keyUsage=critical,keyCertSign,cRLSign',
  ]
  await openssl([
    'req',
    '-x509',
    ...curve,
    '-keyout',
    key,
    '-out',
    cert,
    '-days',
    '10',
    '-subj',
    `/CN=${cn}`,
    ...extensions,
  ])
  return {
    key,
    cert,
    async issue(name, {cn: subject, organizations = [], names}) {
      const pair = {key: join(folder, `${name}.key`), cert: join(folder, `${name}.crt`)}
      const request = join(folder, `${name}.csr`)
      const config = join(folder, `${name}.ext`)
      const alternatives = names.map((each) => (/^[\d.]+$/.test(each) ? `IP:${each}` : `DNS:${each}`)).join(',')
      const lines = ['basicConstraints=CA:FALSE', 'extendedKeyUsage=serverAuth,clientAuth']
      if (alternatives !== '') lines.push(`subjectAltName=${alternatives}`)
      writeFileSync(config, `${lines.join('\n')}\n`)
      const path = [...organizations.map((each) => `/O=${each}`), `/CN=${subject}`].join('')
      await openssl(['req', '-new', ...curve, '-keyout', pair.key, '-out', request, '-subj', path])
      // A serial of its own: a shared serial file breaks when several are issued at once.
      const serial = `0x${randomBytes(8).toString('hex')}`
      const authority = ['-CA', cert, '-CAkey', key, '-set_serial', serial, '-extfile', config, '-days', '10']
      await openssl(['x509', '-req', '-in', request, '-out', pair.cert, ...authority])
      return pair
    },
  }
}

/** A private key in the form that the API server signs service account tokens with. */
export async function signingKey(path: string): Promise<string> {
  await openssl(['genrsa', '-out', path, '2048'])
  return path
}
