import {AnswerUnknown} from './run.ts'

/** What a template of the `template` plugin may name. */
export interface TemplateData {
  readonly Zone: string
  readonly Name: string
  readonly Regex: string
  readonly Match: readonly string[]
  readonly Group: ReadonlyMap<string, string>
  readonly Class: string
  readonly Type: string
  readonly Remote: string | undefined
  readonly QuestionName: string
}

/**
 * In: a Go template and its data. Out: the text. Only fields, `.Group.x`, `index .Match N`, `index .Group "x"` and trim
 * marks are followed: whatever else stands between the braces throws AnswerUnknown.
 */
export function executeTemplate(text: string, data: TemplateData): string {
  let out = ''
  let rest = text
  for (;;) {
    const open = rest.indexOf('{{')
    if (open < 0) return out + rest
    const close = rest.indexOf('}}', open)
    if (close < 0) throw new AnswerUnknown('a template with an open action')
    let action = rest.slice(open + 2, close)
    let before = rest.slice(0, open)
    rest = rest.slice(close + 2)
    if (/^-\s/.test(action)) {
      before = before.replace(/[ \t\r\n]+$/, '')
      action = action.slice(1)
    }
    if (/\s-$/.test(action)) {
      rest = rest.replace(/^[ \t\r\n]+/, '')
      action = action.slice(0, -1)
    }
    out += before + valueOf(action.trim(), data)
  }
}

function valueOf(action: string, data: TemplateData): string {
  if (/^\/\*.*\*\/$/s.test(action)) return ''
  switch (action) {
    case '.Zone':
      return data.Zone
    case '.Name':
      return data.Name
    case '.Regex':
      return data.Regex
    case '.Class':
      return data.Class
    case '.Type':
      return data.Type
    case '.Question.Name':
      return data.QuestionName
    case '.Remote':
      if (data.Remote !== undefined) return data.Remote
      break
    default:
  }
  const field = /^\.Group\.([A-Za-z_]\w*)$/.exec(action)
  // A key that the map does not have is the empty string of a Go map of strings.
  if (field !== null) return data.Group.get(field[1] ?? '') ?? ''
  const key = /^index \.Group "([^"\\]*)"$/.exec(action)
  if (key !== null) return data.Group.get(key[1] ?? '') ?? ''
  const number = /^index \.Match (\d{1,4})$/.exec(action)
  const group = number === null ? undefined : data.Match[Number(number[1])]
  if (group !== undefined) return group
  throw new AnswerUnknown(`template action {{ ${action} }} is not followed`)
}
