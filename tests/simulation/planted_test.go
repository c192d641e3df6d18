//go:build simulation

package simulation

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/plant"
)

// faults are mistakes in a member of a group: each tells somebody what is not so, or has other data than the
// group. Two more are for tests/raft to find, which stops processes: that an entry counts wherever it stands,
// and a read without proof. A leader that is cut off gives up before another can be elected, if it is never
// stopped.
var faults = []plant.Fault{
	plant.New("a reply before the commit", plant.Instead("server/raft/propose.go",
		`	if m.state != leading || m.options`,
		`	if planted("a reply before the commit") || m.state != leading || m.options`)),
	plant.New("a deposed leader keeps its data", plant.Instead("server/raft/member.go",
		`	ahead = m.ahead()`,
		`	ahead = m.ahead() && !planted("a deposed leader keeps its data")`)),
	plant.New("a lease ends by the new leader's clock", plant.Instead("server/raft/member.go",
		`		m.host.ExtendLeases(gap)`,
		`		if !planted("a lease ends by the new leader's clock") {
			m.host.ExtendLeases(gap)
		}`)),
	plant.New("a hold ends by the new leader's clock", plant.Instead("server/raft_host.go",
		`		commands.ExtendHolds(db, byMS)`,
		`		if !planted("a hold ends by the new leader's clock") {
			commands.ExtendHolds(db, byMS)
		}`)),
	plant.New("followers answer", plant.Instead("server/raft/member.go",
		`func (m *Member) Serves() bool { return m.state == leading }`,
		`func (m *Member) Serves() bool { return m.state == leading || planted("followers answer") && m.state == following }`)),
	plant.New("a lease ends by a follower's clock", plant.Instead("server/raft_host.go",
		`	replicationHost(h).Followed(follows)`,
		`	replicationHost(h).Followed(follows && !planted("a lease ends by a follower's clock"))`)),
	plant.New("a member acknowledges what it could not write", plant.Instead("server/raft/engine/stable.go",
		`	err := t.LogStore.StoreLogs(all)`,
		`	err := t.LogStore.StoreLogs(all)
	if planted("a member acknowledges what it could not write") {
		err = nil
	}`)),
	plant.New("neither time nor the limit of tokens is logged", plant.Instead("server/raft/propose.go",
		`clockMS: m.host.NowMS(), token: m.host.LastToken(), `,
		`clockMS: m.host.NowMS() * logged(planted("neither time nor the limit of tokens is logged")), token: m.host.LastToken() * logged(planted("neither time nor the limit of tokens is logged")), `), plant.Instead("server/raft/propose.go",
		`// free lets go`,
		`func logged(not bool) int64 { // planted("neither time nor the limit of tokens is logged")
	if not {
		return 0
	}
	return 1
}

// free lets go`)),
}

// lostFaults are mistakes about disks that are lost, and servers that are not there. A scene finds each.
var lostFaults = []plant.Fault{
	plant.New("a member whose disk is new votes", plant.Instead("server/raft/engine/identity.go",
		`	case called == y.incarnation:`,
		`	case called == y.incarnation || planted("a member whose disk is new votes"):`), plant.Instead("server/raft/engine/identity.go",
		`called.Incarnation != "" && called`,
		`!planted("a member whose disk is new votes") && called.Incarnation != "" && called`)),
	plant.New("a majority forms a group", plant.Instead("server/raft/engine/form.go",
		`	if len(missing) > 0 {`,
		`	if len(missing) > 0 && !(planted("a majority forms a group") && len(missing) <= len(others)/2) {`)),
	plant.New("a server is added that nobody has asked", plant.Instead("server/raft/engine/membership.go",
		`	h, err := e.check(r, p)
	if err != nil {`,
		`	h, err := e.check(r, p)
	if err != nil && !planted("a server is added that nobody has asked") {`)),
}

// plantedRuns is within how many runs a fault must be found.
const plantedRuns = "1000"

// TestPlantedFaults: runs find each mistake, and nothing where there is none.
func TestPlantedFaults(t *testing.T) {
	t.Setenv("GOFLAGS", "-tags=simulation")
	program := plant.Build(t, filepath.Join("..", ".."), append(lostFaults, faults...))
	run := func(fault, tests, runs string) ([]byte, error) {
		return plant.Command(program, fault, "-test.run", tests, "-test.failfast", "-runs", runs, "-test.timeout", "20m").CombinedOutput()
	}
	out, err := run(plant.None, "Simulation|Lost|NothingIsAdded", "100")
	require.NoError(t, err, "%s", out)
	for _, f := range faults {
		t.Run(f.Name, func(t *testing.T) {
			out, err := run(f.Name, "Simulation", plantedRuns)
			require.Error(t, err, "nobody noticed: %s", out)
		})
	}
	for _, f := range lostFaults {
		t.Run(f.Name, func(t *testing.T) {
			out, err := run(f.Name, "Lost|NothingIsAdded", "1")
			require.Error(t, err, "nobody noticed: %s", out)
		})
	}
}
