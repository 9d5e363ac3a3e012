import {
  checkLoadable,
  clusterZonesOf,
  prepareHostAnswers,
  type EditRequest,
  type PrepareHostAnswers,
} from '../../../plugins/coredns/src/index.ts'

/**
 * The simulator's answers, with one exception: where no server block at all serves a cluster zone, the file is only a part of what
 * resolves the target (or forwards to what does), so that a block that cannot resolve it is no reason to refuse. Unless the file
 * keeps another block for the target's zone, as that of NodeLocal DNSCache does: a rewritten name never gets there.
 */
const answers: PrepareHostAnswers = (parsed, options) => {
  const ask = prepareHostAnswers(parsed, options)
  if (clusterZonesOf(parsed).length > 0) return ask
  const blocksOfTarget = new Map<string, readonly number[]>()
  return (query) => {
    const answer = ask(query)
    const {refusal, ...rest} = answer
    if (refusal?.code !== 'BlockCannotResolveTarget') return answer
    const {target} = query.host
    const own = blocksOfTarget.get(target) ?? ask({...query, host: {name: target, kind: 'exact', target}}).blocks
    blocksOfTarget.set(target, own)
    return own.every((block) => rest.blocks.includes(block)) ? rest : answer
  }
}

/** What the editor asks beside the text itself: by simulation, which blocks answer a host and what stands in the way. */
export const editorHooks: Pick<EditRequest, 'answers' | 'check'> = {answers, check: checkLoadable}
