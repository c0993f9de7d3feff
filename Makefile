# Everything that is built or fetched for development is kept below .cache.
BIN   := .cache/bin
VENV  := .cache/venv
STACK := go run ./test/stack

# The same flags everywhere, so that what one target has compiled serves all others, in every clone.
export GOFLAGS     := $(sort $(GOFLAGS) -trimpath -buildvcs=false)
export CGO_ENABLED := 0
# RACE=1 has the tests on a control plane use programs with the race detector.
export RACE ?=

# Another release of Crossplane than the one that is pinned: make test-e2e CROSSPLANE=v2.0.2
export CROSSPLANE ?=
CORE := .cache$(CROSSPLANE:%=/crossplane-%)

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
STAMP    := -X main.version=$(VERSION) -X main.commit=$(shell git rev-parse HEAD 2>/dev/null || echo unknown)
PROGRAMS := function-ansible provider-ansible
ARCH     := $(shell go env GOARCH)
ARCHES   ?= $(ARCH)# What to build binaries, images and packages for.
PLUGINS  ?= linux_amd64 linux_arm64 darwin_amd64 darwin_arm64 windows_amd64# What to build the plugin of kubectl for.
ROOT     := $(filter 0,$(shell id -u))# Only root may run a node.

# Go uses all processors by itself.
.NOTPARALLEL:

CONTROL_PLANE := $(addprefix $(BIN)/,kube-apiserver kube-controller-manager kubectl etcd) $(CORE)/bin/crossplane
FUNCTIONS     := $(addprefix $(BIN)/function-,auto-ready environment-configs patch-and-transform)
NODE_PROGRAMS := $(addprefix $(BIN)/,kube-scheduler kubelet containerd containerd-shim-runc-v2 ctr coredns cni/bridge cni/host-local test-node)
NODE_IMAGE    := .cache/images/.provider # The provider's, with whatever program.
ENVIRONMENTS  := .cache/images/environment-oldest-$(ARCH).tar .cache/images/environment-newest-$(ARCH).tar
ANSIBLE       := $(VENV)/.installed
# Collections for the tests, and those that the sample of the Operator SDK requires.
COLLECTIONS_NEW := $(addprefix .cache/collections/,kubernetes-core.tar.gz ansible-posix.tar.gz community-general.tar.gz \
	community-postgresql.tar.gz)
COLLECTIONS_OLD := $(addprefix .cache/collections/,kubernetes-core-3.2.0.tar.gz cloud-common-3.0.0.tar.gz \
	community-docker-3.12.1.tar.gz community-library_inventory_filtering_v1-1.0.1.tar.gz)
COLLECTIONS     := $(COLLECTIONS_NEW) $(COLLECTIONS_OLD)
# What make up NODE=1 needs, test-e2e PLACE=Pod, and faults FAULTS=-place=Pod.
POD := $(if $(NODE)$(findstring Pod,$(PLACE)$(FAULTS)),needs-node $(NODE_PROGRAMS) $(NODE_IMAGE))
TEST_STACK := --dir=.cache/test --kubeconfig=.cache/test.kubeconfig

.PHONY: help build generate requirements test test-unit test-e2e test-node node-parts test-nightly lint tools fuzz faults demo up node-image \
	down recording bench bench-function bench-chain binaries images packages plugins sbom audit \
	reproduce push clean FORCE

help: ## Show this help
	@sed -n -e 's/^##@ \(.*\)/\n\1/p' -e 's/^\([a-z0-9-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

##@ Look

demo: up ## Show how an XR becomes a finished Ansible run; with NODE=1, as root, in a Pod
	@NODE=$(NODE) examples/site/demo.sh

up: needs-demo $(POD) build $(CONTROL_PLANE) $(ANSIBLE) ## Start Crossplane with the function and the provider on this machine
	@$(STACK) up $(if $(NODE),--node)
	@echo 'Now: export KUBECONFIG=$(CURDIR)/.cache/kubeconfig PATH=$(CURDIR)/bin:$(CURDIR)/$(BIN):$$PATH'

down: ## Stop what make up started, and remove its data
	@$(STACK) down

