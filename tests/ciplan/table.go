package main

import "slices"

// suite is a command of continuous integration.
type suite struct {
	name string // a target of the Makefile
	// fast is the command of the fast tier, full the command of the full tier. If full is empty, both tiers
	// run fast. If fast is empty, only the full tier runs the suite.
	fast, full string
	// always says that the fast tier runs the suite for every change of code.
	always bool
	// docs says that the fast tier runs the suite if only documentation has changed. A change of code does
	// not run it.
	docs bool
	// alone says that no other suite runs at the same time: the suite measures time, or uses both processors
	// itself.
	alone bool
	// seconds is about how long the fast form takes on two cores. The budget counts with it.
	seconds int
	// paths are directories (with a slash at the end) and files. A change of one of them calls for the
	// suite.
	paths []string
}

// core lists the directories that nearly every suite over the wire depends on.
var core = [...]string{"server/", "commands/", "store/", "internal/resp/"}

// with returns the paths and those of core.
func with(paths ...string) []string { return append(paths, core[:]...) }

// moving returns the directories of groups as shards, and of moves of slots between them.
func moving() []string {
	return []string{"server/raft/", "server/groups/", "server/migration/", "server/slotmove/", "server/slotdata/"}
}

// table returns all suites in the order in which they run: first the quickest suites, then the suites that
// need the machine for themselves, then the longest suites.
func table() []suite {
	return slices.Concat(checks(), waits(), others())
}

// checks returns the suites that read the code, and the suites that need both processors.
func checks() []suite {
	return []suite{
		{name: "fmt", fast: "make fmt", always: true, docs: true, alone: true, seconds: 2},
		{name: "tidy", fast: "make tidy", always: true, alone: true, seconds: 2, paths: []string{"go.mod", "go.sum"}},
		{name: "build", fast: "make build", always: true, alone: true, seconds: 30, paths: []string{"cmd/"}},
		{name: "test-docs", fast: "make test-docs", docs: true, alone: true, seconds: 30},
		{name: "vet", fast: "make vet", always: true, alone: true, seconds: 60},
		{name: "test", fast: "make test", always: true, alone: true, seconds: 250, paths: []string{
			"admin/", "client/", "cmd/", "commands/", "internal/", "lockservertest/", "persistence/", "server/", "store/",
			"tests/ciplan/", "tests/client/", "tests/effects/", "tests/embedded/", "tests/fairness/", "tests/grammar/", "tests/hostile/", "tests/interop/",
			"tests/conversation/", "tests/linearizability/", "tests/lossy/", "tests/shrink/", "tests/tabletest/",
			"tests/queued/", "tests/timed/", "tests/readme/", "tests/restarts/", "tests/sales/", "tests/sessions/"}},
		{name: "test-clock", full: "make test-clock", alone: true, seconds: 600, paths: []string{
			".ci/clock", "admin/", "client/", "cmd/", "commands/", "internal/", "persistence/", "server/", "store/"}},
		{name: "lint", fast: "make lint", always: true, alone: true, seconds: 150},
		{name: "cross", fast: "make cross", seconds: 90, paths: []string{"cmd/", "server/transport/", "internal/rusage/", "internal/runner/",
			"go.mod"}},

		{name: "race", fast: "make race", full: "make race race-all", alone: true, seconds: 360, paths: []string{
			"admin/", "client/", "tests/client/", "tests/testkit/", "lockservertest/", "persistence/", "server/", "store/", "commands/"}},
		{name: "busy", fast: "make busy", alone: true, seconds: 100, paths: []string{
			"server/", "commands/", "tests/linearizability/", "tests/fairness/", "tests/restarts/"}},
		{name: "lock-path", fast: "make lock-path", alone: true, seconds: 60, paths: with("tests/lockpath/", "internal/waiting/", "internal/lockhistory/", "internal/lockclass/")},
		{name: "simulation", fast: "make simulation RUNS=300 SEED=802000", full: "make simulation RUNS=4000", seconds: 200,
			paths: []string{"server/raft/", "server/topology/", "server/shardmap/", "server/groups/", "tests/simulation/"}},
		{name: "slotmoves", fast: "make slotmoves RUNS=1000 SEED=802000", full: "make slotmoves FOR=20m", seconds: 40, paths: []string{"server/slotmove/", "tests/slotmoves/"}},
	}
}

