# What can be done here. `make help` lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# Where the Go distribution puts itself; many shells do not look there.
export PATH := $(PATH):/usr/local/go/bin

# make run: where the server listens, keeps its data, and is reached from outside
# (empty: the address it listens on). ARGS is added to the command line.
LISTEN     ?= 127.0.0.1:8787
DATA       ?= ./data
PUBLIC_URL ?=
ARGS       ?=

# make hosts, make conformance and make bench: the harness folders.
HOSTS_DIR ?= ../shared/clients
HOSTS     ?=
BENCH_DIR ?= ../shared/bench

UI_FILES := $(shell find ui internal/web/locales internal/web/assets -type f -not -path '*/node_modules/*' -not -path 'ui/test/*' 2>/dev/null)
GO_FILES := $(shell find cmd internal bench e2e -name '*.go' -not -path '*/node_modules/*' 2>/dev/null)

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  Variables: LISTEN=$(LISTEN) DATA=$(DATA) PUBLIC_URL=$(PUBLIC_URL) ARGS=$(ARGS)"
	@echo "             HOSTS_DIR=$(HOSTS_DIR) HOSTS=$(HOSTS) BENCH_DIR=$(BENCH_DIR)"

.PHONY: run
run: ui ## build all and serve on http://127.0.0.1:8787, data in ./data
	@$(MAKE) --no-print-directory build
	./bin/osfoundry serve --listen $(LISTEN) --data $(DATA) $(if $(PUBLIC_URL),--public-url $(PUBLIC_URL)) $(ARGS)

.PHONY: build
build: bin/osfoundry ## build bin/osfoundry, one static binary

bin/osfoundry: go.mod go.sum $(GO_FILES) $(shell find internal -type f -not -name '*_test.go' -not -path '*/testdata/*' 2>/dev/null)
	@scripts/need.sh go
	CGO_ENABLED=0 go build -trimpath -o $@ ./cmd/osfoundry

.PHONY: ui
ui: internal/web/dist/built/index.html ## build the web app into internal/web/dist, for the next build of the program

internal/web/dist/built/index.html: ui/node_modules/.package-lock.json $(UI_FILES)
	npm --prefix ui run --silent build
	@touch $@

ui/node_modules/.package-lock.json: ui/package-lock.json
	@scripts/need.sh node
	npm --prefix ui ci --no-audit --no-fund
	@touch $@

.PHONY: test
test: ## every test: both databases, race detector, browser; installs what is missing
	@scripts/test.sh

.PHONY: journeys
journeys: ui ## every journey in a real browser, also those that make test leaves out for their length
	@scripts/need.sh go node chromium
	npm --prefix e2e/browser ci --no-audit --no-fund
	npm --prefix e2e/browser run journeys

.PHONY: lint
lint: ## go vet, gofmt, staticcheck, the floor plan
	@scripts/need.sh go
	@scripts/lint.sh
	go tool -modfile=tools/go.mod staticcheck ./...
	go test -count=1 ./internal/archtest/

.PHONY: generate
generate: ## generated code, after a change of SQL or of a declaration
	@scripts/need.sh go
	cd internal/storage && go tool -modfile=../../tools/go.mod sqlc generate
	go generate ./...

.PHONY: hosts
hosts: build ## real MCP hosts (HOSTS="codex claude …" for some) and the conformance suite, against bin/osfoundry
	@scripts/need.sh go node
	e2e/hosts/run.sh $(HOSTS_DIR) $(HOSTS)
	e2e/conformance/run.sh $(HOSTS_DIR)

.PHONY: conformance
conformance: build ## the official MCP conformance suite alone, against bin/osfoundry
	@scripts/need.sh go node
	e2e/conformance/run.sh $(HOSTS_DIR)

.PHONY: probe-faults
probe-faults: build ## osfoundry probe against the stand-in server with each of its faults
	@scripts/need.sh go node
	e2e/probe/run.sh $(HOSTS_DIR)

.PHONY: bench
bench: build ## calls per second beside reference servers, and how soon tasks start, in one run
	@scripts/need.sh go
	bench/run.sh $(BENCH_DIR)

.PHONY: soak
soak: build ## the long runs: crashes, races and interleavings by the thousand
	@scripts/need.sh go postgres
	OSFOUNDRY_ROUNDS=200 OSFOUNDRY_KILLS=300 go test -count=1 -p 1 -timeout 120m -v ./e2e/...

.PHONY: clean
clean: ## remove what was built and installed here; never ./data
	rm -rf bin out e2e/browser/node_modules ui/node_modules internal/web/dist/built
