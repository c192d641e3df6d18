# Everything that a contributor runs is one target. `make help` lists them.
SHELL := bash
GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0
# How long each fuzz target runs, and how many of them at a time.
FUZZTIME ?= 60s
FUZZJOBS ?= 2
# SEED replays a run of diff or snapshots, N is how many commands diff generates; the comparisons of forms, uses and
# conversations do a part of that.
SEED ?=
N ?=
# BUSY are the packages that measure time or need the machine for themselves.
BUSY = lockserver/tests/linearizability lockserver/tests/fairness lockserver/tests/restarts
# SEQUENTIAL are packages in which nothing runs at the same time as something else, in their tests neither: the race
# detector only makes them slow. CONCURRENT are the tests that are an exception.
SEQUENTIAL = lockserver/commands lockserver/internal/geohash lockserver/internal/luavm
CONCURRENT = TestHashFieldsAgainstModel
# ORACLE is the redis-server that everything is compared with and measured beside. By default it is built from the source
# in ORACLE_TARBALL, by make deps, outside of the clone, so that the next clone finds it. The redis-server in PATH is
# an older one (Debian's is 7.0): it is there for the files that it reads and writes.
ORACLE_TARBALL ?= ../shared/oracle/redis-7.4.1.tar.gz
ORACLE_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/lockserver-oracle
ORACLE_BUILT = $(ORACLE_CACHE)/$(notdir $(ORACLE_TARBALL:.tar.gz=))/src/redis-server
ORACLE ?= $(ORACLE_BUILT)
export ORACLE
# ORACLE_TLS is the same with TLS: bench looks for it beside ORACLE, in a directory of that name.
ORACLE_TLS = $(ORACLE_CACHE)/$(notdir $(ORACLE_TARBALL:.tar.gz=))-tls/src/redis-server
# ONLY makes bench measure a part, a command or a section, and write nothing. QUICK=1 makes it do little work.
# BEFORE is another build of lockserver, which bench ONLY=cpu then measures beside instead of Redis.
# PART=replbench, raftbench, machines or luabench makes bench measure one of those alone, and put its chapter into docs/BENCHMARKS.md (so does
# PART with another suite of `make bench-list`).
ONLY ?=
PART ?=
QUICK ?=

# MINUTES is how long linearizability, sessions, hostile and, if it is given, replication make and check what they make.
MINUTES ?= 10
# LONG=1 asks for the long form of generated work in all tests. The full tier sets it.
LONG ?=
export LOCKSERVER_LONG = $(LONG)
# GOTESTFLAGS are flags for go test. Continuous integration has -vet=off, after make vet.
GOTESTFLAGS ?=
# PKGS narrows test, race and invariants down: make race PKGS=./server/...
PKGS ?= ./...

.PHONY: help build run demo test race busy planted planted-long invariants fmt vet cross lint tidy deps diff snapshots linearizability vanish unauthenticated sessions crash hostile bench bench-list bench-aof bench-locks bench-sales bench-shards bench-memory bench-replication bench-raft outages hazelcast bench-permits bench-testing bench-lua oracle oracle-tls replication replication-versions upgrade damage simulation slotmoves migration fuzz docs examples comparison console need-chromium metrics need-prometheus release release-check test-docs test-time test-clock race-all flaky bench-check profile lock-path rename rename-check workflows vulnerabilities ci ci-full

##@ Begin here
help: ## list the targets
	@awk -F ':.*## ' '/^##@/ {group = substr($$0, 5)} \
		/^[a-z-]+:.*## / {if (!(group in lines)) order[++n] = group; lines[group] = lines[group] sprintf("  %-24s%s\n", $$1, $$2)} \
		END {for (i = 1; i <= n; i++) printf "%s%s\n%s", (i > 1 ? "\n" : ""), order[i], lines[order[i]]}' $(MAKEFILE_LIST)

# PGO is the profile by which the compiler chooses what to inline: see `make profile`. PGO=off builds without it, which
# needs nothing to be compiled that the tests do not need.
PGO ?= $(CURDIR)/cmd/lockserver/release.pgo
build: ## build bin/lockserver
	$(GO) build -trimpath -pgo=$(PGO) -ldflags="-s -w" -o bin/lockserver ./cmd/lockserver

run: ## start the server on 127.0.0.1:6379
	$(GO) run ./cmd/lockserver

demo: ## play a flash sale on a server of its own, and check what is left of it
	$(GO) run ./cmd/lockserver demo

##@ Tests that need nothing but Go
test: ## the tests; they need nothing but Go
	$(GO) test $(PKGS)
	$(if $(filter ./...,$(PKGS)),cd client && $(GO) test ./...)

test-docs: ## the tests of what the pages say and show
	$(GO) test ./tests/readme ./internal/tidy ./internal/gendocs

##@ The same tests in harder forms
# RACE are the packages in which things happen at the same time. The costly self-checks run in the same programs.
RACE = ./server/... ./tests/client ./persistence/... ./admin/... ./lockservertest/...
race: ## the server's tests under the race detector, with costly self-checks on
	$(GO) test -race -tags invariants -timeout 30m $(GOTESTFLAGS) $(or $(filter-out ./...,$(PKGS)),$(RACE))

# A package may take longer than go test's ten minutes on a slow machine.
ALL = $(shell $(GO) list ./...)
race-all: ## all tests under the race detector, but for those of busy
	$(GO) test -race -timeout 30m $(GOTESTFLAGS) $(filter-out $(BUSY) $(SEQUENTIAL),$(ALL))
	$(GO) test -race -run '^($(CONCURRENT))$$' $(GOTESTFLAGS) $(SEQUENTIAL)

##@ The structure of the code
# MODULE is the new path of the module.
rename: ## rename the module everywhere (MODULE=github.com/you/lockserver)
	bash .ci/rename $(if $(MODULE),$(MODULE),$(error MODULE is the new path of the module))

# WRITE=-write writes the list of files anew.
lock-path: ## the files that LOCK, UNLOCK, SET, GET and XADD pass and their calls of the server, against tests/lockpath/passed.txt, the statements that a shard adds, those of waits without priorities, and of each page of the console
	$(GO) build -cover -covermode=atomic -coverpkg=./... -o bin/lockpath ./tests/lockpath
	rm -rf bin/lockpath.cover && mkdir -p bin/lockpath.cover
	GOCOVERDIR=bin/lockpath.cover bin/lockpath $(WRITE)

rename-check: ## rename a clone, build it, and import it from another program by go get from a local proxy
	bash .ci/rename-check

##@ The same tests in harder forms
# FLAKY is how often make flaky runs the tests of a package, HOGS how many busy processes run beside them, and JOBS how
# many packages at a time. FORMS are the ways in which they run: plain, on a clock of another speed, with so many threads,
# or with a quarter of the machine. See .ci/flaky.
FLAKY ?= 20
HOGS ?= 2
JOBS ?= 4
FORMS ?= plain
flaky: ## run each package's tests 20 times on a busy machine, and list those that fail (FLAKY=n HOGS=n JOBS=n FORMS="plain clock=1/10 clock=10 procs=1 procs=8 slow" PKGS=./server)
	FORMS="$(FORMS)" bash .ci/flaky $(FLAKY) $(HOGS) $(JOBS) $(PKGS)

# CLOCK are the speeds of the clock of the tests: 10 makes the machine ten times as slow to them, 1/10 ten times as fast.
# The limit of 200 minutes goes by that clock.
CLOCK ?= 10 1/10
define on_clock
GOFLAGS="$$(bash .ci/clock)" LOCKSERVER_CLOCK=$1 LOCKSERVER_CLOCK_FROM=$$(date +%s%N) $(GO) test $2 -count=1 -timeout 200m $(GOTESTFLAGS)

endef
test-clock: ## the tests on a clock that is ten times as fast as the machine's, and on one a tenth as fast (CLOCK=10 PKGS=./server)
	bash .ci/clock check
	$(foreach c,$(CLOCK),$(call on_clock,$c,$(PKGS)))
	$(if $(filter ./...,$(PKGS)),$(foreach c,$(CLOCK),$(call on_clock,$c,-C client ./...)))

