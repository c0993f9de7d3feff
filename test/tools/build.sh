#!/bin/sh
# build.sh PROGRAM: build .cache/bin/PROGRAM from the module in test/tools that pins it
set -eu
cd "$(dirname "$0")/../.."
program=$1
out=$PWD/.cache/bin/$program

# build MODULE PACKAGE [VARIABLE PINNED]: VARIABLE gets the version of the module PINNED.
build() {
	flags='-s -w'
	if [ $# -gt 2 ]; then flags="$flags -X $3=$(go list -C "test/tools/$1" -m -f '{{.Version}}' "$4")"; fi
	go build -C "test/tools/$1" -ldflags "$flags" -o "$out" "$2"
	touch "$out" # For make: it stays as it is if it is up to date.
}

# core of Crossplane, and its API, which are files of its module. CROSSPLANE names a release before v2.3 that is
# built in its own module, of what it was released with.
core() {
	if [ -z "${CROSSPLANE:-}" ]; then
		build crossplane $crossplane/cmd/crossplane github.com/crossplane/crossplane-runtime/v2/pkg/version.version $crossplane
		dir=$(go list -C test/tools/crossplane -m -f '{{.Dir}}' $crossplane)
		crds=.cache/crds
	else
		dir=$(go mod download -json $crossplane@"$CROSSPLANE" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
		crds=.cache/crossplane-$CROSSPLANE/crds
		out=$PWD/.cache/crossplane-$CROSSPLANE/bin/crossplane
		flags='-s -w'
		for m in crossplane/v2/internal crossplane-runtime/v2/pkg; do flags="$flags -X github.com/crossplane/$m/version.version=$CROSSPLANE"; done
		go build -C "$dir" -ldflags "$flags" -o "$out" ./cmd/crossplane
		touch "$out"
	fi
	rm -rf $crds
	mkdir -p $crds
	install -m 644 "$dir"/cluster/crds/*.yaml $crds
}

kubernetes=k8s.io/kubernetes
crossplane=github.com/crossplane/crossplane/v2
case $program in
kube-* | kubelet | kubectl)
	build kubernetes $kubernetes/cmd/"$program" k8s.io/component-base/version.gitVersion $kubernetes ;;
etcd) build etcd go.etcd.io/etcd/server/v3 ;;
containerd | containerd-shim-runc-v2 | ctr) build containerd github.com/containerd/containerd/v2/cmd/"$program" ;;
coredns) build coredns . ;;
cni/bridge) build cni github.com/containernetworking/plugins/plugins/main/bridge ;;
cni/host-local) build cni github.com/containernetworking/plugins/plugins/ipam/host-local ;;
crossplane) core ;;
crank) build cli $crossplane/cmd/crank ;; # Crossplane's command line.
helm) build helm helm.sh/helm/v4/cmd/helm helm.sh/helm/v4/internal/version.version helm.sh/helm/v4 ;;
function-patch-and-transform) build patchandtransform github.com/crossplane-contrib/function-patch-and-transform ;;
function-auto-ready) build autoready github.com/crossplane/function-auto-ready ;;
controller-gen) build generate sigs.k8s.io/controller-tools/cmd/controller-gen ;;
golangci-lint) build lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint ;;
actionlint) build workflows github.com/rhysd/actionlint/cmd/actionlint ;;
govulncheck) build audit golang.org/x/vuln/cmd/govulncheck ;;
syft) build sbom github.com/anchore/syft/cmd/syft main.version github.com/anchore/syft ;;
# Ours. The function stands in for one that cannot be had as a module.
test-node) go build -ldflags '-s -w' -o "$out" ./test/node ;;
function-environment-configs) go build -ldflags '-s -w' -o "$out" ./test/environment ;;
*) echo "build.sh: there is no program $program" >&2; exit 1 ;;
esac
