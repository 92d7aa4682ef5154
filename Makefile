# Verbs only: whatever has to decide something is a Rust program.

TARGET := $(or $(CARGO_TARGET_DIR),target)
MODULE := $(TARGET)/reconciler.wasm
# The program that seals it; whoever has one built names that.
BINNACLE := cargo run --quiet --package host --bin binnacle --

# The module's bytes depend on its source alone, not on where that of its libraries lies. Cargo names the workspace's own
# files by their place in it, so a checkout elsewhere needs no flags, and no libraries, of its own.
REMAP := --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=cargo

.DEFAULT_GOAL := help
.PHONY: help run stop check test live olm wasm prove generate release promote deprecate image sbom bench

help: ## List these verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: bootstrap$(if $(KUBECONFIG),,-testbed) ## Start a real Kubernetes here, install the operator and watch a cluster become healthy
	@cargo build --package tests --bin tour --bin testbed
	@$(TARGET)/debug/tour run

stop: ## Remove all that `make run` started
	@cargo run --quiet --package tests --bin tour -- stop

check: bootstrap ## All checks that need no cluster: format, lints, licences, unit tests, suites
	@cargo build --package tests --bin suite --bin testbed || { echo '0 passed, 1 failed'; exit 1; }
	@$(TARGET)/debug/suite check

test: bootstrap-suites ## `make check`, then the suites on a real Kubernetes
	@cargo build --package tests --bin suite --bin testbed || { echo '0 passed, 1 failed'; exit 1; }
	@$(TARGET)/debug/suite test

live: bootstrap-suites ## Every scenario on a real Kubernetes, also the long ones that `make test` leaves out
	@cargo test --package tests --test cluster -- --include-ignored$(if $(OSS_EMULATOR),, --skip alibaba)

olm: bootstrap-testbed ## The suite on a real Operator Lifecycle Manager, which wants the machine for itself
	@cargo test --no-fail-fast --package tests --test olm

wasm: ## Build the sealed module
	@CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="$(REMAP)" cargo build --package reconciler-wasm --target wasm32-unknown-unknown --profile wasm
	@$(BINNACLE) module seal $(TARGET)/wasm32-unknown-unknown/wasm/reconciler_wasm.wasm --to $(MODULE)

prove: ## 1.5 million simulated histories, all branches within an allowance, every seeded defect: one to five hours on 2 processors
	@SIMULATOR_PROVE=1 SIMULATOR_HISTORIES=1000000 SIMULATOR_FIRST_SEED=$$(date +%s)000000 cargo test --profile proof --package decide -- --nocapture --test-threads 1; \
	histories=$$?; cargo run --package decide --bin mutants -- --write docs/proof.md && exit $$histories

generate: ## Write all generated YAML anew
	@cargo run --quiet --package manifests --bin generate -- write

release: ## Add VERSION with the pushed IMAGE to CHANNEL=testing; refused where it would strand anybody
	@cargo run --quiet --package manifests --bin generate -- release --version "$(VERSION)" --channel "$(or $(CHANNEL),testing)" --image "$(IMAGE)"

promote: ## Add VERSION of testing to prod; refused where it would strand anybody
	@cargo run --quiet --package manifests --bin generate -- promote --version "$(VERSION)"

deprecate: ## Tell whoever runs VERSION that nobody should any more, with MESSAGE='why, and where to go'
	@cargo run --quiet --package manifests --bin generate -- deprecate --version "$(VERSION)" --message "$(MESSAGE)"

image: bootstrap ## Build the operator's image into an archive
	@cargo run --quiet --package tests --bin tour -- image --archive $(TARGET)/binnacle.tar

sbom: bootstrap ## List what the operator's program is made of, as CycloneDX
	@PATH="$$(.ci/tool cargo-sbom 0.10.0):$$PATH" cargo sbom --cargo-package host --output-format cyclone_dx_json_1_6 >$(TARGET)/binnacle.cdx.json
	@echo "The bill of materials is in $(TARGET)/binnacle.cdx.json"

bench: bootstrap-testbed ## Measure the figures of docs/benchmarks.md into bench.json
	@cargo bench --package tests --bench figures

.PHONY: bootstrap bootstrap-testbed bootstrap-suites
bootstrap:
	@.ci/bootstrap

bootstrap-testbed:
	@.ci/bootstrap testbed

bootstrap-suites:
	@.ci/bootstrap suites
