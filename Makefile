# Everything that is built or fetched for development is kept below .cache.
BIN   := .cache/bin
VENV  := .cache/venv
STACK := go run ./test/stack

# Another release of Crossplane than the one that is pinned: make test-e2e CROSSPLANE=v2.0.2
export CROSSPLANE ?=
CORE := .cache$(CROSSPLANE:%=/crossplane-%)

# Executions, not seconds: the end of a duration fails now and then for no reason (go.dev/issue/75804).
FUZZTIME ?= 4000x

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
STAMP    := -X main.version=$(VERSION) -X main.commit=$(shell git rev-parse HEAD 2>/dev/null || echo unknown)
PROGRAMS := function-ansible provider-ansible
ARCHES   ?= $(shell go env GOARCH)# What to build binaries, images and packages for.
PLUGINS  ?= linux_amd64 linux_arm64 darwin_amd64 darwin_arm64 windows_amd64# What to build the plugin of kubectl for.
PYTHON  := $(shell for p in python3.11 python3; do $$p -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null && echo $$p && break; done)
RACE    := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race) # It needs a C compiler.
RACING  := $(if $(strip $(RACE)),$(PROGRAMS:%=bin/race/%)) # The programs for the tests that use it.

# A tool is built in the module that pins it: tool,module,package[,flags of the linker]
tool = CGO_ENABLED=0 go build -C test/tools/$1 -trimpath -ldflags '-s -w $3' -o $(CURDIR)/$@ $2 && touch $@
# The version of a module that is pinned there: tool,module
pinned = $(shell go list -C test/tools/$1 -m -f '{{.Version}}' $2)

KUBERNETES    := $(addprefix $(BIN)/,kube-apiserver kube-controller-manager kubectl)
NODE_PROGRAMS := $(addprefix $(BIN)/,kube-scheduler kubelet containerd containerd-shim-runc-v2 ctr coredns cni/bridge cni/host-local test-node)
CONTROL_PLANE := $(KUBERNETES) $(BIN)/etcd $(CORE)/bin/crossplane $(CORE)/crds/.installed
FUNCTIONS     := $(addprefix $(BIN)/function-,auto-ready environment-configs patch-and-transform)
PROVIDER_IMAGE := .cache/images/.provider # For the node: an image of it, with whatever program.
ENVIRONMENTS  := $(addprefix .cache/images/environment-,oldest-$(shell go env GOARCH).tar newest-$(shell go env GOARCH).tar)
ANSIBLE       := $(VENV)/.installed
# For the tests: a collection, and those that the sample of the Operator SDK requires.
COLLECTION    := .cache/collections/kubernetes-core.tar.gz
OPERATOR      := $(addprefix .cache/collections/,$(addsuffix .tar.gz,kubernetes-core-3.2.0 cloud-common-3.0.0 community-docker-3.12.1 \
	community-library_inventory_filtering_v1-1.0.1))

# make skips no test because of a missing program; tests that this machine cannot run
# are listed in this file (test/needs).
export TESTS_SKIPPED := $(CURDIR)/.cache/skipped

.PHONY: help build tools binaries images packages plugins push sbom audit reproduce FORCE generate requirements lint test-unit unit-race unit-warm unit-alone test-install test-pods test-e2e test-faults test-security fuzz test test-apart test-with-node bench bench-pods bench-node bench-function up node-image down demo recording clean

help: ## Show this help
	@sed -n -e 's/^##@ \(.*\)/\n\1/p' -e 's/^\([a-z0-9-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

##@ Build

build: ## Build bin/function-ansible, bin/provider-ansible and bin/kubectl-ansible
	CGO_ENABLED=0 go build -trimpath -ldflags '$(STAMP)' -o bin/function-ansible ./function
	CGO_ENABLED=0 go build -trimpath -ldflags '$(STAMP)' -o bin/provider-ansible ./provider
	CGO_ENABLED=0 go build -trimpath -ldflags '$(STAMP)' -o bin/kubectl-ansible ./plugin

tools: $(ANSIBLE) $(CONTROL_PLANE) $(NODE_PROGRAMS) $(FUNCTIONS) $(addprefix $(BIN)/,crank helm golangci-lint controller-gen actionlint) ## Build or fetch the programs of the tests and checks

generate: $(BIN)/controller-gen ## Generate deep copies, CRDs, the pages in docs/api and the pictures in docs
	$(BIN)/controller-gen object paths=./apis/...
	$(BIN)/controller-gen crd paths=./apis/cluster/... paths=./apis/namespaced/... output:crd:artifacts:config=package-provider/crds
	$(BIN)/controller-gen crd paths=./apis/input/... output:crd:artifacts:config=package-function/input
	go run ./docs/generate

