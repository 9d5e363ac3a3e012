export {ask, askAddress, type AskOptions, type Question, type Reply} from './ask.ts'
export {dnsChecks, connectionCheck, type PodDnsAnswer} from './inside.ts'
export {questionOf, verifyOutside, type AskPort, type OutsideRequest} from './outside.ts'
export {shares, verifyExitCode} from './verdict.ts'