// waits returns suites that mostly wait for replies, processes, leases and disks.
func waits() []suite {
	return []suite{
		{name: "diff", fast: "make diff N=50000 SEED=20261121", full: "make diff N=300000", seconds: 200,
			paths: with("tests/differential/", "tests/grammar/", "internal/config/")},
		{name: "raft", fast: "make raft", full: "make raft", seconds: 150,
			paths: append(moving(), "server/topology/", "server/shardmap/", "tests/raft/", "tests/groups/", "tests/membership/")},
		{name: "moves", full: "make moves MINUTES=10", seconds: 700, paths: append(moving(), "tests/moves/", "tests/fleet/")},
		{name: "moves-clients", full: "make moves-clients", seconds: 120,
			paths: []string{"tests/moves/", "client/", "clients/python/src/", "clients/node/src/", "clients/java/lockserver-client/"}},
		{name: "moves-planted", full: "make moves-planted", seconds: 900, paths: []string{"tests/moves/"}},
		{name: "damage", full: "make damage MINUTES=10", seconds: 620, paths: []string{"server/raft/engine/", "tests/raft/rot_test.go"}},
		{name: "upgrade", full: "make upgrade", seconds: 90, paths: []string{"server/raft/", "tests/raft/upgrade_test.go"}},
		{name: "snapshots", fast: "make snapshots SEED=20261121", full: "make snapshots", seconds: 150,
			paths: []string{"persistence/", "store/", "commands/", "tests/snapshots/", "tests/effects/", "tests/interop/"}},
		{name: "shards", fast: "make shards", full: "make shards", seconds: 60,
			paths: []string{"server/topology/", "server/cluster/", "server/shards.go", "internal/keyslot/", "tests/shards/", "client/", "tests/client/"}},
		{name: "crash", fast: "make crash KILLS=20 LOG_ROUNDS=2 SEED=20261121", full: "make crash", seconds: 60,
			paths: []string{"persistence/", "server/durability/", "tests/crash/"}},
		{name: "replication", fast: "make replication SEED=20261121", full: "make replication", seconds: 240,
			paths: []string{"server/replication/", "persistence/", "server/durability/", "tests/replication/"}},
		{name: "clients-go", fast: "make clients-go", seconds: 150,
			paths: []string{"tests/clients/go/", "tests/fleet/", "client/", "server/"}},
		{name: "client-sql", fast: "make client-sql", seconds: 60, paths: []string{"client/sql.go", "examples/locks/"}},
		{name: "clients-python-sql", fast: "make clients-python-sql", seconds: 100, paths: []string{"clients/python/"}},
		{name: "clients-node-sql", fast: "make clients-node-sql", seconds: 40, paths: []string{"clients/node/"}},
		{name: "clients-python", fast: "make clients-python", seconds: 120,
			paths: []string{"tests/clients/python/", "tests/fleet/", "internal/resp/"}},
		{name: "clients-python-package", fast: "make clients-python-package", full: "make clients-python-package LONG=1", seconds: 240,
			paths: []string{"clients/python/", "clients/SCENARIOS.md", "tests/fleet/", "server/topology/"}},
		{name: "clients-cli", fast: "make clients-cli", seconds: 40,
			paths: []string{"tests/clients/cli/", "commands/", "internal/resp/"}},
		{name: "hostile", fast: "make hostile MINUTES=0.5 SEED=20261121", full: "make hostile MINUTES=5", seconds: 150,
			paths: with("tests/hostile/")},
		{name: "clients-java", fast: "make clients-java", seconds: 240,
			paths: []string{"tests/clients/java/", "tests/fleet/", "server/transport/", "server/topology/", "internal/resp/"}},
		{name: "clients-java-client", fast: "make clients-java-client", full: "make clients-java-client LONG=1", seconds: 300,
			paths: []string{"clients/java/", "tests/fleet/", "server/attach/"}},
		{name: "clients-java-servers", fast: "make clients-java-servers", seconds: 240,
			paths: []string{"clients/java/", "tests/fleet/"}},
		{name: "clients-java-sql", fast: "make clients-java-sql", seconds: 60,
			paths: []string{"clients/java/lockserver-client/"}},
		{name: "clients-java-newcomer", fast: "make clients-java-newcomer", seconds: 90, paths: []string{"clients/java/"}},
		{name: "shop", fast: "make shop", seconds: 120, paths: []string{"examples/shop/", "clients/java/"}},
		{name: "reminders", fast: "make reminders", full: "make reminders LONG=1", seconds: 60,
			paths: []string{"examples/reminders/java/", "clients/java/", "commands/delay.go"}},
		{name: "clients-node", fast: "make clients-node", seconds: 150,
			paths: []string{"tests/clients/node/", "tests/fleet/", "internal/resp/"}},
		{name: "clients-node-client", fast: "make clients-node-client", full: "make clients-node-client LONG=1", seconds: 240,
			paths: []string{"clients/node/", "tests/fleet/", "server/topology/"}},
		{name: "clients-node-package", fast: "make clients-node-package", seconds: 60,
			paths: []string{"clients/node/"}},
		{name: "scenarios", fast: "make scenarios", full: "make scenarios LONG=1", seconds: 200,
			paths: []string{"tests/scenarios/", "tests/fleet/", "client/", "clients/", "server/attach/"}},
		{name: "examples-python", fast: "make examples-python", seconds: 60,
			paths: []string{"examples/fastapi/", "examples/django/", "clients/python/"}},
		{name: "clients-examples", fast: "make clients-examples", seconds: 150,
			paths: []string{"examples/testing/", "server/testmode/"}},
		{name: "planted", fast: "make planted", seconds: 500,
			paths: []string{"tests/plant/", "tests/queued/", "tests/timed/", "tests/sales/", "tests/sessions/", "tests/fairness/"}},
		{name: "planted-long", fast: "make planted-long", seconds: 300,
			paths: []string{"tests/plant/", "tests/simulation/"}},
		{name: "sessions", full: "make sessions MINUTES=2", seconds: 120, paths: []string{"tests/sessions/"}},
		{name: "sales", full: "make sales MINUTES=2", seconds: 120, paths: []string{"tests/sales/"}},
		{name: "linearizability", full: "make linearizability MINUTES=2", alone: true, seconds: 120,
			paths: []string{"tests/linearizability/"}},
		{name: "replication-versions", fast: "make replication-versions", seconds: 120,
			paths: []string{"server/replication/", "persistence/rdb/", ".ci/others.sh"}},
	}
}