requirements: ## Pin what Ansible needs, with hashes, from package-provider/requirements.in
	$(PYTHON) -m venv .cache/pip-tools
	.cache/pip-tools/bin/pip install --quiet pip-tools==7.6.2
	for in in package-provider/requirements.in test/environments/oldest.in; do (cd $$(dirname $$in) && CUSTOM_COMPILE_COMMAND='make $@' \
		$(CURDIR)/.cache/pip-tools/bin/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe \
		--no-emit-index-url --no-emit-trusted-host --no-emit-find-links $$(basename $$in)) || exit 1; done

clean: down ## Remove all built files
	rm -rf bin dist .cache

##@ Test

# Each of two leaves the machine idle for a good part, so they run side by side; one of them has the node. What both need is
# built before.
test: build $(RACING) $(CONTROL_PLANE) $(NODE_PROGRAMS) $(FUNCTIONS) $(BIN)/crank $(BIN)/helm $(ANSIBLE) $(COLLECTION) $(OPERATOR) $(PROVIDER_IMAGE) ## Run all tests and checks
	$(MAKE) --no-print-directory test-unit
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target SHORT=true test-apart test-with-node
	$(MAKE) --no-print-directory test-faults FAULTS='--short --seed=1' # By itself: on a busy machine the moments of some faults do not come.
	$(MAKE) --no-print-directory test-e2e

test-apart:
	$(MAKE) fuzz
	$(MAKE) test-security

test-with-node:
	$(MAKE) test-install
	$(MAKE) test-pods
	$(MAKE) test-e2e PLACE=Pod TESTS='$(PLACED)'

# Tests that need a control plane, or attack the provider, have a target of their own,
# and so have TestNode and TestOperations.
ELSEWHERE := e2e|install|pods|render|security
UNITS      = $$(go list ./... | grep -vE '/(provider/runner|test/($(ELSEWHERE)))$$')

# Tests of bounds and of long sequences, whose code has one goroutine. The race detector finds nothing there, and takes ten
# times as long.
ALONE := ^Test(ApprovalSequences|AttackHeld|AttackMarks|AttackPayload|Bombs|Budget|CutDetails|DigestGuess|Edits|Excess|ExcessDetails|Liveness|MessagesAreLimited|Payload|Prefixes|ResolveTooMuch|Runaway|RunsAreNeverDropped|Sequences|ServeLargeRequest|ServeNoGrowth|Stable|ValuesAreLimited|WorkIsLimited)$$

test-unit: $(ANSIBLE) ## Run the unit tests
	@test -n '$(RACE)' || echo 'There is no C compiler: the unit tests run without the race detector.' >&2
	@rm -f $(TESTS_SKIPPED)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(MAKE) --no-print-directory unit-race
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(MAKE) --no-print-directory --jobs=2 unit-warm unit-alone
	@test ! -e $(TESTS_SKIPPED) || { echo 'Skipped, for what this machine cannot do:'; sort -u $(TESTS_SKIPPED); }

# The runner takes longest, one test after the other, and so comes first.
unit-race:
	go test $(RACE) -timeout=40m -skip '^Test(Node|Operations)$$|$(ALONE)' ./provider/runner $(UNITS)

unit-warm:
	go test $(RACE) ./provider/runner -timeout=40m -skip '^Test(Alike|Shipped|Warm|AttackWarm)|$(ALONE)' -args -warm

unit-alone:
	go test -p=1 -timeout=40m -run '$(ALONE)' $$(grep -rlE '^func $(ALONE:^%$$=%)\(' --include='*_test.go' apis function plugin provider | xargs -n1 dirname | sort -u | sed 's|^|./|')

lint: $(BIN)/golangci-lint $(BIN)/controller-gen $(BIN)/actionlint ## Check style, and that generated files are up to date
	@sums() { find apis docs package-function package-provider -type f | sort | xargs sha256sum; }; \
	before=$$(sums) && $(MAKE) --no-print-directory generate && test "$$before" = "$$(sums)" || \
	{ echo 'make generate has changed what was there, or failed' >&2; exit 1; }
	$(BIN)/golangci-lint run ./...
	$(BIN)/actionlint