##@ Test

# Packages of Debian are installed, or asked for, before anything is built.
test: ## Run all tests and checks; those of runs in Pods as root only
	@test/machine.sh unit e2e $(if $(ROOT),node hosts)
	$(MAKE) test-unit
	$(MAKE) lint
	$(MAKE) build $(CONTROL_PLANE) $(FUNCTIONS) $(BIN)/crank $(COLLECTIONS)
	$(if $(ROOT),mkdir -p .cache/logs; nice $(MAKE) node-parts >.cache/logs/node-parts.log 2>&1 &) \
	$(MAKE) test-e2e KEEP=1; status=$$?; wait; exit $$status
	$(MAKE) test-node
	@$(skipped)

# What only a node needs, and no other target. It is built while the end-to-end tests wait.
node-parts: $(NODE_PROGRAMS) $(NODE_IMAGE) $(ENVIRONMENTS) packages

# What a test leaves out, since this machine cannot do it, is in this file (test/needs). Nothing is left out for a missing program.
export TESTS_SKIPPED := $(CURDIR)/.cache/skipped
skipped = status=$$?; test ! -e $(TESTS_SKIPPED) || { echo 'Left out, for what this machine or user cannot do:'; sort -u $(TESTS_SKIPPED); }; exit $$status
ANSIBLE_PATH = PATH="$(CURDIR)/$(VENV)/bin:$$PATH"

# Packages that need a control plane, and those whose code has goroutines. There, tests of bounds and of long sequences,
# TestLong…, run without the race detector, which takes ten times as long.
CLUSTER := /test/(e2e|faults|install|pods|render|security)$$
RACY    := /(plugin|provider/(content|controller|dependents|galaxy|kubeapi|pods|pool|supervisor|warm|workdir))$$

test-unit: needs-unit $(ANSIBLE) ## Run the tests that need no cluster
	@rm -f $(TESTS_SKIPPED)
	$(ANSIBLE_PATH) CGO_ENABLED=1 go test -race -vet=off -timeout=20m -skip '^Test(Long|Operations$$)' $$(go list ./... | grep -E '$(RACY)') & race=$$!; \
	export $(ANSIBLE_PATH); go test -vet=off -timeout=20m $$(go list ./... | grep -vE '$(CLUSTER)|$(RACY)') && \
	go test -vet=off -timeout=20m -run ^TestLong $$(grep -rl '^func TestLong' --include='*_test.go' plugin provider | sed 's|^|./|; s|/[^/]*$$||' | sort -u | grep -E '$(RACY)'); \
	status=$$?; wait $$race || status=$$?; (exit $$status); $(skipped)

test-e2e: needs-e2e $(if $(ROOT),needs-hosts) $(POD) build $(CONTROL_PLANE) $(FUNCTIONS) $(BIN)/crank $(BIN)/helm $(ANSIBLE) $(COLLECTIONS) ## Run the tests on a control plane, attacks and faults, with runs in the provider
	go test ./test/render -count=1 -v
	@mkdir -p .cache/logs
	{ $(ANSIBLE_PATH) KUBEBUILDER_ASSETS='$(CURDIR)/$(BIN)' go test ./provider/controller -run TestOperations -count=1 -v && \
	$(ANSIBLE_PATH) go test ./test/security/... -count=1 -timeout=20m -v$(if $(and $(KEEP),$(ROOT)),, && \
	$(SHORT_FAULTS)); } >.cache/logs/test-security.log 2>&1 & security=$$!; \
	go test ./test/e2e -run '$(TESTS)' -count=1 -parallel=8 -timeout=40m -v -args -keep $(PLACE:%=-place=%); status=$$?; \
	wait $$security || status=$$?; cat .cache/logs/test-security.log; \
	test -n '$(KEEP)' -a $$status = 0 || $(STACK) down $(TEST_STACK); exit $$status

# Faults wait most of the time. As root, make test has them beside the tests of Pods and of the installation.
SHORT_FAULTS := go test ./test/faults -count=1 -timeout=20m -v -args -seed=1

