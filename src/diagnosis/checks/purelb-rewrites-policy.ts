import {advice, type Check} from './check.ts'
import {eachService, evidenceOf} from './of-ways.ts'

export const purelbRewritesPolicy: Check = {
  id: 'SRC033',
  name: 'purelb-rewrites-policy',
  severity: 'warning',
  means: 'PureLB puts externalTrafficPolicy Local back to Cluster on local addresses unless the Service allows it.',
  act: 'Annotate the Service purelb.io/allow-local, then set policy Local.',
  sources: ['https://github.com/purelb/purelb/blob/08b4e190/internal/local/announcer_local.go'],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) => {
      if (facts.balancer.row?.id !== 'purelb') return undefined
      if (facts.service.metadata.annotations?.['purelb.io/allow-local'] !== undefined) return undefined
      return {
        title: 'PureLB puts policy Local back to Cluster on this Service',
        evidence: evidenceOf(facts),
        remedies: [
          advice(
            'externalTrafficPolicy-local',
            1,
            'annotation purelb.io/allow-local: "true", then externalTrafficPolicy Local',
            'it then stays',
          ),
        ],
      }
    }),
}