fuzz: ## Run each fuzz test for FUZZTIME; inputs that fail are kept in its testdata
	@grep -ro '^func Fuzz[A-Za-z]*' --include='*_test.go' apis function provider | sort | while IFS=: read -r file func; do \
		go test ./$$(dirname $$file) -run '^$$' -fuzz "^$${func#func }$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x || exit 1; done

# The end to end tests whose way is another in Pods: that of inputs, content and reports.
PLACED := ^Test(ApprovalXR|ContentSources|DeletedWhileRunning|Dependents|Events|GoneWhileRunning|Helm|KeptOutput|KubectlCheck|KubectlLogs|Kubernetes|Metrics|NoSecretLeaves|Preview|Project|ProjectArchive|ProjectInPods|Report|ReportMistakes|RolesAndPlaybooks|Targets|Timeout|Variables)$$

test-e2e: build $(RACING) $(CONTROL_PLANE) $(FUNCTIONS) $(BIN)/crank $(BIN)/helm $(ANSIBLE) $(COLLECTION) $(OPERATOR) $(if $(filter Pod,$(PLACE)),$(NODE_PROGRAMS) $(PROVIDER_IMAGE)) ## Run the end to end tests, on a control plane of their own; with PLACE=Pod runs have Pods
ifneq ($(PLACE),Pod)
	KUBEBUILDER_ASSETS='$(CURDIR)/$(BIN)' go test ./provider/controller -run TestOperations -count=1 -v
	go test $(RACE) ./test/render -count=1 -v
endif
	go test $(RACE) ./test/e2e -run '$(TESTS)' -count=1 -parallel=8 -timeout=55m -v $(PLACE:%=-args -place=%); status=$$?; \
	$(STACK) down --dir=.cache/e2e --kubeconfig=.cache/e2e.kubeconfig; exit $$status

# Only root may run a node. An ordinary user's make goes on without it.
test-install: build $(CONTROL_PLANE) $(NODE_PROGRAMS) $(BIN)/crank $(if $(filter 0,$(shell id -u)),packages) ## Install both packages, on a control plane and a node of their own
	go test ./test/controlplane -run '^TestNode$$' -count=1 -v
	go test ./test/install/... -count=1 -timeout=40m -v

test-pods: build $(RACING) $(CONTROL_PLANE) $(NODE_PROGRAMS) $(PROVIDER_IMAGE) $(if $(filter 0,$(shell id -u)),$(ENVIRONMENTS)) $(ANSIBLE) ## Run the tests of runs in Pods, on a control plane with a node of their own
	go test $(RACE) ./test/pods -count=1 -parallel=8 -timeout=40m -v; status=$$?; \
	$(STACK) down --dir=.cache/pods --kubeconfig=.cache/pods.kubeconfig; exit $$status

test-security: build $(CONTROL_PLANE) $(ANSIBLE) ## Attack the provider as content and tenants could, and look for leaked secrets
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" go test ./test/security/... -count=1 -timeout=40m -v
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" go test ./test/security -run '^Test(Play[^s]|Names)' -count=1 -timeout=40m -v -args -warm
	$(if $(SHORT),,PATH="$(CURDIR)/$(VENV)/bin:$$PATH" go test ./function/... ./provider/... -count=1 -v -run 'Attack|Foreign|Guess|Redact|Secret|Vault')
	$(if $(SHORT),,go test ./test/e2e/... -count=1 -v -run 'Secret|References')

test-faults: build $(RACING) $(CONTROL_PLANE) $(ANSIBLE) ## Break processes, disks and networks while AnsibleRuns come and go, and check that no run is lost
	go run $(RACE) ./test/faults $(FAULTS)

##@ Look

demo: up ## Show how an XR becomes a finished Ansible run; with NODE=1 in a Pod
	@NODE=$(NODE) examples/site/demo.sh

recording: MAKER = $(MAKE) # make -n runs each line that names $(MAKE) itself.
recording: ## Record make demo in docs/demo.txt, and draw it
	{ echo '$$ make demo' && $(MAKER) --silent --no-print-directory demo; } \
		| sed -e 's/\x1b\[[01]m//g' -e 's|$(CURDIR)|~/crossplane-ansible|g' > docs/demo.txt
	go run ./docs/generate

up: build $(CONTROL_PLANE) $(if $(NODE),$(NODE_PROGRAMS) $(PROVIDER_IMAGE)) $(ANSIBLE) ## Start Crossplane with the function and the provider on this machine; with NODE=1 and a node
	@$(STACK) up $(if $(NODE),--node)
	@echo 'Now: export KUBECONFIG=$(CURDIR)/.cache/kubeconfig PATH=$(CURDIR)/bin:$(CURDIR)/$(BIN):$$PATH'