# Planted faults show that tests would notice. go test alone checks that each fault still has its place in the sources.
planted: ## build the server with planted faults, and see that the tests of the server, times, sales, sessions, fairness and linearizability find each
	$(GO) test -p 1 -count=1 -timeout 30m -run '^TestPlanted' $(GOTESTFLAGS) ./server ./tests/queued ./tests/timed ./tests/sales ./tests/sessions ./tests/fairness ./tests/linearizability -planted

planted-long: ## the same for the tests of crashes, hostile clients, raft groups and the simulation
	$(GO) test -p 1 -count=1 -timeout 30m -run '^TestPlanted' $(GOTESTFLAGS) ./tests/crash ./tests/hostile -planted
	$(GO) test -tags raft -count=1 -timeout 30m -run '^TestPlanted' $(GOTESTFLAGS) ./tests/raft -planted
	$(GO) test -tags simulation -count=1 -timeout 30m -run '^TestPlanted' $(GOTESTFLAGS) ./tests/simulation -planted

busy: ## the tests that need the machine for themselves
	$(GO) test -p 1 -count=1 $(GOTESTFLAGS) $(BUSY)
	$(GO) test -count=1 $(GOTESTFLAGS) ./server -run TestRenewals -renewal-steps 4000 -renewal-seed 0

test-time: ## the tests from a fresh clone: at most 5 minutes on two cores, then 100 s (SECONDS_AT_MOST=n COMPILED_AT_MOST=n)
	bash .ci/test-time $(or $(SECONDS_AT_MOST),300) $(or $(COMPILED_AT_MOST),100)

invariants: ## the tests with costly self-checks on
	$(GO) test -tags invariants $(GOTESTFLAGS) $(PKGS)

##@ The form of the code
fmt: ## fail if gofmt would change a file
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi

# TAGS are the build tags, in sets that are looked at together. Those of the first are of tests, and of one file of the
# program: little is to be compiled anew for them.
TAGS = databases,helm,netns,oracle,profile,raft,scenarios,simulation,upgrade invariants
# with_tags does something with each set of tags, for the packages that have other files then. In the others there is
# nothing to be found a second time. That there are none would be an error: the root has no Go files.
files = $(GO) list -tags '$1' -f '{{.ImportPath}} {{.GoFiles}} {{.TestGoFiles}} {{.XTestGoFiles}}' ./... | sort
tagged = $(shell comm -13 <($(call files,)) <($(call files,$1)) | cut -d' ' -f1)
define with_tags
$(foreach t,$(TAGS),
	$(strip $1 -tags $t $(call tagged,$t)))
endef

vet: ## go vet, with every build tag
	$(GO) vet ./...
	$(call with_tags,$(GO) vet)
	cd client && $(GO) vet ./...

cross: ## vet for macOS and Windows
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...

lint: ## staticcheck, with every build tag
	$(GO) run $(STATICCHECK) ./...
	$(call with_tags,$(GO) run $(STATICCHECK))
	cd client && $(GO) run $(STATICCHECK) ./...

tidy: ## fail if go mod tidy would change go.mod or go.sum
	$(GO) mod tidy -diff
	cd client && $(GO) mod tidy -diff

##@ What other targets need
deps: ## install what the targets below need: redis-server 7.0 and its tools, strace, openssl, ip, Node 20, Python 3, a JDK, Maven, rpm, zsh, fish, mandoc, systemd, buildah, Chromium, Prometheus and redis_exporter, PostgreSQL, MariaDB (Debian, Ubuntu), Python 3.14; build Redis 7.4.1 from ORACLE_TARBALL
	@missing=; for p in $(PROGRAMS)$(if $(wildcard $(ORACLE_TARBALL)), $(COMPILER)); do command -v $${p%:*} >/dev/null || missing="$$missing $${p#*:}"; done; \
	python3 -c 'import venv, ensurepip' 2>/dev/null || missing="$$missing python3-venv"; \
	if [ -z "$$missing" ]; then \
		echo "nothing is missing: $$(redis-server --version)"; \
		echo "node $$(node --version), $$(python3 --version), $$(javac -version 2>&1), $$(command -v mvn)"; exit 0; fi; \
	echo "missing:$$missing"; \
	if ! command -v apt-get >/dev/null; then echo "install them by hand"; exit 1; fi; \
	sudo=; if [ "$$(id -u)" != 0 ]; then sudo=sudo; fi; \
	$$sudo apt-get update && \
	$$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $$missing
	@$(if $(wildcard $(ORACLE_TARBALL)),$(MAKE) --no-print-directory oracle)
	@bash .ci/others.sh "$(ORACLE_CACHE)/others" || echo "servers of other versions could not be fetched: make replication-versions will say so"
	@bash .ci/python.sh 3.14 "$(ORACLE_CACHE)/pythons/3.14" || echo "Python 3.14 could not be fetched: make clients-python-versions will say so"

oracle: $(ORACLE_BUILT) ## build the Redis of ORACLE_TARBALL in ORACLE_CACHE, which takes a minute or two

# What is built appears under its name only when it is whole.
$(ORACLE_CACHE)/%/src/redis-server:
	@test -f "$(ORACLE_TARBALL)" || { echo "there is no $(ORACLE_TARBALL): set ORACLE_TARBALL"; exit 1; }
	@mkdir -p "$(ORACLE_CACHE)"
	@dir=$$(mktemp -d "$(ORACLE_CACHE)/build.XXXXXX") && trap 'rm -rf "$$dir"' EXIT && \
	echo "building $* in $(ORACLE_CACHE)" && tar -xzf "$(ORACLE_TARBALL)" -C "$$dir" && \
	{ env -u MAKEFLAGS make -C "$$dir/$(*:-tls=)" -j "$$(nproc)" BUILD_TLS=$(if $(filter %-tls,$*),yes,no) >"$$dir/log" 2>&1 || { tail -n 30 "$$dir/log"; exit 1; }; } && \
	{ mv -T "$$dir/$(*:-tls=)" "$(ORACLE_CACHE)/$*" || test -x "$@"; } && "$@" --version

oracle-tls: $(ORACLE_TLS) ## build it with TLS, too, which bench measures beside; this needs libssl-dev

REDIS = redis-server redis-cli redis-benchmark redis-check-rdb
# PROGRAMS are what targets need besides Go, each with the package of Debian that has it.
PROGRAMS = redis-server:redis-server redis-cli:redis-tools redis-benchmark:redis-tools redis-check-rdb:redis-tools \
	strace:strace openssl:openssl ip:iproute2 node:nodejs npm:npm python3:python3 javac:default-jdk-headless mvn:maven \
	rpm:rpm zsh:zsh fish:fish man:man-db mandoc:mandoc systemd-analyze:systemd unshare:util-linux pivot_root:util-linux buildah:buildah chromium:chromium \
	mariadb-install-db:mariadb-server-core my_print_defaults:mariadb-client-core pg_createcluster:postgresql \
	$(PROMETHEUS)
PROMETHEUS = prometheus:prometheus promtool:prometheus prometheus-redis-exporter:prometheus-redis-exporter
# COMPILER is what building Redis needs.
COMPILER = cc:build-essential

.PHONY: need-redis
need-redis:
	@for p in $(REDIS); do command -v $$p >/dev/null || { echo "$$p is missing: run 'make deps'"; exit 1; }; done

.PHONY: need-strace
need-strace:
	@command -v strace >/dev/null || { echo "strace is missing: run 'make deps'"; exit 1; }

.PHONY: need-oracle
need-oracle:
	@command -v "$(ORACLE)" >/dev/null || { echo "$(ORACLE) is missing: run 'make deps', or name another redis-server (ORACLE=path)"; exit 1; }

