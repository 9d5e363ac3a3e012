import type {MirrorFiles} from '../../model/mirror.ts'
import {unifiedDiff} from '../unified-diff.ts'
import type {View} from '../view.ts'

/** Files for people: one as it is, several with their names before them; as a diff against what is there. */
export const mirrorFilesView: View<MirrorFiles> = {
  table({files, changed}) {
    if (changed) return files.map(({name}) => `written: ${name}\n`).join('')
    return files.length === 1
      ? (files[0]?.content ?? '')
      : files.map(({name, content}) => `# ${name}\n${content}`).join('\n')
  },
  name: ({files}) => files.map(({name}) => name),
  diff: ({files}, {color}) =>
    files.map(({name, content, before}) => unifiedDiff(name, before ?? '', content, color)).join(''),
}

/** What was written over files that were there, for stderr: nobody has to guess what changed. */
export function filesDiff({files, changed}: MirrorFiles): string[] {
  if (!changed) return []
  return files.flatMap(({name, content, before}) =>
    before === undefined || before === content ? [] : [unifiedDiff(name, before, content, false)],
  )
}
