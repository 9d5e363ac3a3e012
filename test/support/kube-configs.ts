import type {ClusterConfig} from '../../src/kube/index.ts'

/** A configuration for a server of the test's own. */
export function configFor(server: string, fields: Partial<ClusterConfig> = {}): ClusterConfig {
  return {
    source: 'test kubeconfig',
    userName: 'tester',
    namespace: 'default',
    server,
    insecureSkipTlsVerify: false,
    disableCompression: true,
    user: {},
    impersonate: {groups: [], extra: {}},
    ...fields,
  }
}
