//go:build raft

package raft

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/plant"
)

// lost is what a limit of tokens is multiplied with.
const lost = `func() int64 { if planted("the limit of tokens is not logged") { return 0 }; return 1 }()`

// faults are mistakes in a member of a group: each tells somebody what is not so, or has other data than the
// group.
var faults = []plant.Fault{
	plant.New("a reply before the commit", plant.Instead("server/raft/propose.go",
		`	if m.state != leading || m.options`,
		`	if planted("a reply before the commit") || m.state != leading || m.options`)),
	plant.New("a read without proof", plant.Instead("server/raft/propose.go",
		`	if len(entries) == 0 {`,
		`	if len(entries) == 0 && !planted("a read without proof") {`)),
	plant.New("a deposed leader keeps its data", plant.Instead("server/raft/member.go",
		`	ahead = m.ahead()`,
		`	ahead = m.ahead() && !planted("a deposed leader keeps its data")`)),
	plant.New("an entry counts wherever it stands", plant.Instead("server/raft/apply.go",
		`		if e.after != m.applied {`,
		`		if e.after != m.applied && !planted("an entry counts wherever it stands") {`)),
	plant.New("a lease ends by the new leader's clock", plant.Instead("server/raft/member.go",
		`		m.host.ExtendLeases(gap)`,
		`		if !planted("a lease ends by the new leader's clock") {
			m.host.ExtendLeases(gap)
		}`)),
	plant.New("followers answer", plant.Instead("server/raft/member.go",
		`func (m *Member) Serves() bool { return m.state == leading }`,
		`func (m *Member) Serves() bool { return m.state == leading || planted("followers answer") && m.state == following }`)),
	plant.New("a member acknowledges what it could not write", plant.Instead("server/raft/engine/stable.go",
		`	err := t.LogStore.StoreLogs(all)`,
		`	err := t.LogStore.StoreLogs(all)
	if planted("a member acknowledges what it could not write") {
		err = nil
	}`)),
	// Effects tell of the tokens of locks that are gone, so entries alone may lose it. In a snapshot it
	// stands twice: where it is the group's, and where any snapshot has it.
	plant.New("the limit of tokens is not logged", plant.Instead("server/raft/propose.go",
		`token: m.host.LastToken(), `,
		`token: m.host.LastToken() * `+lost+`, `), plant.Instead("server/raft/apply.go",
		`max(m.token, m.host.LastToken())}`,
		`max(m.token, m.host.LastToken()) * `+lost+`}`), plant.Instead("server/durability/snapshots.go",
		`TokenLimit: max(s.tokens.limit, s.tokens.last), `,
		`TokenLimit: max(s.tokens.limit, s.tokens.last) * `+lost+`, `)),
}

// finders are the tests that notice them.
var finders = []string{"Deposed", "Proved", "Deposed", "Void", "TimeAndTokens", "Majority", "WhoseDiskFails", "TokensOfLocks"}

// TestPlantedFaults: the tests of this package notice each mistake, and nothing else.
func TestPlantedFaults(t *testing.T) {
	if !plant.Wanted(t, filepath.Join("..", ".."), faults) {
		return
	}
	program := plant.Build(t, filepath.Join("..", ".."), faults)
	run := func(fault, tests string) ([]byte, error) {
		return plant.Command(program, fault, "-test.run", tests, "-test.failfast", "-test.timeout", "5m").CombinedOutput()
	}
	out, err := run(plant.None, "Majority|Deposed|Proved|TimeAndTokens|Void|WhoseDiskFails|TokensOfLocks")
	require.NoError(t, err, "%s", out)
	for i, f := range faults {
		t.Run(f.Name, func(t *testing.T) {
			out, err := run(f.Name, finders[i])
			require.Error(t, err, "nobody noticed: %s", out)
		})
	}
}
