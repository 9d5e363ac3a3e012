#!/usr/bin/env node
// kubectl looks for `kubectl_complete-srcip` on PATH and passes the words after `srcip`.
process.argv.splice(2, 0, '__complete')
await import('./run.js')
