import {checkLoadable, prepareHostAnswers, type EditRequest} from '../../../plugins/coredns/src/index.ts'

/** What the editor asks beside the text itself: by simulation, which blocks answer a host and what stands in the way. */
export const editorHooks: Pick<EditRequest, 'answers' | 'check'> = {answers: prepareHostAnswers, check: checkLoadable}