# The end-to-end tests whose way is another in Pods: that of inputs, content and reports.
PLACED := ^Test(ContentSources|DriftEvents|Events|KeptOutput|KubectlLogs|NoSecretLeaves|Targets)$$

ifdef ROOT
test-node: needs-node build $(CONTROL_PLANE) $(FUNCTIONS) $(BIN)/crank $(ANSIBLE) node-parts ## Run the tests of runs in Pods on a node, and install both packages there; as root
	@mkdir -p .cache/logs
	go test ./test/install -count=1 -timeout=40m -v >.cache/logs/test-install.log 2>&1 & install=$$!; \
	$(SHORT_FAULTS) >.cache/logs/test-faults.log 2>&1 & faults=$$!; \
	go test ./test/e2e -run '$(PLACED)' -count=1 -parallel=8 -timeout=40m -v -args -keep -place=Pod && \
	go test ./test/pods -count=1 -parallel=8 -timeout=40m -v -args -keep; status=$$?; \
	$(STACK) down $(TEST_STACK); \
	for each in $$install $$faults; do wait $$each || status=$$?; done; \
	cat .cache/logs/test-install.log .cache/logs/test-faults.log; exit $$status
else
test-node:
	@echo 'Left out: the tests of runs in Pods, and of the installation. They need a node, which only root may run.'
	@$(STACK) down $(TEST_STACK)
endif

# What takes hours, for what only chance or another version finds: every promise has its test in make test.
test-nightly: ## Run more of the tests, for hours: faults, fuzzing, races, all in Pods, an old Crossplane
	$(MAKE) test-e2e RACE=1
	$(MAKE) fuzz
	$(MAKE) faults
	$(MAKE) test-e2e CROSSPLANE=v2.0.2
ifdef ROOT
	$(MAKE) faults FAULTS='-place=Pod -faults=100'
	$(MAKE) test-e2e PLACE=Pod
	$(MAKE) test-node CROSSPLANE=v2.0.2
endif

# Executions, not seconds: the end of a duration fails now and then for no reason (go.dev/issue/75804).
FUZZTIME ?= 40000x
fuzz: # Run each fuzz test for FUZZTIME. Inputs that fail are kept in its testdata.
	@grep -ro '^func Fuzz[A-Za-z]*' --include='*_test.go' apis function provider | sort | while IFS=: read -r file func; do \
		go test ./$$(dirname $$file) -run '^$$' -fuzz "^$${func#func }$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x || exit 1; done

faults: needs-e2e $(POD) build $(CONTROL_PLANE) $(ANSIBLE) # Break things while AnsibleRuns come and go.
	go test ./test/faults -count=1 -timeout=12h -v -args -faults=210 $(FAULTS)

lint: $(addprefix $(BIN)/,golangci-lint controller-gen actionlint) ## Check style, and that generated files are up to date
	@sums() { find apis docs package-function package-provider -type f | sort | xargs sha256sum; }; \
	before=$$(sums) && $(MAKE) --no-print-directory generate && test "$$before" = "$$(sums)" || \
	{ echo 'make generate has changed what was there, or failed' >&2; exit 1; }
	$(BIN)/golangci-lint run --allow-parallel-runners ./...
	$(BIN)/actionlint

##@ Build

build: $(if $(RACE),needs-race $(PROGRAMS:%=bin/race/%)) ## Build bin/function-ansible, bin/provider-ansible and bin/kubectl-ansible
	go build -ldflags '$(STAMP)' -o bin/function-ansible ./function
	go build -ldflags '$(STAMP)' -o bin/provider-ansible ./provider
	go build -ldflags '$(STAMP)' -o bin/kubectl-ansible ./plugin

bin/race/%-ansible: FORCE
	CGO_ENABLED=1 go build -race -ldflags '$(STAMP)' -o $@ ./$*

generate: $(BIN)/controller-gen ## Generate deep copies, CRDs, the pages in docs/api and the pictures in docs
	$(BIN)/controller-gen object crd $(foreach p,common cluster namespaced,paths=./apis/$p/...) output:crd:artifacts:config=package-provider/crds
	$(BIN)/controller-gen object crd paths=./apis/input/... output:crd:artifacts:config=package-function/input
	go run ./docs/generate

