import {severityRank, type Finding} from '../../model/doctor.ts'
import type {Diagnosis} from '../judged-way.ts'
import {addressLost} from './address-lost.ts'
import {annotationIgnored} from './annotation-ignored.ts'
import {believesAnybodyCheck} from './believes-anybody.ts'
import {clusterWideSwitch} from './cluster-wide-switch.ts'
import {contradictingSigns} from './contradicting-signs.ts'
import {corefileOwned} from './corefile-owned.ts'
import {cozystackAcknowledge} from './cozystack-acknowledge.ts'
import {cozystackAddon} from './cozystack-addon.ts'
import {cozystackProxied} from './cozystack-proxied.ts'
import {customWillBeWiped} from './custom-will-be-wiped.ts'
import {danglingRewrites} from './dangling-rewrites.ts'
import {deadKey} from './dead-key.ts'
import {deprecatedField} from './deprecated-field.ts'
import {dnsLostOnUpgrade} from './dns-lost-on-upgrade.ts'
import {dnsNotFound} from './dns-not-found.ts'
import {dns01} from './dns01.ts'
import {forwardedUnscoped} from './forwarded-unscoped.ts'
import {hairpinBroken} from './hairpin-broken.ts'
import {hairpinOpen} from './hairpin-open.ts'
import {handSetIpmodeUndone} from './hand-set-ipmode-undone.ts'
import {healthCheck} from './health-check.ts'
import {hostNetwork} from './host-network.ts'
import {hostNotRewritten} from './host-not-rewritten.ts'
import {hostnameStatus} from './hostname-status.ts'
import {importNotRead} from './import-not-read.ts'
import {inClusterCallers} from './in-cluster-callers.ts'
import {ipmodeNotHonoured} from './ipmode-not-honoured.ts'
import {ipmodeOnAnnounced} from './ipmode-on-announced.ts'
import {ipvsDeprecated} from './ipvs-deprecated.ts'
import {localWithL2} from './local-with-l2.ts'
import {managedGateway} from './managed-gateway.ts'
import {masqueradeAll} from './masquerade-all.ts'
import {mixedPorts} from './mixed-ports.ts'
import {noAddressYet} from './no-address-yet.ts'
import {noEndpoints} from './no-endpoints.ts'
import {noReload} from './no-reload.ts'
import {nodeLocalDns} from './node-local-dns.ts'
import {notReadable} from './not-readable.ts'
import {nothingToDo} from './nothing-to-do.ts'
import {oneNodeAnswers} from './one-node-answers.ts'
import {outsideOpen} from './outside-open.ts'
import {passthroughLoopback} from './passthrough-loopback.ts'
import {podsDiffer} from './pods-differ.ts'
import {proxyNotReady} from './proxy-not-ready.ts'
import {proxyPorts} from './proxy-ports.ts'
import {purelbRewritesPolicy} from './purelb-rewrites-policy.ts'
import {receiverWithoutSender} from './receiver-without-sender.ts'
import {senderUnseen} from './sender-unseen.ts'
import {senderWithoutReceiver} from './sender-without-receiver.ts'
import {settingNotEffective} from './setting-not-effective.ts'
import {severalClasses} from './several-classes.ts'
import {sourceRanges} from './source-ranges.ts'
import {svclbOnOtherNodes} from './svclb-on-other-nodes.ts'
import {targetCallsItself} from './target-calls-itself.ts'
import {tcpService} from './tcp-service.ts'
import {trustListDefault} from './trust-list-default.ts'
import {trustListMissesPeer} from './trust-list-misses-peer.ts'
import {twoHairpinTools} from './two-hairpin-tools.ts'
import {unknownBalancer} from './unknown-balancer.ts'
import {unknownReceiver} from './unknown-receiver.ts'
import {unknownValue} from './unknown-value.ts'
import {findingsOf, type Check} from './check.ts'

/** Every check, by id. A number that is gone is never used again. */
export const checks: readonly Check[] = [
  addressLost,
  outsideOpen,
  hairpinBroken,
  hairpinOpen,
  receiverWithoutSender,
  senderWithoutReceiver,
  senderUnseen,
  trustListMissesPeer,
  settingNotEffective,
  annotationIgnored,
  contradictingSigns,
  unknownBalancer,
  noAddressYet,
  ipmodeOnAnnounced,
  handSetIpmodeUndone,
  mixedPorts,
  hostnameStatus,
  healthCheck,
  targetCallsItself,
  trustListDefault,
  deadKey,
  forwardedUnscoped,
  podsDiffer,
  believesAnybodyCheck,
  passthroughLoopback,
  ipmodeNotHonoured,
  deprecatedField,
  clusterWideSwitch,
  unknownReceiver,
  managedGateway,
  oneNodeAnswers,
  localWithL2,
  purelbRewritesPolicy,
  svclbOnOtherNodes,
  masqueradeAll,
  ipvsDeprecated,
  hostNetwork,
  unknownValue,
  noEndpoints,
  tcpService,
  inClusterCallers,
  dns01,
  severalClasses,
  sourceRanges,
  notReadable,
  nodeLocalDns,
  twoHairpinTools,
  danglingRewrites,
  customWillBeWiped,
  proxyPorts,
  corefileOwned,
  dnsLostOnUpgrade,
  importNotRead,
  noReload,
  dnsNotFound,
  cozystackAddon,
  cozystackAcknowledge,
  hostNotRewritten,
  proxyNotReady,
  cozystackProxied,
  nothingToDo,
]

/**
 * Runs every check. The worst come first, then by id and object. What several ports of one Service share is one finding,
 * which then belongs to no single way in.
 */
export function runChecks(diagnosis: Diagnosis): Finding[] {
  const merged = new Map<string, Finding>()
  for (const finding of checks.flatMap((check) => findingsOf(check, diagnosis))) {
    const {path: _path, evidence: _evidence, ...rest} = finding
    const key = JSON.stringify(rest)
    const known = merged.get(key)
    if (known === undefined) merged.set(key, finding)
    else if (known.path !== finding.path) merged.set(key, withoutPath(known))
  }
  return [...merged.values()].toSorted(
    (a, b) =>
      severityRank[a.severity] - severityRank[b.severity] ||
      compare(a.id, b.id) ||
      compare(a.object, b.object) ||
      compare(a.path ?? '', b.path ?? ''),
  )
}

function withoutPath({path: _path, ...rest}: Finding): Finding {
  return rest
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
