import {readFileSync} from 'node:fs'
import {createServer} from 'node:https'
import type {AddressInfo} from 'node:net'
import type {ApiClient} from '../bed/api-client.ts'
import {certificateAuthority} from '../bed/certificates.ts'

interface Review {
  readonly request: {readonly uid: string; readonly operation: string; readonly object: ReviewedConfigMap}
}

/** A ConfigMap as it is about to be stored. */
export interface ReviewedConfigMap {
  readonly data?: Readonly<Record<string, string>>
}

/** What the webhook makes of a write: lets it pass, denies it, stores something else, or says nothing at all. */
export type Verdict =
  | {readonly does: 'allow' | 'hang'}
  | {readonly does: 'deny'; readonly status: number; readonly message: string}
  | {readonly does: 'patch'; readonly operations: readonly object[]}

/** An admission webhook over the network, as a policy engine has one, for updates of ConfigMaps in kube-system. */
export interface AdmissionWebhook {
  judge: (object: ReviewedConfigMap) => Verdict
  /** When it was asked, in milliseconds since the epoch. */
  readonly asked: number[]
  close(): Promise<void>
}

/** Starts the webhook and tells the API server of it, which takes it into account within a second or so. */
export async function startAdmissionWebhook(
  admin: ApiClient,
  folder: string,
  kind: 'Validating' | 'Mutating',
): Promise<AdmissionWebhook> {
  const authority = await certificateAuthority(folder, 'webhook authority')
  const pair = await authority.issue('webhook', {cn: 'webhook', names: ['127.0.0.1']})
  const asked: number[] = []
  const webhook = {judge: (_object: ReviewedConfigMap): Verdict => ({does: 'allow'}), asked}
  const server = createServer(
    {key: readFileSync(pair.key), cert: readFileSync(pair.cert)},
    async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const {request: review} = JSON.parse(Buffer.concat(chunks).toString()) as Review
      asked.push(Date.now())
      const verdict = webhook.judge(review.object)
      if (verdict.does === 'hang') return
      const answer = {uid: review.uid, allowed: verdict.does !== 'deny', ...detailOf(verdict)}
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer}))
    },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const {port} = server.address() as AddressInfo
  const path = `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}webhookconfigurations`
  await admin.request('POST', path, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${kind}WebhookConfiguration`,
    metadata: {name: 'guard'},
    webhooks: [
      {
        name: 'guard.example.org',
        clientConfig: {url: `https://127.0.0.1:${port}/`, caBundle: readFileSync(authority.cert).toString('base64')},
        rules: [{apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['configmaps']}],
        namespaceSelector: {matchLabels: {'kubernetes.io/metadata.name': 'kube-system'}},
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        failurePolicy: 'Fail',
        timeoutSeconds: 1,
      },
    ],
  })
  return Object.assign(webhook, {
    close: async () => {
      await admin.request('DELETE', `${path}/guard`)
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  })
}

function detailOf(verdict: Verdict): object {
  if (verdict.does === 'deny') return {status: {code: verdict.status, message: verdict.message}}
  if (verdict.does !== 'patch') return {}
  return {patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(verdict.operations)).toString('base64')}
}