requirements: ## Pin what Ansible needs, with hashes, from package-provider/requirements.in
	package/requirements.sh package-provider/requirements.in test/environments/oldest.in

packages: needs-images $(foreach a,$(ARCHES),$(PROGRAMS:%=dist/linux_$a/%.xpkg)) ## Build dist/function-ansible.xpkg and dist/provider-ansible.xpkg
	@test -z '$(filter $(ARCH),$(ARCHES))' || ln -f dist/linux_$(ARCH)/*.xpkg dist/

clean: down ## Remove all built files
	@$(STACK) down $(TEST_STACK)
	rm -rf bin dist .cache

# Other targets, which few people need.

tools: $(ANSIBLE) $(CONTROL_PLANE) $(NODE_PROGRAMS) $(FUNCTIONS) $(addprefix $(BIN)/,crank helm golangci-lint controller-gen actionlint) # Programs of the tests and checks.

node-image: needs-node build $(NODE_IMAGE) # Give the node of make up NODE=1 the image of the provider, as it is now.
	@$(STACK) image

recording reproduce: MAKER = $(MAKE) # make -n runs each line that names $(MAKE) itself.
recording: # Record make demo in docs/demo.txt, and draw it.
	{ echo '$$ make demo' && $(MAKER) --silent --no-print-directory demo; } > .cache/demo.txt
	sed -e 's/\x1b\[[01]m//g' -e 's|$(CURDIR)|~/crossplane-ansible|g' .cache/demo.txt > docs/demo.txt
	go run ./docs/generate

# Measurements of what docs/operations.md says. BENCH=Idle is for one of them.
bench: needs-e2e build $(CONTROL_PLANE) $(ANSIBLE) # What runs and many objects cost.
	go test ./test/bench -run '^$$' -bench '$(or $(BENCH),Run|Memory|Idle|Failing)' -benchtime 10x -timeout=2h
	$(ANSIBLE_PATH) go test ./test/security -run '^$$' -bench . -benchtime 20x

bench-chain: needs-e2e build $(CONTROL_PLANE) $(ANSIBLE) # Chains of runs under the limits that Crossplane has by default.
	go test ./test/bench -run '^$$' -bench Chain -benchtime 1x -timeout=1h

bench-function: build # What requests of the function take.
	go test ./test/benchfunction -run '^$$' -bench . -benchtime 500x

binaries: $(foreach a,$(ARCHES),$(PROGRAMS:%=bin/linux_$a/%)) # The binaries of the images.

images: needs-images $(foreach a,$(ARCHES),$(PROGRAMS:%=.cache/images/%-$a.tar)) # With docker, podman or buildah.

plugins: $(PLUGINS:%=dist/kubectl-ansible_%.tar.gz) # Archives of the plugin of kubectl, for each of PLUGINS.

sbom: needs-images $(foreach a,$(ARCHES),$(PROGRAMS:%=dist/linux_$a/%.spdx.json)) # Lists of the parts of the images, as SPDX.

reproduce: packages # Build the images again, without any cache, and compare the packages.
	@sums() { sha256sum $(foreach a,$(ARCHES),$(PROGRAMS:%=dist/linux_$a/%.xpkg)); }; \
	before=$$(sums) && rm -rf .cache/images dist/linux_*/*.xpkg && NO_CACHE=1 $(MAKER) packages && after=$$(sums) && \
	echo "$$after" && test "$$before" = "$$after" || { printf 'Before it was:\n%s\n' "$$before" >&2; exit 1; }

audit: build $(BIN)/govulncheck # Look for known vulnerabilities; needs their databases.
	for p in function-ansible provider-ansible kubectl-ansible; do $(BIN)/govulncheck -mode=binary bin/$$p || exit 1; done
	$$(package/python.sh) -m venv .cache/pip-audit
	.cache/pip-audit/bin/pip install --quiet pip-audit==2.10.1
	.cache/pip-audit/bin/pip-audit --disable-pip --require-hashes --requirement package-provider/requirements.txt

