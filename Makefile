# Everything that a developer and CI run. `make help` lists it.

PROFILE ?= release
SECONDS ?= 60

.DEFAULT_GOAL := help
.PHONY: help run test lint unit plugins policies examples interop codes model proof bench fuzz deny tools clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

run: ## build everything, plugins too, and serve on ./data (PROFILE=dev builds faster)
	@PROFILE=$(PROFILE) scripts/run.sh

test: ## all that CI runs: lint, plugins, every test, the protocol model
	@scripts/test.sh

lint: ## formatting, clippy and documentation, warnings refused
	@scripts/lint.sh

unit: ## tests that need no server, no plugin and no network
	@scripts/unit.sh

plugins: ## build the bundled policies as components into target/plugins
	@scripts/plugins.sh

policies: ## print what each bundled policy costs and gains on a few traces, as docs/policies.md shows it
	@scripts/policies.sh

examples: ## build the policies of examples/ in C, JavaScript and Python, and run each in a broker: minutes, and compilers to install
	@scripts/examples.sh --test

interop: ## run real Kafka clients and tools against the broker on S3: minutes, and much to install (CLIENT=kafkajs runs one)
	@PROFILE=$(PROFILE) scripts/interop.sh $(CLIENT) $(ARGS)

codes: ## compare the recorded answers of Apache Kafka, which Tidegate is held to, with a live one
	@scripts/kafka-broker.sh compare

model: ## check the commit protocol over every interleaving, up to bounds that take a minute
	@scripts/model.sh

proof: ## the same at larger bounds, and that every rule is needed: many minutes
	@scripts/model.sh --all

bench: ## measure: one JSON line for each name (CASE=append measures one case; CASE=peers PEERS=folder compares with other brokers)
	@PEERS=$(PEERS) scripts/bench.sh $(CASE) $(ARGS)

fuzz: ## share SECONDS=60 among the fuzz targets
	@scripts/fuzz.sh $(SECONDS)

deny: ## licences, sources and advisories of all dependencies
	@scripts/deny.sh

tools: ## install what the other targets need: wasm targets, kcat, an S3 server, a registry and a browser for tests
	@scripts/setup.sh

clean: ## remove what was built
	@rm -rf target