##@ Beside Redis
diff: need-oracle ## the same commands to lockserver and to ORACLE, replies compared, and the same configuration files (SEED=n N=n ORACLE=path)
	$(GO) test -tags oracle -count=1 -v -timeout 0 $(GOTESTFLAGS) ./tests/differential $(if $(SEED),-seed $(SEED)) $(if $(N),-commands $(N))
	$(GO) test -tags oracle -count=1 $(GOTESTFLAGS) ./server -run AdmissionOfRedis
	$(GO) test -tags oracle -count=1 $(GOTESTFLAGS) ./cmd/lockserver -run "StockFiles|KeptAsByRedis"

##@ What other targets need
.PHONY: fleet
fleet: ## build bin/fleet, which starts servers and Sentinels for the tests of client libraries
	$(GO) build -o bin/fleet ./tests/fleet/serve

##@ Clients: libraries of other projects and the packages of this one
# The tests of client libraries start bin/lockserver, or what LOCKSERVER names. LOCKSERVER=redis-server stands for ORACLE:
# there all but the tests of native commands are expected to be the same.
ifeq ($(LOCKSERVER),redis-server)
override LOCKSERVER := $(ORACLE)
export LOCKSERVER
endif
.PHONY: clients clients-java clients-node clients-python clients-go clients-cli clients-examples need-java need-mariadb need-node need-python need-openssl
clients: clients-java clients-node clients-python clients-go clients-cli clients-examples ## the client libraries of other people, each against a lockserver (LOCKSERVER=program)

need-java:
	@for p in javac mvn; do command -v $$p >/dev/null || { echo "$$p is missing: run 'make deps'"; exit 1; }; done
	@javac --release 17 --version >/dev/null || { echo "$$(javac -version 2>&1) is too old: 17 is needed"; exit 1; }

# mariadb-install-db calls the second program, which is of another package.
need-mariadb:
	@for p in mariadb-install-db my_print_defaults; do command -v $$p >/dev/null || { echo "$$p is missing: run 'make deps'"; exit 1; }; done

need-openssl:
	@command -v openssl >/dev/null || { echo "openssl is missing: run 'make deps'"; exit 1; }

clients-java: build fleet need-redis need-java need-openssl ## Redisson, Jedis, Spring Data Redis on Lettuce, new and old; limiters
	cd tests/clients/java && mvn -B -ntp test $(if $(findstring redis-server,$(LOCKSERVER)),-DexcludedGroups=native)

.PHONY: clients-java-client clients-java-servers clients-java-bench clients-java-newcomer clients-java-package
VIRTUAL_JAVA ?= $(firstword $(wildcard /usr/lib/jvm/*-25*/bin/java /usr/lib/jvm/*-21*/bin/java))
clients-java-client: export LOCKSERVER := $(CURDIR)/bin/lockserver
# The scenarios of clients/SCENARIOS.md that the package for Java plays over three shards as well.
SHARDED_JAVA = BrokenTest\#connectionsBreak,CrashTest\#aServerThat*+aLossIsTold*+everyCall*+aWaitEnds*,PauseTest\#aPaused*,$\
	LockTest\#aReleasedLockNever*+fiveErrors+hearsOfLosses+aGuardIsSentOnce+survivesLostReplies+aGrantFor*+closeReleases,ManyTest,$\
	KindsTest\#semaphores+latches+limiters+severalLimiters+delays+sales+campaigns+prioritiesAre*+entriesRecur+aHolder*,$\
	BoundsTest\#aCallIs*+delayedEntries*,InspectionTest\#locksAreSeen+programsWith*+theLogSays*,AsyncTest\#aStageIs*,WorkerTest\#worker
clients-java-client: build fleet need-redis need-java need-openssl ## the client for Java in clients/java, its modules for Spring and for ShedLock, with servers, and the scenarios over three shards (LONG=1)
	cd clients/java && mvn -B -ntp $(MAVEN) test -pl '!redisson-tests,!redisson-boot3-tests'
	cd clients/java && LOCKSERVER_SHARDS=3 mvn -B -ntp $(MAVEN) test -pl lockserver-client,lockserver-test,client-tests -Dtest='$(SHARDED_JAVA)'
	@test -n "$(VIRTUAL_JAVA)" || { echo "there is no Java 21 or later, which has virtual threads: say VIRTUAL_JAVA=/path/to/bin/java"; exit 1; }
	cd clients/java && mvn -B -ntp $(MAVEN) test -pl lockserver-client,lockserver-test,client-tests -Dtest=ManyTest,ThreadLockTest -Djvm=$(VIRTUAL_JAVA)

clients-java-servers: export LOCKSERVER := $(CURDIR)/bin/lockserver
clients-java-servers: build fleet need-redis need-java need-openssl ## its starter on Boot 3 and 4, beside Redisson's and Spring Data Redis, on one server, under Sentinel, in a group and over three groups, with TLS and users
	cd clients/java && mvn -B -ntp $(MAVEN) test -pl redisson-tests,redisson-boot3-tests -am -Dtest=ServersTest,BesideRedissonTest,ThreadsTest,GroupsTest
	@test -n "$(VIRTUAL_JAVA)" || { echo "there is no Java 21 or later, which has virtual threads: say VIRTUAL_JAVA=/path/to/bin/java"; exit 1; }
	cd clients/java && mvn -B -ntp $(MAVEN) test -pl redisson-tests,redisson-boot3-tests -am -Dtest=ThreadsTest -Djvm=$(VIRTUAL_JAVA)

.PHONY: clients-java-container
clients-java-container: need-java ## LockserverContainer with Docker, or with Podman's service that DOCKER_HOST names (IMAGE=lockserver:0.1.0, loaded as docs/INSTALL.md says)
	@test -n "$(DOCKER_HOST)" || docker info >/dev/null 2>&1 || { echo "there is no Docker: say DOCKER_HOST=unix:///path/to/podman.sock"; exit 1; }
	cd clients/java && TESTCONTAINERS_RYUK_DISABLED=true LOCKSERVER_IMAGE=$(or $(IMAGE),lockserver:0.1.0) mvn -B -ntp test \
		-pl lockserver-client,lockserver-test,client-tests -Dtest=RunningContainer

.PHONY: clients-java-sql
clients-java-sql: export LOCKSERVER := $(CURDIR)/bin/lockserver
clients-java-sql: build need-java need-mariadb ## its fence for SQL on SQLite and MariaDB, also in transactions of Spring, which it starts; on PostgreSQL, if Debian's package postgresql is there (DATABASES="mariadb postgres": always)
	cd clients/java && FENCE_DATABASES="$(or $(DATABASES),mariadb $(if $(wildcard /usr/lib/postgresql/*/bin/initdb),postgres))" mvn -B -ntp test -pl lockserver-client,lockserver-test,client-tests,lockserver-spring -Dtest=FenceTest,TransactionFenceTest

clients-java-bench: export LOCKSERVER := $(CURDIR)/bin/lockserver
clients-java-bench: build need-oracle need-java ## hand-offs and costs of the Java client beside Redisson's RLock on a real Redis (SECONDS=n of each measurement)
	cd clients/java && mvn -B -ntp -q -Pbench -pl lockserver-client,lockserver-test,bench compile \
		org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath -Dmdep.outputFile=$(CURDIR)/bin/java-bench.classpath -Dmdep.includeScope=runtime
	java -XX:+UseSerialGC -cp clients/java/bench/target/classes:$$(cat bin/java-bench.classpath) io.lockserver.bench.Main $(abspath $(ORACLE)) $(or $(SECONDS),5)

##@ Examples
# The shop is built with the modules of clients/java that it needs, so always with what is there.
.PHONY: shop shop-figures
SHOP = cd clients/java && mvn -B -ntp -Pshop -pl lockserver-client,lockserver-test,../../examples/shop
shop: export LOCKSERVER := $(CURDIR)/bin/lockserver
shop: build need-java ## the shop of the tutorials in examples/shop: SETNX, Lua, Redisson and the client for Java, with the same tests
	$(SHOP) test

shop-figures: export LOCKSERVER := $(CURDIR)/bin/lockserver
shop-figures: build need-java ## orders and deliveries a second of each version
	$(SHOP) test -Dtest=Figures

