#!/usr/bin/env bash
# Carry a chart and its images into a site without network, every digest intact.
#
# Two machines: `connected` reaches the sources, `site` reaches the registry of the site. What lies between them is a disk.
# Each step stands alone and can be run again: what is done already is found done.
#
#   SOURCES="oci://registry.example.org/charts/app:1.2.0 registry.example.org/acme/app:1.2.0" \
#     docs/runbooks/air-gapped.sh connected /media/disk
#   TARGET=registry.site.example:5000 docs/runbooks/air-gapped.sh site /media/disk
#
# SRCIP     the command, `kubectl srcip` by default
# SOURCES   references, charts as oci://…; or give MIRROR_FLAGS="--cozystack ./cozystack"
# FLAGS     more flags for every step, such as --ca-file or --plain-http HOST
# SPLIT     largest file that the disk takes (FAT32: 4095M)
# LAYOUT    keep, host-prefix or flat
# RUNTIME   containerd, k3s, rke2, talos, cri-o or idms: the nodes of the site
set -euo pipefail

step=${1:?connected, update or site}
disk=${2:?folder of the disk}
srcip=${SRCIP:-kubectl srcip}
layout=${LAYOUT:-keep}
runtime=${RUNTIME:-containerd}
read -r -a flags <<<"${FLAGS:-}"
read -r -a sources <<<"${SOURCES:-} ${MIRROR_FLAGS:-}"

mirror() { $srcip mirror "$@" ${flags[@]+"${flags[@]}"}; }

case $step in
connected)
  # 1. What is it, by digest? The lock file is reviewed and kept: the same file gives the same mirror, whatever tags do.
  [ -e "$disk/mirror.lock.yaml" ] || mirror plan "${sources[@]}" --output-file "$disk/mirror.lock.yaml"
  # 2. Onto the disk. A cut export goes on where it stopped.
  [ -e "$disk/mirror.tar" ] || [ -e "$disk/mirror.tar.000" ] ||
    mirror export "$disk/mirror.tar" --plan-file "$disk/mirror.lock.yaml" ${SPLIT:+--split "$SPLIT"}
  # 3. Is what lies there whole? Needs no network.
  $srcip mirror inspect "$disk/mirror.tar"
  ;;
update)
  # A later version: only what the first archive lacks. Import the first one before it, once.
  mirror plan "${sources[@]}" --output-file "$disk/update.lock.yaml"
  [ -e "$disk/update.tar" ] || mirror export "$disk/update.tar" --plan-file "$disk/update.lock.yaml" --since "$disk/mirror.tar"
  ;;
site)
  target=${TARGET:?registry of the site, HOST[/PREFIX]}
  # 1. Whole after the journey?
  (cd "$disk" && sha256sum --check --quiet mirror.tar.sha256)
  # 2. Into the registry. Tags come last, so nobody sees half an image; a second run moves nothing.
  mirror import "$disk/mirror.tar" --to "$target" --layout "$layout"
  if [ -e "$disk/update.tar" ]; then
    (cd "$disk" && sha256sum --check --quiet update.tar.sha256)
    mirror import "$disk/update.tar" --to "$target" --layout "$layout"
  fi
  # 3. As a kubelet reads it: by digest, every child, every byte. With --pull-secret NAMESPACE/NAME by the cluster's own login.
  lock=$disk/mirror.lock.yaml
  mirror verify --plan-file "$lock" --to "$target" --layout "$layout" --deep
  # 4. What the nodes need so that images keep their names; shown as a diff where files are there already.
  $srcip mirror node-config --plan-file "$lock" --to "$target" --layout "$layout" --runtime "$runtime" --output-dir "$disk/node-config" ${NODE_FLAGS:-}
  ;;
*)
  echo "unknown step $step: connected, update or site" >&2
  exit 2
  ;;
esac
