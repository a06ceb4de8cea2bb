#!/usr/bin/env bash
# Builds the real Kubernetes control plane (etcd, kube-apiserver,
# kube-controller-manager, kube-scheduler, kubectl) from the Go modules that
# go.mod beside this file pins. No program is downloaded, only source.
#
#   build.sh           build what is missing; says nothing to do within a blink
#   build.sh --check   is everything built for this go.sum? Exit status 0 or 1
#   build.sh --where   print the directory with the programs
#
# The directory is $UNMOOR_CONTROLPLANE_DIR, by default a cache in the home
# directory. A program appears there only when it is whole: it is linked under
# another name and moved. The stamp is written last, so an interrupted build
# goes on where it stopped.
set -euo pipefail

readonly program=hack/controlplane/build.sh
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here"

version=$(awk '$1 == "k8s.io/kubernetes" && $2 ~ /^v/ { print $2; exit }' go.mod)
go_needed=$(awk '$1 == "go" { print $2; exit }' go.mod)
dir=${UNMOOR_CONTROLPLANE_DIR:-$HOME/.cache/unmoor/controlplane/$version}

# What each program is called here, and the package that it is built from.
readonly programs="etcd kube-apiserver kube-controller-manager kube-scheduler kubectl"
package_of() {
  case $1 in
    etcd) echo go.etcd.io/etcd/server/v3 ;; # Go would call it `server`
    *) echo "k8s.io/kubernetes/cmd/$1" ;;
  esac
}

say() { printf '%s\n' "$*" >&2; }
fail() { say "$program: $*"; exit 1; }

# The stamp changes with every pinned module and with the flags in this script.
fingerprint() {
  local sha="sha256sum"
  command -v sha256sum >/dev/null || sha="shasum -a 256"
  cat go.mod go.sum build.sh | $sha | cut -c1-64
}

is_built() {
  local name
  [ "$(cat "$dir/stamp" 2>/dev/null)" = "$wanted" ] || return 1
  for name in $programs; do [ -x "$dir/$name" ] || return 1; done
}

require_go() {
  local remedy="install Go $go_needed or newer (https://go.dev/doc/install)"
  local found
  command -v go >/dev/null || fail "Go is not on the PATH; $remedy and run this again."
  # With GOTOOLCHAIN=auto an older Go answers here with the one go.mod wants.
  found=$(go env GOVERSION 2>/dev/null) || found=$(go version | awk '{ print $3 }')
  if ! printf '%s\n%s\n' "$go_needed" "${found#go}" | sort -C -V; then
    fail "found $found, but Kubernetes $version needs Go $go_needed; $remedy," \
      "or let the Go you have fetch it: GOTOOLCHAIN=auto $program"
  fi
}

# Without the version flags kubectl refuses to parse the server's version.
link_flags() {
  local numbers=${version#v} flags="-s -w" package
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=$version"
    flags+=" -X $package.gitMajor=$(echo "$numbers" | cut -d. -f1)"
    flags+=" -X $package.gitMinor=$(echo "$numbers" | cut -d. -f2)"
    flags+=" -X $package.gitTreeState=clean"
  done
  echo "$flags"
}

compiler="" ticker=""
leave() {
  [ -z "$ticker" ] || kill "$ticker" 2>/dev/null || true
  # Go removes its work directory on an interrupt, not on a kill.
  [ -z "$compiler" ] || kill -INT "$compiler" 2>/dev/null || true
}
interrupted() {
  say "$program: interrupted; what is finished is kept, run it again to go on."
  exit 130
}

build() { # name, number
  local name=$1 began=$SECONDS
  say "[$2/5] building $name"
  ( while sleep 20 </dev/null >/dev/null 2>&1; do
      say "      ... still building $name, $((SECONDS - began)) s"
    done ) 9>&- &
  ticker=$!
  CGO_ENABLED=0 GOWORK=off go build -mod=readonly -trimpath -ldflags "$(link_flags)" \
    -o "$stage/$name.part" "$(package_of "$name")" 9>&- &
  compiler=$!
  wait "$compiler" || fail "go could not build $name; its message is above."
  compiler=""
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  ticker=""
  mv -f "$stage/$name.part" "$stage/$name"
  say "[$2/5] built    $name in $((SECONDS - began)) s"
}

wanted=$(fingerprint)
case ${1:-} in
  --where) echo "$dir"; exit 0 ;;
  --check) is_built; exit ;;
  "") ;;
  *) fail "unknown argument $1; there are --check and --where." ;;
esac
if is_built; then
  say "control plane $version is already built in $dir"
  exit 0
fi

require_go
mkdir -p "$dir"
# Two builds at once would take twice as long: the second waits, then finds it done.
# (Children close descriptor 9, or one that outlives this script would hold the lock.)
if command -v flock >/dev/null; then
  exec 9>"$dir/lock"
  flock -n 9 || { say "waiting for another build of the control plane"; flock 9; }
  if is_built; then
    say "control plane $version was built meanwhile in $dir"
    exit 0
  fi
fi

trap leave EXIT
trap interrupted INT TERM HUP
stage=$dir/stage-${wanted:0:12}
say "building the control plane $version into $dir"
say "(about 5 minutes on two cores the first time; seconds when Go's build cache is warm)"
mkdir -p "$stage"
number=0
for name in $programs; do
  number=$((number + 1))
  if [ -x "$stage/$name" ]; then say "[$number/5] kept     $name"; else build "$name" $number; fi
done

rm -f "$dir/stamp"
for name in $programs; do mv -f "$stage/$name" "$dir/$name"; done
echo "$wanted" >"$dir/stamp.part"
mv -f "$dir/stamp.part" "$dir/stamp"
rm -rf "$dir"/stage-*
say "control plane $version is built in $dir, $SECONDS s"