.PHONY: reminders
reminders: export LOCKSERVER := $(CURDIR)/bin/lockserver
reminders: build need-java ## the reminders of examples/reminders in Java: timers, retries, dead letters, workers that are killed (LONG=1: more of them)
	cd clients/java && mvn -B -ntp -Preminders -pl lockserver-client,lockserver-test,../../examples/reminders/java test

##@ Clients: libraries of other projects and the packages of this one
clients-java-package: need-java ## jars, sources, javadoc and POMs of clients/java as a Maven repository in bin/packages/java, checked; without tests
	bash clients/java/package.sh bin/packages/java

clients-java-newcomer: export LOCKSERVER := $(CURDIR)/bin/lockserver
clients-java-newcomer: build clients-java-package ## that repository, and the lines of clients/java/README.md, used in empty projects
	bash clients/java/newcomer.sh bin/packages/java

need-node:
	@for p in node npm; do command -v $$p >/dev/null || { echo "$$p is missing: run 'make deps'"; exit 1; }; done
	@node -e 'if (parseInt(process.versions.node) < 20) { console.log(`node $${process.version} is too old: 20 is needed`); process.exit(1) }'

need-python:
	@python3 -c 'import venv, ensurepip' || { echo "python3 with venv is missing: run 'make deps'"; exit 1; }

NODE_TESTS = tests/clients/node
$(NODE_TESTS)/node_modules/.package-lock.json: $(NODE_TESTS)/package-lock.json | need-node
	cd $(NODE_TESTS) && npm ci --no-audit --no-fund --ignore-scripts
	@touch $@

