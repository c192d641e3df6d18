package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var root = filepath.Join("..", "..")

// names returns the names of the jobs.
func names(jobs []job) (all []string) {
	for _, j := range jobs {
		all = append(all, j.name)
	}
	return all
}

func TestPlanOfAChange(t *testing.T) {
	always := []string{"fmt", "tidy", "build", "vet", "test", "lint"}
	for _, c := range []struct {
		name   string
		change change
		want   []string
	}{
		{"docs alone", change{files: []string{"docs/LOCKS.md", "README.md"}}, []string{"fmt", "test-docs"}},
		{"nothing but a file of the root", change{files: []string{"LICENSE"}}, always},
		{"a page in testdata is code", change{files: []string{"internal/config/testdata/a.txt"}}, append(always, "diff")},
		{"the console", change{files: []string{"admin/console/page.go"}}, append(always, "race", "metrics", "console")},
		{"the raft engine", change{files: []string{"server/raft/engine/log.go"}},
			append(always, "race", "busy", "lock-path", "simulation", "diff", "raft", "clients-go", "hostile")},
	} {
		require.Equal(t, c.want, names(plan(table(), c.change)), c.name)
	}
	for _, s := range table() {
		require.True(t, slices.ContainsFunc(plan(table(), change{full: true}), func(j job) bool { return j.name == s.name }),
			"the full tier has no %s", s.name)
	}
	require.Contains(t, names(plan(table(), change{})), "migration", "with nothing known of the change everything runs")
}

// TestBudget: a change of everything does not run every suite. The plan names the suites that do not fit, and
// a suite that every change runs always fits.
func TestBudget(t *testing.T) {
	spent, left := 0, 0
	of := map[string]suite{}
	for _, s := range table() {
		of[s.name] = s
	}
	for _, j := range plan(table(), change{}) {
		s := of[j.name]
		if j.left {
			left++
			require.False(t, s.always, j.name)
			continue
		}
		spent += s.cost()
	}
	require.Positive(t, left)
	require.LessOrEqual(t, spent, budget)
	require.Greater(t, spent, budget*9/10)
	for _, j := range plan(table(), change{full: true}) {
		require.False(t, j.left, "the full tier runs %s", j.name)
	}
}

// TestSessionBefore: without a base, the change begins at the newest commit that is three hours older than
// HEAD.
func TestSessionBefore(t *testing.T) {
	dir := t.TempDir()
	run := func(date string, arg ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, arg...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+date, "GIT_AUTHOR_DATE="+date)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	run("", "init", "-q")
	for _, minute := range []string{"07:00", "08:59", "09:00", "09:01", "12:00"} {
		run("2026-11-20T"+minute+":00Z", "commit", "-q", "--allow-empty", "-m", minute)
	}
	base, err := sessionBefore(dir)
	require.NoError(t, err)
	subject, err := git("-C", dir, "log", "-1", "--format=%s", base)
	require.NoError(t, err)
	require.Equal(t, "09:00\n", subject)
}

// goFiles returns the Go files of the tree.
func goFiles(t *testing.T) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata"):
			return filepath.SkipDir
		case strings.HasSuffix(file, ".go"):
			rel, err := filepath.Rel(root, file)
			if err != nil {
				return err
			}
			all = append(all, filepath.ToSlash(rel))
		}
		return nil
	}))
	return all
}

// TestEveryPackageHasASuite: a change of any package calls for a suite by name, and each path in the
// table exists.
func TestEveryPackageHasASuite(t *testing.T) {
	for _, file := range goFiles(t) {
		require.True(t, slices.ContainsFunc(table(), func(s suite) bool { return touches(s.paths, []string{file}) }),
			"no suite in tests/ciplan/table.go has %s among its paths", file)
	}
	for _, s := range table() {
		for _, p := range s.paths {
			info, err := os.Stat(filepath.Join(root, filepath.FromSlash(p)))
			require.NoError(t, err, "suite %s", s.name)
			require.Equal(t, strings.HasSuffix(p, "/"), info.IsDir(), "suite %s: %s", s.name, p)
		}
	}
}

// notSuites lists the targets of the Makefile that check nothing, or that another suite includes.
var notSuites = []string{
	"help", "run", "demo", "deps", "oracle", "oracle-tls", "docs", "hazelcast", "fleet", "rename", "ci", "ci-full", // these check nothing
	"release", "clients", // parts of release-check; all of clients-*
	"race-all",           // the full form of race runs it
	"flaky", "test-time", // started by hand
	"fence-postgres", "clients-java-container", // started by hand: they need a PostgreSQL server, Docker or Podman
	"clients-java-package", "clients-node-tarball", // part of clients-java-newcomer, clients-node-package
	"clients-python-build", "clients-python-oldest", "clients-python-sql", "clients-node-sql", "clients-python-versions", // part of the packages' own suites; need Pythons, databases
	"vulnerabilities", // asks a database on the network: a workflow runs it every night
	"bench", "bench-list", "bench-aof", "bench-locks", "bench-sales", "bench-shards", "bench-memory", "bench-replication", "bench-raft", "outages", "bench-machines", "bench-moves", "bench-permits", "bench-history", "bench-testing", "bench-lua", "profile",
	"clients-java-bench", "clients-python-bench", "shop-figures",
}

// TestEverySuiteIsInTheTable: each target of the Makefile that has a description is in the table of suites or
// in notSuites.
func TestEverySuiteIsInTheTable(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):.*## `).FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = true
	}
	seen := map[string]bool{}
	for _, s := range table() {
		require.False(t, seen[s.name], "%s is in the table twice", s.name)
		seen[s.name] = true
		require.True(t, targets[s.name], "the Makefile has no target %s", s.name)
		for _, command := range []string{s.fast, s.full} {
			if command != "" {
				require.Contains(t, strings.Fields(command), s.name, "the command of %s", s.name)
			}
		}
	}
	for target := range targets {
		require.True(t, seen[target] || slices.Contains(notSuites, target),
			"no suite in tests/ciplan/table.go runs make %s, and notSuites does not list it", target)
	}
}

func TestTouches(t *testing.T) {
	require.True(t, touches([]string{"server/"}, []string{"server/raft/log.go"}))
	require.False(t, touches([]string{"server/"}, []string{"servers/x.go", "tests/server/x.go"}))
	require.True(t, touches([]string{"go.mod"}, []string{"go.mod"}))
	require.False(t, touches([]string{"go.mod"}, []string{"examples/go.mod"}))
}