node-image: build $(PROVIDER_IMAGE) ## Give the node of make up NODE=1 the image of the provider, as it is now
	@$(STACK) image

down: ## Stop what make up started, and remove its data
	@$(STACK) down

##@ Measure

bench: build $(CONTROL_PLANE) $(ANSIBLE) ## Measure runs side by side with bare ansible-playbook and ansible-runner, and what many objects cost
	go run ./test/bench $(BENCH)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" go test ./test/security -run '^$$' -bench . -benchtime 20x

bench-pods: build $(CONTROL_PLANE) $(BIN)/kube-scheduler ## Measure thousands of runs in Pods that are scripts; QUICK=1 for a few hundred
	go run ./test/bench --only=pods $(if $(QUICK),--pods=100 --pod-duration=10s --pod-runs=500) $(BENCH)

bench-node: build $(CONTROL_PLANE) $(NODE_PROGRAMS) $(PROVIDER_IMAGE) $(ANSIBLE) ## Measure runs in Pods on a node side by side with runs in the provider
	go run ./test/bench --only=node $(BENCH)

bench-function: build ## Measure the function side by side with ready-made responses
	go run ./test/benchfunction

##@ Release

binaries: $(foreach a,$(ARCHES),$(PROGRAMS:%=bin/linux_$a/%)) ## Build the binaries of the images, for each of ARCHES

images: $(foreach a,$(ARCHES),$(PROGRAMS:%=.cache/images/%-$a.tar)) ## Build the images, with docker, podman or buildah

packages: $(foreach a,$(ARCHES),$(PROGRAMS:%=dist/linux_$a/%.xpkg)) ## Build dist/function-ansible.xpkg and dist/provider-ansible.xpkg
	@test -z '$(filter $(shell go env GOARCH),$(ARCHES))' || ln -f dist/linux_$(shell go env GOARCH)/*.xpkg dist/

plugins: $(PLUGINS:%=dist/kubectl-ansible_%.tar.gz) ## Build dist/kubectl-ansible_….tar.gz, the plugin of kubectl, for each of PLUGINS

sbom: $(foreach a,$(ARCHES),$(PROGRAMS:%=dist/linux_$a/%.spdx.json)) ## List the parts of the images, as SPDX

reproduce: ## Build the images again, without any cache, and compare the packages
	@sums() { sha256sum $(foreach a,$(ARCHES),$(PROGRAMS:%=dist/linux_$a/%.xpkg)); }; \
	before=$$(sums) && rm -rf .cache/images dist/linux_*/*.xpkg && NO_CACHE=1 $(MAKE) packages && after=$$(sums) && \
	echo "$$after" && test "$$before" = "$$after" || { printf 'Before it was:\n%s\n' "$$before" >&2; exit 1; }

audit: build $(BIN)/govulncheck ## Look for known vulnerabilities; needs their databases
	$(BIN)/govulncheck -mode=binary bin/function-ansible
	$(BIN)/govulncheck -mode=binary bin/provider-ansible
	$(BIN)/govulncheck -mode=binary bin/kubectl-ansible
	$(PYTHON) -m venv .cache/pip-audit
	.cache/pip-audit/bin/pip install --quiet pip-audit==2.10.1
	.cache/pip-audit/bin/pip-audit --disable-pip --require-hashes --requirement package-provider/requirements.txt

push: packages ## Push the packages to XPKG_REGISTRY, such as registry.example.org/team
	@test -n '$(XPKG_REGISTRY)' || { echo 'XPKG_REGISTRY must say where to push.' >&2; exit 1; }
	@set -e; for p in $(PROGRAMS); do \
		files=$$(printf "dist/linux_%s/$$p.xpkg," $(ARCHES)); set -x; \
		$(BIN)/crank xpkg push --package-files="$${files%,}" "$(XPKG_REGISTRY)/$$p:$(VERSION)"; done

bin/linux_%: FORCE
	CGO_ENABLED=0 GOOS=linux GOARCH=$(*D) go build -trimpath -buildvcs=false -ldflags '-s -w $(STAMP)' -o $@.new ./$(patsubst %-ansible,%,$(@F))
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi # An unchanged binary makes no new image.
	go run ./package/licenses $@ $(@D)/licenses/$(@F)

