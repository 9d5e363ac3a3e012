import {field, list, record, text, texts} from '../fields.ts'
import {isKnownImage} from './known-parts.ts'
import {isSecretName, masked, maskNamed, maskText} from './mask.ts'
import {projectFields, type ShapeFields} from './shape.ts'

/** Environment variables whose literal value says how addresses are treated. Of all others only the name is kept. */
const openEnv =
  /^(?:POD_NAMESPACE|WATCH_NAMESPACE|KONG_(?:PROXY_LISTEN|STREAM_LISTEN|REAL_IP_HEADER|REAL_IP_RECURSIVE|TRUSTED_IPS)|HCLOUD_LOAD_BALANCERS_[A-Z_]+|LINODE_HOSTNAME_ONLY_INGRESS|AWS_VPC_K8S_CNI_(?:EXTERNALSNAT|EXCLUDE_SNAT_CIDRS|RANDOMIZESNAT)|FELIX_(?:BPF|NAT|IPV6|CHAININSERTMODE)[A-Z0-9_]*|CALICO_(?:IPV[46]POOL_CIDR|IPV[46]POOL_NAT_OUTGOING|NETWORKING_BACKEND)|TRAEFIK_ENTRYPOINTS_[A-Z0-9_]+|OUROBOROS_[A-Z0-9_]+|SRCIP_[A-Z0-9_]+|OCCM_[A-Z0-9_]+|(?:ROUTER_)?USE_PROXY_PROTOCOL|PROXY_PROTOCOL|vip_[a-z]+|svc_[a-z]+|lb_[a-z]+|bgp_enable|SRC_PORT|DEST_PORT|DEST_PROTO|DEST_IPS?)$/

/** Flags whose value is kept in any container: they tell a receiver that hides behind an image of another name. */
const openFlag =
  /config-?maps?$|(?:controller|ingress|gateway)-?class|class-name|entry-?points|proxy-?protocol|send-?proxy|ssl-passthrough|tls-passthrough|publish-(?:service|status-address)|forwarded|trusted|real-?ip|report-|watch-namespace|gateway-controller-name|service-name$|^-{1,2}conf$|localip|providers?\./i

const containerShape: ShapeFields = {
  name: 'scalar',
  image: 'scalar',
  workingDir: 'scalar',
  ports: [{name: 'scalar', containerPort: 'scalar', hostPort: 'scalar', hostIP: 'scalar', protocol: 'scalar'}],
  volumeMounts: [{name: 'scalar', mountPath: 'scalar', subPath: 'scalar', subPathExpr: 'scalar'}],
}

function container(value: unknown): unknown {
  const kept = projectFields(value, containerShape)
  if (kept === undefined) return undefined
  const from = record(value)
  const known = isKnownImage(text(field(from, 'image')) ?? '')
  const command = texts(field(from, 'command'))
  const args = texts(field(from, 'args'))
  const env = list(field(from, 'env')).map((entry) => envVariable(record(entry), known))
  const envFrom = list(field(from, 'envFrom')).map((entry) => envSource(record(entry)))
  return {
    ...kept,
    ...(command.length === 0 ? {} : {command: projectWords(command, known, 1)}),
    ...(args.length === 0 ? {} : {args: projectWords(args, known, 0)}),
    ...(env.length === 0 ? {} : {env}),
    ...(envFrom.length === 0 ? {} : {envFrom}),
  }
}

/**
 * Words of a command line. Of a known part all but secrets; of any other the flags, and the values of the few that are used.
 * @param free the number of leading words that are kept anyway: the program itself
 */
export function projectWords(words: readonly string[], known: boolean, free: number): string[] {
  let secretNext = false
  let openNext = known
  return words.map((word, index) => {
    const flag = /^(-{1,2}[\w.[\]-]+|--)(?:(=)([\s\S]*))?$/.exec(word)
    if (flag === null) {
      const [secret, open] = [secretNext, openNext]
      secretNext = false
      openNext = known
      if (secret) return masked
      return index < free || open || word === masked ? maskText(word) : masked
    }
    const [, name = '', equals, value = ''] = flag
    const secret = isSecretName(name)
    if (equals === undefined) {
      secretNext = secret
      openNext = known || openFlag.test(name)
      return word
    }
    secretNext = false
    openNext = known
    if (secret) return `${name}=${masked}`
    return known || openFlag.test(name) || /^(?:true|false|\d{1,6})$/.test(value)
      ? `${name}=${maskText(value)}`
      : `${name}=${masked}`
  })
}

/** A variable: where its value comes from, and the value itself only for names on the list and for switches of known parts. */
function envVariable(variable: Readonly<Record<string, unknown>>, known: boolean): unknown {
  const name = text(field(variable, 'name')) ?? ''
  const from = field(variable, 'valueFrom')
  if (typeof from === 'object' && from !== null) {
    const source = projectFields(from, {
      fieldRef: {fieldPath: 'scalar'},
      configMapKeyRef: {name: 'scalar', key: 'scalar', optional: 'scalar'},
    })
    // A reference to a Secret stays a reference to something that nobody outside the Pod knows.
    return {name, valueFrom: source === undefined || Object.keys(source).length === 0 ? {notRead: true} : source}
  }
  const value = field(variable, 'value')
  if (typeof value !== 'string' || value === '') return {name}
  const open = openEnv.test(name) || (known && /^(?:true|false|\d{1,5})$/i.test(value))
  return open ? {name, value: maskNamed(name, value)} : {name, valueFrom: {notRead: true}}
}

function envSource(source: Readonly<Record<string, unknown>>): unknown {
  return {
    ...projectFields(source, {prefix: 'scalar', configMapRef: {name: 'scalar', optional: 'scalar'}}),
    ...(field(source, 'secretRef') === undefined ? {} : {secretRef: {}}),
  }
}

/** A volume: the ConfigMaps in it, and of any other source the type. */
function volume(value: unknown): unknown {
  const from = record(value)
  const configMap = {name: 'scalar', optional: 'scalar', items: [{key: 'scalar', path: 'scalar'}]} as const
  const projected = field(from, 'projected')
  const kept: Record<string, unknown> = projectFields(from, {name: 'scalar', configMap}) ?? {}
  if (projected !== undefined) {
    kept['projected'] = {
      sources: list(field(record(projected), 'sources')).map((entry) => ({
        ...typesOnly(record(entry)),
        ...projectFields(entry, {configMap}),
      })),
    }
  }
  return {...typesOnly(from), ...kept}
}

function typesOnly(source: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const types = Object.keys(source).filter((key) => /^[a-zA-Z]+$/.test(key) && key !== 'name')
  return Object.fromEntries(types.sort().map((type) => [type, {}]))
}

/** A Pod's spec, or that of a template. */
export const podSpecShape: ShapeFields = {
  nodeName: 'scalar',
  hostNetwork: 'scalar',
  dnsPolicy: 'scalar',
  nodeSelector: 'pairs',
  containers: [container],
  volumes: [volume],
}
