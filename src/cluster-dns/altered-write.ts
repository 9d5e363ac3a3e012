import {SrcipError} from '../model/errors.ts'

/**
 * The API server has stored another text than it was sent: a mutating admission webhook or policy has changed it on its way. Nobody
 * has simulated that text, so it may not stand. 22 when the text of before stands again, else 23.
 */
export class AlteredWrite extends SrcipError {
  /** @param leftBecause why the text of before does not stand again; absent: it does */
  constructor(object: string, key: string, leftBecause: string | undefined) {
    const left = leftBecause === undefined ? 'the text of before stands again' : `not put back: ${leftBecause}`
    super(
      leftBecause === undefined ? 'CheckFailed' : 'Partial',
      `${object}: the API server stored another text in key ${key} than it was sent, so a mutating admission webhook or policy changes it; ${left}`,
      {
        object,
        hints: [
          'kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies',
          `kubectl get ${object.replace(/^configmap\/([^/]+)\//, '-n $1 configmap/')} -o yaml`,
        ],
      },
    )
  }
}
