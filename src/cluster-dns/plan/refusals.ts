import type {FileRefusalCode, HostRefusalCode} from '../../../plugins/coredns/src/index.ts'

/** Reasons that only a cluster (or its owner) can give; the others come from the Corefile toolkit. */
export type ClusterRefusalCode =
  | 'TargetNotFound'
  | 'TargetExternalName'
  | 'TargetNoClusterIP'
  | 'HostCircle'
  | 'NodeLocalDnsAnswersFirst'
  | 'OwnedByPlatform'
  | 'OtherTool'
  | 'AdoptIncomplete'
  | 'ImportKeyNotRead'
  | 'NoReload'
  | 'Immutable'

/** Every code that `refused[].code` of a CorednsPlan can hold: docs/refusals.md lists them, and a test compares. */
export type RefusalCode = ClusterRefusalCode | FileRefusalCode | HostRefusalCode

/** Codes that mean: somebody else owns this (exit 33 instead of 32 when nothing could be taken). */
export const conflictCodes: ReadonlySet<string> = new Set<RefusalCode>(['OwnedByPlatform', 'OtherTool'])

/** The closed list, each with one sentence. */
export const refusalMeanings = {
  // one host
  InvalidName: 'not a DNS name that a rule can be written for',
  DuplicateName: 'the same name is wanted twice with different targets',
  WildcardsOff: 'a wildcard, and --wildcards was not given (a warning only)',
  WildcardUnsupported: 'CoreDNS before 1.8.4 cannot answer a wildcard under the asked name',
  InClusterZone: 'the name lies in the cluster domain, or looks like a Service of another cluster domain',
  InReverseZone: 'the name lies in a reverse zone',
  NoServerBlock: 'no server block answers the name, or the file has none',
  BlockCannotResolveTarget: 'the server block that answers the name cannot resolve the target',
  ShadowedByRule: 'an earlier rule that cannot be overtaken answers the name',
  CaughtByOperatorRule: "an operator's rule answers the name today; --before takes it too",
  AutopathAnswersFirst: 'the plugin autopath answers before rewrite does',
  AnsweredByEarlierPlugin: 'a plugin that stands before rewrite answers the name',
  TargetInvalid: 'the target is not NAMESPACE/NAME or the name of a Service',
  TargetIsHost: 'the name is the target itself',
  BlockNotEditable: 'the server block that answers the name stands in a file that cannot be edited',
  UnknownImportFirst: 'a file that could not be read stands before the place of our lines',
  TargetNotFound: 'the target Service does not exist',
  TargetExternalName: 'the target Service is an ExternalName and has no address of its own',
  TargetNoClusterIP: 'the target Service is headless or has no ClusterIP yet',
  HostCircle: 'the Ingress of the name leads through ExternalName Services back to itself',
  NodeLocalDnsAnswersFirst: 'NodeLocal DNSCache sends the name upstream, CoreDNS is never asked',
  // the whole text
  DoesNotParse: 'CoreDNS would not parse the text',
  NotLoadable: 'CoreDNS would parse the text and refuse to load it',
  NoRootZone: 'no server block holds the root zone on the DNS port',
  SuspiciousKey: 'a server block key that CoreDNS reads as something else than it looks',
  SuspiciousBraces: 'braces that CoreDNS accepts by accident',
  NotText: 'bytes that are not clean UTF-8 text',
  GluedComment: 'a comment glued to a word, which CoreDNS reads as words',
  UnterminatedQuote: 'a quote that is never closed',
  UnknownEnvironment: 'an environment reference whose value decides and cannot be seen',
  UnreadableImport: 'an import of a file that cannot be read',
  RepeatedImport: 'a snippet or file imported twice into one server block',
  MarkersDamaged: 'our marker lines are doubled, cut, swapped or span blocks; --repair shows how they would be mended',
  EmptySet: 'the wanted set is empty; --allow-empty takes our lines out',
  TooLarge: 'the text, or the ConfigMap, would come near 1 MiB',
  WouldChangeOthers: 'the result would read differently outside our lines',
  OwnedByPlatform: 'an owner re-renders the Corefile and our lines would go; --force writes all the same',
  OtherTool: 'another tool manages rules here; coredns adopt takes them over',
  AdoptIncomplete: 'a name of the other tool cannot be taken over and would be lost',
  ImportKeyNotRead: 'no server block that answers the name imports a mounted key of ours',
  NoReload: 'CoreDNS would not notice the change; --restart-coredns restarts it',
  Immutable: 'the ConfigMap is immutable',
} as const satisfies Readonly<Record<RefusalCode, string>>