push: packages # Push the packages to XPKG_REGISTRY, such as registry.example.org/team.
	@test -n '$(XPKG_REGISTRY)' || { echo 'XPKG_REGISTRY must say where to push.' >&2; exit 1; }
	@set -e; for p in $(PROGRAMS); do \
		files=$$(printf "dist/linux_%s/$$p.xpkg," $(ARCHES)); set -x; \
		$(BIN)/crank xpkg push --package-files="$${files%,}" "$(XPKG_REGISTRY)/$$p:$(VERSION)"; done

# Files.

needs-%: FORCE
	@test/machine.sh $*

$(ANSIBLE): package-provider/requirements.txt
	rm -rf $(VENV)
	python=$$(package/python.sh) && $$python -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $<
	touch $@

# A program is built in the module that pins it.
$(BIN)/%: test/tools/build.sh $(wildcard test/tools/*/go.sum test/node/*.go test/environment/*.go)
	$< $*

$(CORE)/bin/crossplane: test/tools/build.sh test/tools/crossplane/go.sum
	$< crossplane

bin/linux_%: FORCE
	GOOS=linux GOARCH=$(*D) go build -ldflags '-s -w $(STAMP)' -o $@.new ./$(patsubst %-ansible,%,$(@F))
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi # An unchanged binary makes no new image.
	go run ./package/licenses $@ $(@D)/licenses/$(@F)

dist/kubectl-ansible_%.tar.gz: plugin = $(basename $(basename $@))/kubectl-ansible$(if $(filter windows_%,$*),.exe)
dist/kubectl-ansible_%.tar.gz: FORCE
	rm -rf $(@D)/kubectl-ansible_$*
	GOOS=$(firstword $(subst _, ,$*)) GOARCH=$(lastword $(subst _, ,$*)) go build -ldflags '-s -w $(STAMP)' -o $(plugin) ./plugin
	go run ./package/licenses $(plugin) $(@D)/kubectl-ansible_$*/licenses
	tar --create --file=$@ --use-compress-program='gzip --no-name' --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --directory=$(@D)/kubectl-ansible_$* .

$(COLLECTIONS_NEW) &: test/environments/collections.txt test/environments/collection.sh $(ANSIBLE)
	test/environments/collection.sh $< $(COLLECTIONS_NEW)

$(COLLECTIONS_OLD) &: test/environments/operator.txt test/environments/collection.sh $(ANSIBLE)
	test/environments/collection.sh $< $(COLLECTIONS_OLD)

# Images. The name of one says its program and its architecture.
program = $(firstword $(filter $(PROGRAMS),$(1:-$(lastword $(subst -, ,$1))=)))
arch    = $(lastword $(subst -, ,$1))
IMAGE  := package/image.sh package/base.sh

.SECONDEXPANSION:
.cache/images/%.tar: bin/linux_$$(call arch,$$*)/$$(call program,$$*) package-$$(firstword $$(subst -, ,$$*))/Dockerfile $(IMAGE) package-provider/requirements.txt provider/warm/shipped_yaml.py
	package/image.sh $(call program,$*) $(call arch,$*) $(VERSION)

$(NODE_IMAGE): package-provider/Dockerfile $(IMAGE) package-provider/requirements.txt provider/warm/shipped_yaml.py
	$(MAKE) --no-print-directory .cache/images/provider-ansible-$(ARCH).tar
	touch $@

# Images for Pods of the tests that are not the provider's.
.cache/images/environment-oldest-%.tar: test/environments/Dockerfile test/environments/oldest.txt $(shell find test/environments/greeting -type f) $(IMAGE)
	DEBIAN=bookworm package/image.sh environment-oldest $* dev $< $(<D)

.cache/images/environment-newest-%.tar: test/environments/build.sh .cache/collections/kubernetes-core.tar.gz $(wildcard test/environments/*.yml) $(IMAGE)
	PYTHON=$$(package/python.sh) $< .cache/environment .cache/collections/kubernetes-core.tar.gz
	PIP_CONF=.cache/environment/pip.conf package/image.sh environment-newest $* dev .cache/environment/context/Dockerfile .cache/environment/context

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
