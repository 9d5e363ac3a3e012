import type {DoctorReport, Finding, Hop, Verdict, WayIn} from '../../model/doctor.ts'
import {hopWord, summary} from './picture.ts'

/**
 * The report as one HTML file that needs nothing else: no script, no font, no address outside. Made to be attached to a ticket and to
 * be printed. Everything that comes from the cluster is escaped, and the page forbids itself to load or run anything.
 */
export function doctorHtml(report: DoctorReport): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>kubectl srcip doctor</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Where the client address is lost</h1>
<p class="summary">${escape(summary(report))}</p>
${report.paths.map(wayHtml).join('')}${report.findings.length === 0 ? '' : `<h2>Findings</h2>\n${report.findings.map(findingHtml).join('')}`}${notSeenHtml(report)}</main>
</body>
</html>
`
}

const style = `
:root{color-scheme:light dark;--line:#8886;--bad:#b3261e;--good:#1e7d34;--open:#946200}
@media(prefers-color-scheme:dark){:root{--bad:#ff8a80;--good:#7ddf92;--open:#ffcf70}}
body{font:15px/1.45 system-ui,sans-serif;margin:0;padding:1.5rem}
main{max-width:60rem;margin:auto}
h1{font-size:1.4rem}h2{font-size:1.15rem;margin-top:2rem}h3{font-size:1rem;margin:0 0 .3rem;overflow-wrap:anywhere}
section,article{border:1px solid var(--line);border-radius:.5rem;padding:1rem;margin:1rem 0;break-inside:avoid}
.hops{display:flex;flex-wrap:wrap;gap:.4rem 0;list-style:none;margin:.8rem 0;padding:0}
.hops li{display:flex;align-items:stretch}
.hops li+li::before{content:"\\2192";align-self:center;padding:0 .45rem;font-size:1.2rem}
.hop{border:1px solid var(--line);border-radius:.4rem;padding:.35rem .6rem;min-width:4.5rem}
.hop b{display:block}.hop span{display:block;font-size:.85rem;overflow-wrap:anywhere}
.lost{border:2px solid var(--bad)}.lost .word{color:var(--bad);font-weight:600}
.kept .word,.carried .word{color:var(--good)}.unknown .word,.translated .word{color:var(--open)}
.verdict{margin:.3rem 0}.verdict b{display:inline-block;min-width:4.5rem}
.badge{font-weight:600;padding:.05rem .5rem;border-radius:1rem;border:1px solid currentcolor}
.broken,.half-broken,.error{color:var(--bad)}.fine,.not-needed{color:var(--good)}.depends,.unknown-verdict,.warning{color:var(--open)}
code,pre{font:13px/1.4 ui-monospace,monospace;overflow-wrap:anywhere;white-space:pre-wrap}
pre{border-left:3px solid var(--line);margin:.4rem 0;padding:.1rem .6rem}
small,.addresses{color:GrayText;overflow-wrap:anywhere}
`

function wayHtml(way: WayIn): string {
  const after = way.after
  return `<section>
<h3>service/${escape(way.namespace)}/${escape(way.service)} ${way.port}/${escape(way.protocol)}</h3>
<div class="addresses">${escape([...way.addresses, ...way.hosts].join('  '))}</div>
<ol class="hops">${way.hops.map(hopHtml).join('')}</ol>
${verdictHtml('outside', way.outside)}${verdictHtml('hairpin', way.hairpin)}${
    after === undefined
      ? ''
      : `<p><b>after ${after.for}</b></p>\n${verdictHtml('outside', after.outside)}${verdictHtml('hairpin', after.hairpin)}${after.breaks.map((text) => `<p class="verdict error">breaks: ${escape(text)}</p>\n`).join('')}`
  }</section>
`
}

function hopHtml(hop: Hop): string {
  const name = hop.name === hop.at ? '' : `<span>${escape(hop.name)}</span>`
  const word = hop.at === 'client' ? '' : `<span class="word">${escape(hopWord(hop))}</span>`
  const how = hop.at === 'client' ? '' : ` title="${escape(hop.how)}"`
  return `<li><div class="hop ${hop.lost ? 'lost' : hop.source}"${how}><b>${hop.at}</b>${name}${word}</div></li>`
}

function verdictHtml(name: string, {verdict, why, check, grade}: Verdict): string {
  const kind = verdict === 'unknown' ? 'unknown-verdict' : verdict
  const settle = check === undefined ? '' : `<br><small>settle it: ${escape(check)}</small>`
  const founded = grade === 'source' ? '' : ` <small>(${grade})</small>`
  return `<p class="verdict"><b>${name}</b> <span class="badge ${kind}">${verdict}</span> ${escape(why)}${founded}${settle}</p>\n`
}

function findingHtml({id, severity, title, object, path, evidence, remedies}: Finding): string {
  const seen = evidence
    .map(
      (one) =>
        `<li><code>${escape([one.object, one.field, one.value].filter((part) => part !== undefined).join('  '))}</code></li>`,
    )
    .join('')
  const fixes = remedies
    .map((remedy) => `<li><b>${escape(remedy.id)}</b>: ${escape(remedy.why)}<pre>${escape(remedy.text)}</pre></li>`)
    .join('')
  return `<article>
<h3><span class="badge ${severity}">${severity}</span> ${escape(id)} ${escape(title)}</h3>
<small>${escape(path ?? object)}</small>
${seen === '' ? '' : `<ul>${seen}</ul>\n`}${fixes === '' ? '' : `<p>What to do, cheapest first:</p><ol>${fixes}</ol>\n`}</article>
`
}

function notSeenHtml({notSeen}: DoctorReport): string {
  if (notSeen.length === 0) return ''
  const rows = notSeen.map(
    ({verb, resource, namespace, reason}) =>
      `<li><code>${escape(`${verb} ${resource}${namespace === undefined ? '' : ` in ${namespace}`}`)}</code> ${escape(reason)}</li>`,
  )
  return `<h2>Not seen</h2>\n<ul>${rows.join('')}</ul>\n`
}

/** Text for element content and quoted attributes; characters that cannot be seen are shown as a replacement character. */
function escape(text: string): string {
  return text
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
