import {
  checkLoadable,
  clusterZonesOf,
  prepareHostAnswers,
  type EditRequest,
  type PrepareHostAnswers,
} from '../../../plugins/coredns/src/index.ts'

/**
 * The simulator's answers, with one exception: where no server block at all serves a cluster zone, the file is only a part of what
 * resolves the target (or forwards to what does), so that a block that cannot resolve it is no reason to refuse.
 */
const answers: PrepareHostAnswers = (parsed, options) => {
  const ask = prepareHostAnswers(parsed, options)
  if (clusterZonesOf(parsed).length > 0) return ask
  return (query) => {
    const {refusal, ...answer} = ask(query)
    return refusal === undefined || refusal.code === 'BlockCannotResolveTarget' ? answer : {...answer, refusal}
  }
}

/** What the editor asks beside the text itself: by simulation, which blocks answer a host and what stands in the way. */
export const editorHooks: Pick<EditRequest, 'answers' | 'check'> = {answers, check: checkLoadable}
