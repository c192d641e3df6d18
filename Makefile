# Everything that a contributor runs is one target. `make help` lists them.
GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0
FUZZTIME ?= 60s
SEED ?=
N ?=

.PHONY: help build run test race vet fmt lint deps diff snapshots bench fuzz cross docs invariants ci

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

build: ## build bin/lockserver
	$(GO) build -trimpath -o bin/lockserver ./cmd/lockserver

run: ## start the server on 127.0.0.1:6379
	$(GO) run ./cmd/lockserver

test: ## the tests; they need nothing but Go
	$(GO) test ./...

race: ## the tests under the race detector
	$(GO) test -race ./...

invariants: ## the tests with costly self-checks on
	$(GO) test -tags invariants ./...

fmt: ## fail if gofmt would change a file
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi

vet: ## go vet, with every build tag
	$(GO) vet ./...
	$(GO) vet -tags invariants,oracle ./...

cross: ## vet for macOS and Windows
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...

lint: ## staticcheck
	$(GO) run $(STATICCHECK) ./...

deps: ## install what the targets below need (Debian: redis-server and its tools)
	@if command -v redis-server >/dev/null && command -v redis-cli >/dev/null && command -v redis-benchmark >/dev/null && command -v redis-check-rdb >/dev/null; then \
		echo "redis-server and its tools are there"; \
	elif command -v apt-get >/dev/null; then \
		apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y redis-server redis-tools; \
	else echo "install redis-server 7.0 and its tools by hand"; exit 1; fi

diff: need-redis ## the same commands to lockserver and to a real redis-server, replies compared (SEED=n replays a run, N=commands)
	$(GO) test -tags oracle -count=1 ./tests/differential $(if $(SEED),-seed $(SEED)) $(if $(N),-commands $(N)) -v

snapshots: need-redis ## snapshots both ways with a real redis-server, and what else needs one
	$(GO) test -tags oracle -count=1 ./persistence/... ./commands/... ./tests/snapshots/...

bench: need-redis ## lockserver and redis-server side by side: CPU a request, memory, snapshots under load
	$(GO) run ./tests/bench

fuzz: ## every fuzz target, FUZZTIME (60s) each
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "== $$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; done

docs: ## generate docs/commands.md from the command table
	$(GO) run ./internal/gendocs > docs/commands.md

ci: ## what .ci/run runs
	bash .ci/run

.PHONY: need-redis
need-redis:
	@for p in redis-server redis-cli redis-benchmark redis-check-rdb; do \
		command -v $$p >/dev/null || { echo "$$p is missing: run 'make deps'"; exit 1; }; done
