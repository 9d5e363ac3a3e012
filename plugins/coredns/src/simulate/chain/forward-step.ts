import type {ForwardStanza} from '../../setup/plugins/forward.ts'
import {isSubdomain, questionName} from '../dns-name.ts'
import type {Step} from '../run.ts'
import {AnswerUnknown} from '../run.ts'

/** One `forward` line of a block. Several stand in the chain one behind the other. Source: plugin/forward/forward.go. */
export function forwardStep(stanza: ForwardStanza, last: boolean): Step {
  return {
    plugin: 'forward',
    line: stanza.line,
    file: stanza.file,
    serve: (run, write, request, next) => {
      const name = questionName(request.question.name)
      const excepted = name !== stanza.from && stanza.except.some((zone) => isSubdomain(zone, name))
      if (!isSubdomain(stanza.from, name) || excepted) return next(write, request)
      run.claim({
        plugin: 'forward',
        file: stanza.file,
        line: stanza.line,
        why: `zone ${stanza.from} to ${stanza.to.join(' ')}`,
      })
      const reply = run.world.upstream?.(stanza.to, request.question)
      if (reply === undefined) {
        throw new AnswerUnknown(
          `what ${stanza.to.join(' ')} says to ${request.question.name} ${request.question.type} is not known here`,
        )
      }
      if (reply === 'unreachable') {
        run.fault.raised = true
        return 'SERVFAIL'
      }
      const nodata = stanza.nextOnNodata && reply.rcode === 'NOERROR' && reply.answer.length === 0
      if (!last && (stanza.next.includes(reply.rcode) || nodata)) return next(write, request)
      write(reply)
      return 'NOERROR'
    },
  }
}