clients-node: build fleet need-redis need-node need-openssl $(NODE_TESTS)/node_modules/.package-lock.json ## ioredis and node-redis, new and old, BullMQ, redlock, rate-limiter-flexible
	cd $(NODE_TESTS) && npm test $(if $(findstring redis-server,$(LOCKSERVER)),-- $(notdir $(filter-out %/native.test.js %/broken.test.js %/sentinel.test.js %/facade.test.js,$(wildcard $(NODE_TESTS)/*.test.js))))

# PACKAGE_VENV is the environment of the tests of the package for Python.
PACKAGE_VENV = bin/python-package-venv
# SQL_DRIVERS are what Python needs to start the databases of the tests of fences.
SQL_DRIVERS = $(PACKAGE_VENV)/bin/pip install -q --disable-pip-version-check 'psycopg[binary]' pymysql
# The package for Node, in clients/node.
NODE_CLIENT = clients/node
$(NODE_CLIENT)/node_modules/.package-lock.json: $(NODE_CLIENT)/package-lock.json | need-node
	cd $(NODE_CLIENT) && npm ci --no-audit --no-fund --ignore-scripts
	@touch $@

# It is built once: targets that run side by side would take it away from each other.
.PHONY: clients-node-build clients-node-client clients-node-sql clients-node-tarball clients-node-package
clients-node-build: $(NODE_CLIENT)/node_modules/.package-lock.json
	cd $(NODE_CLIENT) && flock node_modules/.building sh -c 'if [ ! -d dist ] || [ ! -f node_modules/.built ] || \
		[ -n "$$(find src package.json tsconfig.json -newer node_modules/.built)" ]; then \
		rm -rf dist node_modules/.built && npm run -s build && npm run -s check && touch node_modules/.built; fi'

clients-node-client: build fleet need-redis need-openssl clients-node-build ## the package for Node: its tests, those of redlock, 1,000 broken connections, groups, and the scenarios over three shards (LONG=1: 5,000; POSTGRES=url MYSQL=url: the fence there, too)
	cd $(NODE_CLIENT) && npm test && npm run -s test:shards && npm run -s test:vitest

clients-node-sql: build need-mariadb clients-node-build $(PACKAGE_VENV)/ready ## its fence for SQL on SQLite, PostgreSQL and MariaDB, which it starts (Debian's postgresql, mariadb-server-core and mariadb-client-core)
	$(SQL_DRIVERS)
	cd $(NODE_CLIENT) && PYTHONDONTWRITEBYTECODE=1 ../../$(PACKAGE_VENV)/bin/python ../python/tests/databases.py node --test --test-reporter=spec tests/fence.test.mjs

clients-node-tarball: clients-node-build ## the package for Node, in bin/packages/node
	rm -rf bin/packages/node && mkdir -p bin/packages/node && cd $(NODE_CLIENT) && npm pack --silent --pack-destination ../../bin/packages/node

clients-node-package: build clients-node-tarball ## that package, installed into empty projects; and the lines of its README
	cd $(NODE_CLIENT) && node tests/package.mjs ../../bin/packages/node/lockserver-$$(node -p 'require("./package.json").version').tgz
	cd $(NODE_CLIENT) && node tests/install.mjs

VENV = bin/clients-venv
EARLIER_VENV = bin/clients-venv-3.5
$(VENV)/ready: tests/clients/python/requirements.txt
$(EARLIER_VENV)/ready: tests/clients/python/requirements-3.5.txt
$(VENV)/ready $(EARLIER_VENV)/ready: | need-python
	python3 -m venv --clear $(@D)
	$(@D)/bin/pip install -q --disable-pip-version-check -r $<
	@touch $@
pytest = PYTHONDONTWRITEBYTECODE=1 ../../../$1/bin/python -m pytest -p no:cacheprovider -v

clients-python: build fleet need-redis need-python need-openssl $(VENV)/ready $(EARLIER_VENV)/ready ## redis-py, new and old, rq
	cd tests/clients/python && $(call pytest,$(VENV)) && $(call pytest,$(EARLIER_VENV))

# The package for Python, in clients/python. Its tests run in an environment in which it is installed to be edited, and those of
# its files in empty ones. OLDEST is the earliest Python that it supports, with the earliest redis-py.
OLDEST ?= $(firstword $(wildcard $(HOME)/.pyenv/versions/3.9.*/bin/python3.9) python3.9)
OLDEST_VENV = bin/python-package-venv-oldest
.PHONY: clients-python-build clients-python-package clients-python-oldest clients-python-versions clients-python-bench clients-python-sql
$(PACKAGE_VENV)/ready: clients/python/tests/requirements.txt clients/python/pyproject.toml | need-python
	python3 -m venv --clear $(@D)
	$(@D)/bin/pip install -q --disable-pip-version-check -r $<
	$(@D)/bin/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e clients/python
	@touch $@
$(OLDEST_VENV)/ready: clients/python/tests/requirements-oldest.txt clients/python/pyproject.toml
	@command -v $(OLDEST) >/dev/null || { echo "$(OLDEST) is missing: say OLDEST=python3.x"; exit 1; }
	$(OLDEST) -m venv --clear $(@D)
	$(@D)/bin/pip install -q --disable-pip-version-check -r $<
	$(@D)/bin/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e clients/python
	@touch $@

clients-python-build: $(PACKAGE_VENV)/ready ## wheel and sdist of the package for Python, in bin/packages/python
	rm -rf bin/packages/python
	cd clients/python && ../../$(PACKAGE_VENV)/bin/python -m build --no-isolation -o ../../bin/packages/python >/dev/null

clients-python-package clients-python-oldest clients-python-bench clients-python-sql: export LOCKSERVER := $(or $(LOCKSERVER),$(CURDIR)/bin/lockserver)
clients-python-package: build fleet need-redis need-openssl clients-python-build ## tests of the package for Python: redis-py's own of Lock, failures of connections, servers and processes; the built files; the scenarios over three shards (LONG=1: more)
	cd clients/python/tests && $(if $(LONG),BREAKS=1000) $(call pytest,$(PACKAGE_VENV)) --deselect test_scenarios.py::test_hand_off
	cd clients/python/tests && SHARDS=3 $(call pytest,$(PACKAGE_VENV))

clients-python-oldest: build $(OLDEST_VENV)/ready ## the same package with the earliest Python and redis-py that it supports
	cd clients/python/tests && $(call pytest,$(OLDEST_VENV)) test_core.py test_locks.py test_more.py test_direct.py test_sql.py

# PYTHONS are the versions of Python that clients-python-versions tests. Each is taken from pyenv, from PATH, or from where
# `make deps` has put it.
PYTHONS ?= 3.9 3.10 3.11 3.12 3.13 3.14
python_of = $(firstword $(wildcard $(HOME)/.pyenv/versions/$1.*/bin/python$1) $(shell command -v python$1) $(wildcard $(ORACLE_CACHE)/pythons/$1/usr/bin/python$1))
clients-python-versions: export LOCKSERVER := $(or $(LOCKSERVER),$(CURDIR)/bin/lockserver)
clients-python-versions: build $(PYTHONS:%=bin/python-package-venv-%/ready) ## the package for Python with Python 3.9 to 3.14: its tests of locks, waiters, threads, asyncio and processes (PYTHONS="3.9 3.14")
	@set -e; cd clients/python/tests; for v in $(PYTHONS); do \
		PYTHONDONTWRITEBYTECODE=1 ../../../bin/python-package-venv-$$v/bin/python -W ignore::RuntimeWarning -m pytest -p no:cacheprovider -q \
			test_core.py test_locks.py test_more.py test_direct.py test_process.py test_sql.py; done
bin/python-package-venv-%/ready: clients/python/tests/requirements-versions.txt clients/python/pyproject.toml
	@test -n "$(call python_of,$*)" || { echo "Python $* is missing: run 'make deps', or say PYTHONS=\"...\""; exit 1; }
	$(call python_of,$*) -m venv --clear $(@D)
	$(@D)/bin/pip install -q --disable-pip-version-check -r $<
	$(@D)/bin/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e clients/python
	@touch $@

# BENCH_PYTHON is the Python of the measurements: one that is built with optimisations, as distributions have it.
BENCH_PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
BENCH_VENV = bin/python-bench-venv
$(BENCH_VENV)/ready: clients/python/tests/requirements-versions.txt clients/python/pyproject.toml
	$(BENCH_PYTHON) -m venv --clear $(@D)
	$(@D)/bin/pip install -q --disable-pip-version-check -r $<
	$(@D)/bin/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e clients/python
	@touch $@
clients-python-bench: build $(BENCH_VENV)/ready ## hand-offs of 16 clients of the package for Python beside redis-py's Lock, in turn, in one run (ROUNDS=n, SECONDS=n of each, BENCH_PYTHON=program)
	cd clients/python/tests && ROUNDS=$(or $(ROUNDS),7) SECONDS=$(or $(SECONDS),3) $(call pytest,$(BENCH_VENV)) -s test_scenarios.py -k hand_off

clients-python-sql: build need-mariadb $(PACKAGE_VENV)/ready ## its fence for SQL, and its pages for Django and SQLAlchemy, on SQLite, PostgreSQL and MariaDB, which it starts (Debian's postgresql, mariadb-server-core and mariadb-client-core)
	$(SQL_DRIVERS) asyncpg aiomysql asyncmy
	cd clients/python/tests && DATABASES=all $(call pytest,$(PACKAGE_VENV)) test_sql.py test_sql_libraries.py test_pages.py

.PHONY: client-sql
client-sql: need-mariadb $(PACKAGE_VENV)/ready ## the fence of the package for Go, and its entries that are applied once, on PostgreSQL and MariaDB, which it starts
	$(SQL_DRIVERS)
	cd examples && PYTHONDONTWRITEBYTECODE=1 ../$(PACKAGE_VENV)/bin/python ../clients/python/tests/databases.py $(GO) test -tags databases -count=1 $(GOTESTFLAGS) ./locks

# The agents of tests/scenarios: what CLIENTS names, or all. Each is a program on the client package of this repository.
CLIENTS ?=
AGENTS = $(if $(CLIENTS),$(subst $(comma), ,$(CLIENTS)),go java node python)
comma = ,
.PHONY: scenarios agent-go agent-java agent-node agent-python
scenarios: need-redis $(addprefix agent-,$(AGENTS)) ## the clients for Go, Java, Node and Python at the same time, over broken connections, killed and stopped servers, failovers (CLIENTS=go,python; LONG=1: pauses of 40 s; WRITE=1: the table in docs/CLIENTS.md)
	CLIENTS="$(CLIENTS)" WRITE="$(WRITE)" AGENT_GO=$(CURDIR)/bin/agents/go \
		AGENT_JAVA="java -XX:+UseSerialGC -cp $(CURDIR)/bin/agents/java:$$(cat bin/agents/java.classpath 2>/dev/null) Agent" \
		AGENT_NODE="node $(CURDIR)/tests/scenarios/agents/node/agent.mjs" \
		AGENT_PYTHON="$(CURDIR)/$(PACKAGE_VENV)/bin/python $(CURDIR)/tests/scenarios/agents/python/agent.py" \
		$(GO) test -tags scenarios -count=1 -v -timeout 30m $(GOTESTFLAGS) ./tests/scenarios
agent-go:
	$(GO) build -o bin/agents/go ./tests/scenarios/agents/go
agent-java: need-java
	mkdir -p bin/agents
	cd clients/java && mvn -B -ntp -q -pl lockserver-client compile \
		org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath -Dmdep.outputFile=$(CURDIR)/bin/agents/java.dependencies -Dmdep.includeScope=runtime
	echo "$(CURDIR)/clients/java/lockserver-client/target/classes:$$(cat bin/agents/java.dependencies)" >bin/agents/java.classpath
	javac --release 17 -Xlint:all -Werror -cp "$$(cat bin/agents/java.classpath)" -d bin/agents/java tests/scenarios/agents/java/Agent.java
agent-node: clients-node-build
agent-python: $(PACKAGE_VENV)/ready

clients-go: build fleet need-redis need-openssl ## go-redis, new and old, rueidis, redsync, redislock, asynq: a module of its own
	cd tests/clients/go && $(GO) mod tidy -diff && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./...
	cd tests/clients/go && $(GO) test -count=1 -v $(if $(findstring redis-server,$(LOCKSERVER)),-skip Native) .

EXAMPLES = examples/testing
$(EXAMPLES)/node/node_modules/.package-lock.json: $(EXAMPLES)/node/package-lock.json | need-node
	cd $(EXAMPLES)/node && npm ci --no-audit --no-fund --ignore-scripts
	@touch $@

clients-examples: export LOCKSERVER = $(CURDIR)/bin/lockserver
examples/express/node_modules/.package-lock.json: examples/express/package-lock.json | need-node
	cd examples/express && npm ci --no-audit --no-fund --ignore-scripts
	@touch $@

clients-examples: build fleet need-node need-python need-java $(VENV)/ready clients-node-build $(EXAMPLES)/node/node_modules/.package-lock.json examples/express/node_modules/.package-lock.json ## tests of a shop in test mode, as programs in Java, JavaScript, Python and Go would have them
	cd $(EXAMPLES)/go && $(GO) test -count=1 .
	cd $(EXAMPLES)/python && $(call pytest,$(VENV))
	cd $(EXAMPLES)/node && npm test
	cd examples/express && npm test
	cd $(EXAMPLES)/java && mvn -B -ntp test
	cd $(EXAMPLES)/spring && mvn -B -ntp test
	cd $(EXAMPLES)/testcontainers && mvn -B -ntp test

EXAMPLES_VENV = bin/python-examples-venv
$(EXAMPLES_VENV)/ready: examples/fastapi/requirements.txt examples/django/requirements.txt clients/python/pyproject.toml | need-python
	python3 -m venv --clear $(@D)
	$(@D)/bin/pip install -q --disable-pip-version-check $(addprefix -r ,$(filter %.txt,$^)) ./clients/python
	@touch $@
.PHONY: examples-python
examples-python: export LOCKSERVER = $(CURDIR)/bin/lockserver
examples-python: build fleet $(EXAMPLES_VENV)/ready ## the shops in Python: FastAPI, SQLAlchemy and Celery, and Django; each also with a group that loses its leader
	cd examples/fastapi && PYTHONPATH=../../clients/python/src $(subst ../../../,../../,$(call pytest,$(EXAMPLES_VENV)))
	cd examples/django && PYTHONPATH=../../clients/python/src $(subst ../../../,../../,$(call pytest,$(EXAMPLES_VENV)))

clients-cli: build need-redis need-python need-openssl $(VENV)/ready ## redis-cli and redis-benchmark
	cd tests/clients/cli && $(call pytest,$(VENV))

# WITH_ORACLE are the packages beside tests/ that have tests with a real Redis.
WITH_ORACLE = $(addprefix ./,$(sort $(dir $(shell grep -rlE '^//go:build.*oracle' --include='*_test.go' commands internal persistence tests/client))))

##@ Beside Redis
snapshots: need-redis need-oracle ## snapshots both ways with ORACLE and with the redis-server in PATH (SEED=n), and the README by a real redis-cli
	$(GO) test -tags oracle -count=1 $(GOTESTFLAGS) ./tests/snapshots $(if $(SEED),-seed $(SEED))
	$(GO) test -tags oracle -count=1 $(GOTESTFLAGS) $(WITH_ORACLE) ./tests/effects ./tests/interop ./tests/readme
	$(GO) test -count=1 $(GOTESTFLAGS) ./store/listpack -oracle "$(ORACLE)"
	$(GO) test -count=1 $(GOTESTFLAGS) ./store/stream -oracle "$$(command -v redis-server)"

##@ Replicas and raft groups
# Without MINUTES all of it runs once, with it what is random, again and again.
replication: need-redis need-oracle ## lockservers and real Redis servers that follow one another, over links that break, killed, and under Sentinels (SEED=n FAILOVERS=n; MINUTES=n)
	SEED=$(SEED) FAILOVERS=$(FAILOVERS) $(if $(filter file,$(origin MINUTES)),,MINUTES=$(MINUTES)) $(GO) test -tags oracle -count=1 -timeout 0 $(GOTESTFLAGS) \
		./tests/replication $(if $(filter file,$(origin MINUTES)),,-v -run 'TestAnyCommand|TestKills')

# Servers of other versions, which .ci/others.sh fetches: replication-versions takes others, too (OTHERS=path:path).
OTHERS ?= $(subst $() ,:,$(addprefix $(ORACLE_CACHE)/others/,redis-server-6.2 redis-server-8.2 valkey-server-8.1 valkey-server-9.1))

.PHONY: need-versions
need-versions:
	@for p in $(subst :, ,$(OTHERS)); do command -v "$$p" >/dev/null || { echo "$$p is missing: run 'make deps'"; exit 1; }; done

replication-versions: need-redis need-oracle need-versions ## replication from and to Redis 6.2 and 8.2, Valkey 8.1 and 9.1, or OTHERS=path:path
	OTHERS="$(OTHERS)" $(GO) test -tags oracle -count=1 $(GOTESTFLAGS) ./tests/replication \
		-v -run '^(TestRedisFollowsLockserver|TestLockserverFollowsRedis|TestSnapshotOfARedisThatFollows|TestFailoverBetweenKinds)$$'

raft: ## a raft group in one process, over networks that break, and as processes that are killed and stopped
	$(GO) test -tags raft -count=1 -parallel 4 -timeout 10m $(GOTESTFLAGS) ./server/raft/... ./server/migration ./tests/raft ./tests/groups

damage: ## damage files of members of a raft group under load, of one and of two, down and running (MINUTES=n SEED=n)
	$(GO) test -tags raft -count=1 -timeout 0 -v $(GOTESTFLAGS) -run '^TestRot$$' ./tests/raft -minutes $(if $(filter file,$(origin MINUTES)),60,$(MINUTES)) $(if $(SEED),-rot-seed $(SEED))

# OLD is the version that make upgrade begins with: the last release's tag, or a commit of some time ago.
OLD ?= $(or $(shell git describe --tags --abbrev=0 2>/dev/null),HEAD~100)
upgrade: ## a group of an older version (OLD=commit) is upgraded under load, one member after the other, and goes back
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && git archive $(OLD) | tar -x -C "$$dir" && \
	(cd "$$dir" && $(GO) build -trimpath -buildvcs=false -o lockserver-old ./cmd/lockserver) && \
	LOCKSERVER_OLD="$$dir/lockserver-old" $(GO) test -tags raft,upgrade -count=1 -timeout 10m -v $(GOTESTFLAGS) -run '^TestUpgrade' ./tests/raft

# RUNS is how many runs the simulation has.
simulation: RUNS ?= 10000
simulation: ## raft groups in virtual time; a seed owns their networks, disks and clocks (RUNS=n SEED=n)
	$(GO) test -tags simulation -count=1 -timeout 0 -v $(GOTESTFLAGS) -run 'Simulation|Vote|Differences' ./tests/simulation -runs $(RUNS) $(if $(SEED),-seed $(SEED))

slotmoves: RUNS ?= 5000
slotmoves: ## moves of slots between groups, played with lost messages and leaders that end (RUNS=n SEED=n FOR=1h)
	$(GO) test -count=1 -timeout 0 -v $(GOTESTFLAGS) -run 'Moves|Driver' ./tests/slotmoves -runs $(RUNS) $(if $(SEED),-seed $(SEED)) $(if $(FOR),-for $(FOR))

.PHONY: moves
moves: ## locks, sales, waits and delayed entries on two shards of three processes, while slots move and members are killed, paused and cut off (MINUTES=n SEED=n KILLS=n; STILL=1: no slot moves)
	$(GO) test -tags raft -count=1 -timeout 0 -v $(GOTESTFLAGS) -run '^TestMoves$$|Judged' ./tests/moves -minutes $(MINUTES) -kills $(if $(filter file,$(origin KILLS)),1,$(KILLS)) $(if $(SEED),-seed $(SEED)) $(if $(STILL),-still)

.PHONY: moves-clients
moves-clients: build need-java clients-node-build $(PACKAGE_VENV)/ready ## programs with the packages for Go, Python, Node and Java hold locks and wait, while the slots of all that move there and back (ROUNDS=n)
	cd clients/java && mvn -B -ntp -q -pl lockserver-client compile org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath \
		-Dmdep.outputFile=$(CURDIR)/bin/java-client.classpath -Dmdep.includeScope=runtime
	$(GO) test -tags raft -count=1 -v $(GOTESTFLAGS) -run '^TestProgramsWhileSlotsMove$$' ./tests/moves -programs -rounds $(or $(ROUNDS),5)

.PHONY: moves-planted
moves-planted: ## the same with planted faults, each of which must be found
	$(GO) test -tags raft -count=1 -v -timeout 60m -run '^TestPlantedFaults$$' $(GOTESTFLAGS) ./tests/moves -planted

.PHONY: bench-moves
bench-moves: ## how long moves of slots freeze them, and what requests for other slots take while a million keys move (MOVES=n KEYS=n)
	$(GO) test -tags raft -count=1 -timeout 0 -v $(GOTESTFLAGS) -run '^TestFrozen$$' ./tests/moves -moves $(or $(MOVES),200) -keys $(or $(KEYS),1000000)

migration: build need-redis need-oracle need-java ## what docs/MIGRATION.md says, under load by Redisson and go-redis: from Redis to lockserver and back
	cd tests/migration/redisson && mvn -B -ntp -q compile dependency:build-classpath
	$(GO) test -tags oracle -count=1 -v $(GOTESTFLAGS) ./tests/migration

##@ Histories and attacks
linearizability: ## histories of random clients, checked against a model of the lock (MINUTES=n SEED=n)
	$(GO) test -count=1 -timeout 0 -v -run Histories ./tests/linearizability -minutes $(MINUTES) -seed $(or $(SEED),0)

sessions: ## random clients that are killed, muted and flooded: each command has one answer (MINUTES=n SEED=n)
	$(GO) test -count=1 -timeout 0 -v $(GOTESTFLAGS) -run Histories ./tests/sessions -minutes $(MINUTES) -seed $(or $(SEED),0)

.PHONY: sales
sales: ## histories of sales, checked against a model of one (MINUTES=n SEED=n: that world alone)
	$(GO) test -count=1 -timeout 0 -v $(GOTESTFLAGS) -run Histories ./tests/sales -minutes $(MINUTES) -by-chance $(if $(SEED),-seed $(SEED))

.PHONY: need-netns
need-netns:
	@command -v ip >/dev/null || { echo "ip is missing: run 'make deps'"; exit 1; }
	@[ "$$(id -u)" = 0 ] || { echo "making network namespaces needs root: run it with sudo"; exit 1; }

unauthenticated: ## thousands of connections that do not log in, read nothing, or never finish a handshake
	$(GO) test -count=1 -v $(GOTESTFLAGS) ./tests/unauthenticated -connections 10000

vanish: need-netns ## hosts vanish without a word: what becomes of their locks, in network namespaces, as root
	$(GO) test -tags netns -count=1 -v -parallel 16 $(GOTESTFLAGS) ./tests/vanish

.PHONY: vanish-clients
# The programs run on hosts of their own, with what is built here.
vanish-clients: build need-netns need-java clients-node-build $(PACKAGE_VENV)/ready ## the leader of one of three groups is cut off from programs with the packages for Python, Node and Java, in network namespaces, as root
	cd clients/java && mvn -B -ntp -q -pl lockserver-client compile org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath \
		-Dmdep.outputFile=$(CURDIR)/bin/java-client.classpath -Dmdep.includeScope=runtime
	$(GO) test -tags netns -count=1 -v -run '^TestProgramsOfACutShard$$' $(GOTESTFLAGS) ./tests/vanish -programs

.PHONY: machines machines-planted
machines: need-netns ## three raft groups on three machines, which are killed, paused and cut off under load, in network namespaces, as root (MINUTES=n SEED=n)
	MINUTES=$(MINUTES) SEED=$(SEED) $(GO) test -tags netns -count=1 -v -timeout 0 -run '^TestMachines$$' $(GOTESTFLAGS) ./tests/vanish

machines-planted: need-netns ## the same with planted faults, each of which must be found
	$(GO) test -tags netns -count=1 -v -timeout 60m -run '^TestPlantedMachines$$' $(GOTESTFLAGS) ./tests/vanish -planted

# KILLS is how many servers crash kills, LOG_ROUNDS how often it crashes the log at each of its operations.
KILLS ?= 100
LOG_ROUNDS ?= 8
crash: ## crash the log at each of its operations, and kill servers under load (SEED=n KILLS=n LOG_ROUNDS=n)
	$(GO) test -count=1 -timeout 0 -v $(GOTESTFLAGS) ./tests/crash -log-rounds $(LOG_ROUNDS) -kills $(KILLS) -seed $(or $(SEED),0)

.PHONY: shards
# The scenarios of clients/SCENARIOS.md that the client for Go plays over three shards as well.
SHARDED_GO = Test(BrokenConnections|Restart|AnotherServer|Unreachable|StoppedServer|UnreachableAndBack|Loss|Deadlines|GuardAfterUnlock|$\
	BrokenWhileWaiting|GuardIsSentOnce|GrantIsTakenBack|CloseReleases|TenThousandWait|Semaphore|Latch|Limiter|Limits|Delay|Sale|$\
	Campaign|DelayRepeated|SilentServer|ForgottenHold|Inspection|LimitChanges|SaysWhatIsWrong|Worker)
shards: need-oracle ## several shards in one process: generated commands beside a Redis Cluster of three masters of ORACLE, kills under load, and the scenarios of the client for Go (LOCKSERVER_SEED=n LONG=1)
	$(GO) test -tags oracle -count=1 -timeout 30m $(GOTESTFLAGS) ./tests/shards
	LOCKSERVER_SHARDS=3 $(GO) test -count=1 $(GOTESTFLAGS) -run '^$(SHARDED_GO)$$' ./tests/client

hostile: ## what no client would send, in random pipelines, and kill -9 (MINUTES=n SEED=n)
	$(GO) test -count=1 -timeout 0 -v $(GOTESTFLAGS) ./tests/hostile -minutes $(MINUTES) -rights-calls 2 -seed $(or $(SEED),0) -rights-seed $(or $(SEED),0)

# NEEDS_TLS is what the section tls of bench needs, if it is to run and there is something to build it from.
NEEDS_TLS = $(if $(wildcard $(ORACLE_TARBALL)),$(if $(ONLY),$(if $(findstring tls,$(ONLY)),oracle-tls),oracle-tls))

# BENCH runs the benchmarks, which are a module of their own with a table of suites: `make bench-list` prints it.
BENCH = cd tests/bench && $(GO) run .
BESIDE = -oracle "$(if $(findstring /,$(ORACLE)),$(abspath $(ORACLE)),$(ORACLE))" $(if $(QUICK),-quick)

##@ Measurements, into docs/BENCHMARKS.md
bench: need-oracle $(NEEDS_TLS) $(if $(filter raftbench,$(PART)),hazelcast) ## all figures in one run beside ORACLE, into docs/BENCHMARKS.md, its picture, docs/MEMORY.md and the README (25 minutes); ONLY=memory: a part, printed; KEYS=10000000: with so many keys, in ONLY=memory,snapshot,bgsave,log-start,log-rewrite; QUICK=1: little work
	$(BENCH) $(if $(ONLY),-suite costbench -only "$(ONLY)" $(if $(KEYS),-keys "$(KEYS)") $(if $(BEFORE),-before "$(abspath $(BEFORE))"),-write $(if $(PART),-suite $(PART)) $(if $(filter raftbench,$(PART)),-hazelcast raftbench/hazelcast)) $(BESIDE)

bench-list: ## what can be measured, and what it needs
	@$(BENCH) -list

bench-aof: need-oracle need-strace ## the append-only file of both servers side by side: always (on a slower disk, too), everysec, loading, rewriting
	$(BENCH) -suite costbench -only log,log-start,log-rewrite -sync-delay 2ms $(BESIDE)

bench-locks: need-oracle ## LOCK beside redsync, redislock and Redisson's readers, a million locks, 100,000 waiters
	$(BENCH) -suite lockbench $(BESIDE)

bench-shards: ## LOCK and UNLOCK of distinct locks over 2 and 4 shards, beside one: on a quiet machine, with as many processors
	$(BENCH) -suite shardbench -rounds 5 $(if $(QUICK),-quick)

bench-sales: ## an order of a sale with ten million buyers beside one with a thousand, and what a refusal costs (4 GB, minutes)
	$(BENCH) -suite salebench $(if $(QUICK),-quick)

bench-memory: need-oracle ## bytes of resident memory a key, element, lock, waiter, order beside ORACLE, which may be any redis-server or valkey-server (COUNTS=1000000; ONLY=lock: a part; 4 GB)
	$(BENCH) -suite membench $(if $(COUNTS),-counts "$(COUNTS)") $(if $(ONLY),-only "$(ONLY)") $(BESIDE)

bench-replication: need-oracle ## what an effect costs with replicas, a full sync under load, a replica's load, and replicas that do not read, beside ORACLE; ONLY=sync: a part
	$(BENCH) -suite replbench -only "$(ONLY)" $(BESIDE)

hazelcast: need-java ## compile the Hazelcast that bench-raft measures beside, which Maven fetches
	cd tests/bench/raftbench/hazelcast && mvn -B -ntp -q compile dependency:build-classpath

bench-raft: hazelcast ## a group of three beside three etcd and three Hazelcast: locks, a leader that is killed, what a write costs, a member that was away; ONLY=failover: a part
	$(BENCH) -suite raftbench -hazelcast raftbench/hazelcast -only "$(ONLY)" $(if $(QUICK),-quick)

outages: ## a group of three with 1,000,000 keys: how long nothing is acknowledged when the leader stands still for 2 s, 20 times under load, and how long a new leader takes to serve; ONLY=pauses: a part
	$(BENCH) -suite outages -only "$(ONLY)" $(if $(QUICK),-quick)

.PHONY: bench-machines
bench-machines: need-oracle ## three groups on three machines beside one group and a Redis Cluster: how long a shard does not answer when its machine is killed, and what is lost
	$(BENCH) -suite machines $(if $(QUICK),-quick) $(BESIDE)

bench-permits: ## semaphores beside LOCK and Redisson's, limiters beside INCR, a million delayed entries
	$(BENCH) -suite permitbench $(BESIDE)

bench-history: ## what classes and the history of locks cost LOCK and UNLOCK over a socket, and a scrape with a million locks; ONLY=scrape: a part
	$(BENCH) -suite historybench -only "$(ONLY)" $(if $(QUICK),-quick)

bench-testing: ## test mode beside miniredis: a thousand servers begun and ended, ten thousand small commands; what TEST.SERVER NEW costs
	$(BENCH) -suite minibench -rounds 5 $(if $(QUICK),-quick)

bench-lua: need-oracle ## ten small Lua programs and cjson beside ORACLE: processor time, and the memory of cjson; ONLY=cjson: a part
	$(BENCH) -suite luabench -only "$(ONLY)" $(BESIDE)

profile: export LOCKSERVER_PROFILES = $(CURDIR)/bin/profiles
profile: need-oracle ## measure where the server's time goes, into cmd/lockserver/release.pgo, by which releases are built (10 minutes)
	rm -rf bin/profiles && mkdir -p bin/profiles
	$(GO) build -trimpath -tags profile -o bin/lockserver-profile ./cmd/lockserver
	$(BENCH) -suite costbench -only cpu -rounds 1 -binary $(CURDIR)/bin/lockserver-profile $(BESIDE) >/dev/null
	$(BENCH) -suite permitbench -only semaphores,limits,handoffs,delay-add -rounds 1 -binary $(CURDIR)/bin/lockserver-profile $(BESIDE) >/dev/null
	$(GO) tool pprof -symbolize=none -proto -output cmd/lockserver/release.pgo bin/profiles/*.cpu

bench-check: ## vet, lint and test the benchmarks, and look whether the pages are what docs/benchmarks.json says; nothing is measured
	cd tests/bench && $(GO) mod tidy -diff && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./... && $(GO) test $(GOTESTFLAGS) ./...
	cd tests/bench && GOOS=darwin $(GO) vet ./benchkit ./costbench ./figures ./floor ./lockbench ./luabench ./membench ./replbench ./salebench

##@ Histories and attacks
# TARGETS narrows fuzz down to the targets that match a pattern.
TARGETS ?=
fuzz: ## every fuzz target, FUZZTIME (60s) each, FUZZJOBS (2) at a time (TARGETS=pattern)
	@bash .ci/fuzz $(FUZZTIME) $(FUZZJOBS) $(TARGETS)

##@ Pages, console, figures
docs: ## write what follows from tables and data: docs/commands.md, the directives in docs/CONFIGURATION.md, docs/METRICS.md, manual pages and completions, docs/BENCHMARKS.md, the tables in docs/MEMORY.md
	$(GO) run ./internal/gendocs
	cd tests/bench && $(GO) run . -render

need-chromium:
	@command -v "$${CHROMIUM:-chromium}" >/dev/null || { echo "chromium is missing: run 'make deps', or name one (CHROMIUM=path)"; exit 1; }

console: build need-chromium ## the console in Chromium: every page, a release by force, logins, keys (PICTURE=docs/console.png takes its picture, PICTURES=directory those of all pages)
	cd tests/console && $(GO) mod tidy -diff && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./...
	cd tests/console && PICTURE=$(if $(PICTURE),$(abspath $(PICTURE))) PICTURES=$(if $(PICTURES),$(abspath $(PICTURES))) $(GO) test -count=1 .

need-prometheus:
	@for p in $(PROMETHEUS); do command -v $${p%:*} >/dev/null || { echo "$${p%:*} is missing: run 'make deps'"; exit 1; }; done

metrics: build need-oracle need-prometheus ## what redis_exporter finds here and at ORACLE, the dashboard and the rules in a real Prometheus, the time of a scrape
	$(GO) test -tags oracle -count=1 -v $(GOTESTFLAGS) ./tests/metrics

##@ Examples
examples: ## vet, lint and test the programs in examples/, which are a module of their own
	cd examples && $(GO) mod tidy -diff && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./... && $(GO) test -race ./...

.PHONY: fence-postgres
fence-postgres: ## the SQL fence of examples/locks on PostgreSQL (POSTGRES=postgresql://user@host/database; needs psql)
	@command -v psql >/dev/null || { echo "fence-postgres: psql is missing" >&2; exit 1; }
	@test -n "$(POSTGRES)" || { echo "fence-postgres: say which database: POSTGRES=postgresql://..." >&2; exit 1; }
	psql -X -q "$(POSTGRES)" -f examples/locks/fenced_postgres.sql

##@ Measurements, into docs/BENCHMARKS.md
comparison: build ## redsync, redislock, rueidislock, etcd and client, stopped, cut off and restarted: is the table in docs/LOCKS.md true? (LOCKSERVER=program)
	cd tests/comparison && $(GO) mod tidy -diff && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./...
	cd tests/comparison && $(GO) test -count=1 -v -parallel 15 $(if $(findstring redis-server,$(LOCKSERVER)),-skip 'TestComparison/^client$$') .

##@ Releases
# PLATFORMS release makes files for; empty: for all.
PLATFORMS ?=
# CLIENTS=no leaves the packages for other languages out of release, which then needs nothing but Go and git.
CLIENTS ?= yes
release: $(if $(filter no,$(CLIENTS)),,clients-python-build clients-java-package clients-node-tarball) ## archives, packages (.deb, .rpm), container images, the packages for Java, Node and Python and checksums of the commit, in dist/ (PLATFORMS="linux/amd64 ..."; CLIENTS=no: only the server's)
	cd packaging && $(GO) run ./release $(if $(filter no,$(CLIENTS)),,-with "../bin/packages/python ../bin/packages/java ../bin/packages/node") $(if $(PLATFORMS),-platforms "$(PLATFORMS)")

.PHONY: need-packages
need-packages: need-redis
	@for p in dpkg rpm zsh fish man mandoc systemd-analyze ip unshare nsenter pivot_root buildah; do \
		command -v $$p >/dev/null || { echo "$$p is missing: run 'make deps'"; exit 1; }; done
	@[ "$$(id -u)" = 0 ] || { echo "installing packages in a root of their own needs root: run it with sudo"; exit 1; }

# HELM is the version of Helm that make chart builds and runs.
HELM = v3.22.0
bin/helm-$(HELM)/helm:
	GOBIN=$(CURDIR)/$(@D) $(GO) install helm.sh/helm/v3/cmd/helm@$(HELM)

.PHONY: chart
chart: bin/helm-$(HELM)/helm ## the Helm chart in packaging/chart: its tests, and Helm's own lint and template, with several settings
	cd packaging && HELM=$(CURDIR)/$< $(GO) test -count=1 -tags helm ./chart

# Tests of commands count allocations. A profile decides what is inlined, and so what is allocated.
release-check: need-packages ## what release has made, installed and run in a root of its own, under systemd, and by buildah, as root; packaging/ is a module of its own
	$(GO) test -count=1 -pgo=$(PGO) ./commands
	cd packaging && $(GO) mod tidy -diff && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./...
	cd packaging && $(GO) test -count=1 -v -exec 'unshare --mount --net --pid --fork --kill-child --mount-proc' ./check
	cd packaging && $(GO) test -count=1 ./chart

##@ The form of the code
ACTIONLINT = github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
workflows: ## check the workflow files of GitHub Actions
	$(GO) run $(ACTIONLINT)

# GOVULNCHECK asks the Go vulnerability database over the network.
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.1.4
vulnerabilities: ## look for known vulnerabilities in what the program is built from
	$(GO) run $(GOVULNCHECK) ./...

##@ Continuous integration
ci: ## what continuous integration runs for a change: what every change runs, and what it touches (BASE=commit)
	bash .ci/run

ci-full: ## every suite in its long form: before a release, and every night
	bash .ci/run full