// others returns the suites for single parts, and for programs around the server.
func others() []suite {
	return []suite{
		{name: "migration", fast: "make migration", seconds: 90,
			paths: []string{"tests/migration/", "docs/MIGRATION.md"}},
		{name: "vanish", fast: "make vanish", seconds: 90,
			paths: []string{"tests/vanish/", "tests/membership/", "server/wait/liveness.go", "server/transport/"}},
		{name: "vanish-clients", full: "make vanish-clients", seconds: 120,
			paths: []string{"tests/vanish/", "clients/python/src/", "clients/node/src/", "clients/java/lockserver-client/"}},
		{name: "machines", full: "make machines MINUTES=10", seconds: 640, paths: []string{"server/shardmap/", "server/groups/", "tests/vanish/"}},
		{name: "machines-planted", full: "make machines-planted", seconds: 600, paths: []string{"tests/vanish/"}},
		{name: "unauthenticated", fast: "make unauthenticated", seconds: 30,
			paths: []string{"tests/unauthenticated/", "server/transport/", "server/acl/"}},
		{name: "release-check", fast: "make release release-check PLATFORMS=linux/amd64", seconds: 150,
			paths: []string{"packaging/", "cmd/"}},
		{name: "chart", full: "make chart", seconds: 120, paths: []string{"packaging/chart/"}},
		{name: "invariants", fast: "make invariants PKGS=./store/...", full: "make invariants", seconds: 90,
			paths: []string{"store/"}},
		{name: "metrics", fast: "make metrics", seconds: 30,
			paths: []string{"admin/", "tests/metrics/", "docs/grafana/", "server/info/"}},
		{name: "examples", fast: "make examples", seconds: 150, paths: []string{"examples/", "client/", "lockservertest/"}},
		{name: "comparison", fast: "make comparison", seconds: 90, paths: []string{"tests/comparison/", "client/"}},
		{name: "console", fast: "make console", seconds: 60, paths: []string{"admin/console/", "admin/history/", "docs/runbook.go", "tests/console/"}},
		{name: "fuzz", fast: "make fuzz FUZZTIME=4s", full: "make fuzz FUZZTIME=20s", alone: true, seconds: 180,
			paths: []string{"internal/resp/", "persistence/", "store/listpack/", "internal/luavm/"}},
		{name: "rename-check", fast: "make rename-check", seconds: 120, paths: []string{"client/go.mod", "go.mod", ".ci/rename", ".ci/rename-check"}},
		{name: "bench-check", fast: "make bench-check", seconds: 90, paths: []string{"tests/bench/", "docs/benchmarks.json"}},
		{name: "workflows", fast: "make workflows", seconds: 10, paths: []string{".github/"}},
	}
}