dist/kubectl-ansible_%.tar.gz: plugin = $(basename $(basename $@))/kubectl-ansible$(if $(filter windows_%,$*),.exe)
dist/kubectl-ansible_%.tar.gz: FORCE
	rm -rf $(@D)/kubectl-ansible_$*
	CGO_ENABLED=0 GOOS=$(firstword $(subst _, ,$*)) GOARCH=$(lastword $(subst _, ,$*)) go build -trimpath -buildvcs=false -ldflags '-s -w $(STAMP)' -o $(plugin) ./plugin
	go run ./package/licenses $(plugin) $(@D)/kubectl-ansible_$*/licenses
	tar --create --file=$@ --use-compress-program='gzip --no-name' --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --directory=$(@D)/kubectl-ansible_$* .

# Paths are not trimmed, so that packages compiled for the unit tests are used again.
bin/race/%-ansible: FORCE
	go build -race -ldflags '$(STAMP)' -o $@ ./$*

# The name of an image says its program and its architecture.
program = $(firstword $(filter $(PROGRAMS),$(1:-$(lastword $(subst -, ,$1))=)))
arch    = $(lastword $(subst -, ,$1))

.SECONDEXPANSION:
$(COLLECTION): test/environments/collection.sh test/environments/collections.txt $(ANSIBLE)
	$< test/environments/collections.txt $@

$(OPERATOR) &: test/environments/collection.sh test/environments/operator.txt $(ANSIBLE)
	$< test/environments/operator.txt $(OPERATOR)

# Images for Pods that are not the provider's, for the tests.
.cache/images/environment-oldest-%.tar: test/environments/Dockerfile test/environments/oldest.txt $(shell find test/environments/greeting -type f) package/image.sh package/base.sh
	package/image.sh environment-oldest $* dev $< $(<D)

.cache/images/environment-newest-%.tar: test/environments/build.sh $(COLLECTION) $(wildcard test/environments/*.yml test/environments/*.txt) package/image.sh package/base.sh $(ANSIBLE)
	PYTHON=$(PYTHON) $< .cache/environment $(COLLECTION)
	DEBIAN=trixie PIP_CONF=.cache/environment/pip.conf package/image.sh environment-newest $* dev .cache/environment/context/Dockerfile .cache/environment/context

.cache/images/%.tar: bin/linux_$$(call arch,$$*)/$$(call program,$$*) package-$$(firstword $$(subst -, ,$$*))/Dockerfile package/image.sh package/base.sh package-provider/requirements.txt package-provider/shipped_yaml.py
	package/image.sh $(call program,$*) $(call arch,$*) $(VERSION)

$(PROVIDER_IMAGE): package-provider/Dockerfile package/image.sh package/base.sh package-provider/requirements.txt package-provider/shipped_yaml.py
	$(MAKE) --no-print-directory .cache/images/provider-ansible-$(shell go env GOARCH).tar
	touch $@

# The examples of the provider are those that need no function.
dist/linux_%.xpkg: .cache/images/$$(*F)-$$(*D).tar $(BIN)/crank package-$$(firstword $$(subst -, ,$$(*F)))/crossplane.yaml
	mkdir -p $(@D)
	$(BIN)/crank xpkg build --package-root=package-$(patsubst %-ansible,%,$(*F)) \
		--examples-root=examples$(if $(filter provider-%,$(*F)),/run) --embed-runtime-image-tarball=$< --package-file=$@

# Licences of modules are read where Go has them.
dist/linux_%.spdx.json: .cache/images/$$(*F)-$$(*D).tar $(BIN)/syft
	mkdir -p $(@D)
	SYFT_CHECK_FOR_APP_UPDATE=false SYFT_GOLANG_SEARCH_LOCAL_MOD_CACHE_LICENSES=true \
	$(BIN)/syft scan docker-archive:$< --quiet --source-name=$(*F) --source-version=$(VERSION) --output=spdx-json=$@

$(KUBERNETES) $(BIN)/kube-scheduler $(BIN)/kubelet: $(BIN)/%: test/tools/kubernetes/go.mod test/tools/kubernetes/go.sum
	$(call tool,kubernetes,k8s.io/kubernetes/cmd/$*,-X k8s.io/component-base/version.gitVersion=$(call pinned,kubernetes,k8s.io/kubernetes))

$(BIN)/etcd: test/tools/etcd/go.mod test/tools/etcd/go.sum
	$(call tool,etcd,go.etcd.io/etcd/server/v3)

$(BIN)/crossplane: test/tools/crossplane/go.mod test/tools/crossplane/go.sum
	$(call tool,crossplane,github.com/crossplane/crossplane/v2/cmd/crossplane,-X github.com/crossplane/crossplane-runtime/v2/pkg/version.version=$(call pinned,crossplane,github.com/crossplane/crossplane/v2))

$(BIN)/containerd $(BIN)/containerd-shim-runc-v2 $(BIN)/ctr: $(BIN)/%: test/tools/containerd/go.mod test/tools/containerd/go.sum
	$(call tool,containerd,github.com/containerd/containerd/v2/cmd/$*)

$(BIN)/coredns: test/tools/coredns/go.mod test/tools/coredns/go.sum test/tools/coredns/main.go
	$(call tool,coredns,.)

$(BIN)/cni/bridge: test/tools/cni/go.mod test/tools/cni/go.sum
	$(call tool,cni,github.com/containernetworking/plugins/plugins/main/bridge)

$(BIN)/cni/host-local: test/tools/cni/go.mod test/tools/cni/go.sum
	$(call tool,cni,github.com/containernetworking/plugins/plugins/ipam/host-local)

$(BIN)/test-node: $(wildcard test/node/*.go) go.mod
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $@ ./test/node

# Content of the tests runs it.
$(BIN)/helm: test/tools/helm/go.mod test/tools/helm/go.sum
	$(call tool,helm,helm.sh/helm/v4/cmd/helm,-X helm.sh/helm/v4/internal/version.version=$(call pinned,helm,helm.sh/helm/v4))

$(BIN)/controller-gen: test/tools/generate/go.mod test/tools/generate/go.sum
	$(call tool,generate,sigs.k8s.io/controller-tools/cmd/controller-gen)

$(BIN)/golangci-lint: test/tools/lint/go.mod test/tools/lint/go.sum
	$(call tool,lint,github.com/golangci/golangci-lint/v2/cmd/golangci-lint)

# Functions that stand beside ours in pipelines of the tests.
$(BIN)/function-patch-and-transform: test/tools/patchandtransform/go.mod test/tools/patchandtransform/go.sum
	$(call tool,patchandtransform,github.com/crossplane-contrib/function-patch-and-transform)

$(BIN)/function-auto-ready: test/tools/autoready/go.mod test/tools/autoready/go.sum
	$(call tool,autoready,github.com/crossplane/function-auto-ready)

# It stands in for one that cannot be had as a module.
$(BIN)/function-environment-configs: $(wildcard test/environment/*.go) go.mod
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $@ ./test/environment

$(BIN)/actionlint: test/tools/workflows/go.mod test/tools/workflows/go.sum
	$(call tool,workflows,github.com/rhysd/actionlint/cmd/actionlint)

$(BIN)/govulncheck: test/tools/audit/go.mod test/tools/audit/go.sum
	$(call tool,audit,golang.org/x/vuln/cmd/govulncheck)

$(BIN)/syft: test/tools/sbom/go.mod test/tools/sbom/go.sum
	$(call tool,sbom,github.com/anchore/syft/cmd/syft,-X main.version=$(call pinned,sbom,github.com/anchore/syft))

# The command line of Crossplane, which renders Compositions offline.
$(BIN)/crank: test/tools/cli/go.mod test/tools/cli/go.sum
	$(call tool,cli,github.com/crossplane/crossplane/v2/cmd/crank)

# Core installs its API from files of its module: the directory of that
crds = rm -rf $(@D) && mkdir -p $(@D) && install -m 644 "$1"/cluster/crds/*.yaml $(@D) && touch $@

.cache/crds/.installed: $(BIN)/crossplane
	$(call crds,$$(go list -C test/tools/crossplane -m -f '{{.Dir}}' github.com/crossplane/crossplane/v2))

# A release that is not pinned, before v2.3, is built in its own module: of what it
# was released with.
release = $$(go mod download -json github.com/crossplane/crossplane/v2@$* | sed -n 's/^\t"Dir": "\(.*\)",$$/\1/p')

.cache/crossplane-%/bin/crossplane:
	CGO_ENABLED=0 go build -C "$(release)" -trimpath -o $(CURDIR)/$@ -ldflags '-s -w $(foreach m,crossplane/v2/internal \
		crossplane-runtime/v2/pkg,-X github.com/crossplane/$m/version.version=$*)' ./cmd/crossplane

.cache/crossplane-%/crds/.installed: .cache/crossplane-%/bin/crossplane
	$(call crds,$(release))

$(VENV)/.installed: package-provider/requirements.txt
	@test -n '$(PYTHON)' || { echo 'Ansible needs Python 3.11, as python3.11 or python3, with its venv module.' >&2; exit 1; }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $<
	touch $@
