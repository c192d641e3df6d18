//go:build simulation

package simulation

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/plant"
)

// faults are faults in a member. With each a client gets a wrong reply, or the member has other data than the
// group. tests/raft, which stops processes, finds two more: an entry that counts wherever it is, and a read
// without proof. Here a leader that is cut off gives up before another can be elected, because it is never
// stopped.
var faults = []plant.Fault{
	plant.New("a reply before the commit", plant.Or("raft-due", "true")),
	plant.New("a deposed leader keeps its data", plant.And("raft-ahead", "false")),
	plant.New("a deposed leader takes back nothing", plant.Insert("raft-take-back", "return true")),
	plant.New("a lease ends by the new leader's clock", plant.Omit("raft-extend-leases")),
	plant.New("a hold ends by the new leader's clock", plant.Omit("raft-extend-holds")),
	plant.New("followers answer", plant.Or("raft-serves", "m.state == following")),
	plant.New("a lease ends by a follower's clock", plant.Instead("raft-followed", `replicationHost(h).Followed(false)`)),
	plant.New("a member acknowledges what it could not write", plant.Insert("raft-store", `err = nil`)),
	plant.New("a follower keeps another deadline", plant.Insert("raft-follow", `if len(c.Argv) == 3 && string(c.Argv[0]) == "PEXPIREAT" {
		c.Argv = [][]byte{c.Argv[0], c.Argv[1], append(append([]byte(nil), c.Argv[2][:len(c.Argv[2])-1]...), '0')}
	}`)),
	plant.New("a leader's cut is ahead of its mark", plant.Instead("check-mark", `at := c.m.after
	if f, entries = c.m.begin(); len(entries) > 0 {
		c.cutAt(at)
		return f, append([][]byte{markOf(at, 0, 0).appendTo(nil)}, entries...)
	}`)),
	plant.New("an upgrade does not wait for the other readers", plant.Or("share-upgrade", "true")),
	plant.New("a shared MLOCK goes in beside a writer", plant.And("mlock-all", "!(l.many && l.shared)")),
	plant.New("a cancelled wait goes on", plant.Insert("cancel", "break")),
	plant.New("a recurring entry does not end", plant.And("delay-times", "false")),
	plant.New("neither time nor the limit of tokens is logged", plant.Insert("raft-entry", `e.clockMS, e.token = 0, 0`)),
}

// lostFaults are faults about lost disks, missing servers, and members with other data. A scene finds each.
var lostFaults = []plant.Fault{
	plant.New("a member whose disk is new votes", plant.Or("called-disk", "true"), plant.And("answered-disk", "false")),
	plant.New("a majority forms a group", plant.And("form-missing", "len(missing) > len(all)/2")),
	plant.New("a member is removed that the others need", plant.Or("remove-check", "true")),
	plant.New("a learner votes that has nothing", plant.And("promote-behind", "s.Suffrage == hraft.Voter")),
	plant.New("a member that has other data goes on", plant.And("check-judge", "false")),
	plant.New("a member that starts does not know that it has other data", plant.And("check-keep", "false")),
	plant.New("a server is added that nobody has asked", plant.And("add-check", "false")),
	plant.New("a change of the group counts that could not be written", plant.And("storage-change", "false")),
}

// shardFaults are faults of groups that are the shards of a cluster.
var shardFaults = []plant.Fault{
	plant.New("a member serves a slot that its log does not give to its shard", plant.Insert("slots-own", `if owned, err := cluster.ParseRanges(s.names.Slots); err == nil && own.Generation > 0 {
		own.Slots = owned
	}`)),
	plant.New("a map is taken for ownership", plant.Insert("slots-learn", `if s.Name == m.options.Shard {
		m.own.Slots = s.Slots
	}`)),
	plant.New("a slot without an owner in the map is served", plant.Insert("slots-elsewhere", `if to == nil && now.leader != nil && now.leader.ID == p.Self {
		return nil
	}`)),
	plant.New("a lower generation wins", plant.Instead("slots-newer", "return s.Generation < than.Generation")),
	plant.New("a shard without a leader answers", plant.Instead("slots-no-leader", "return nil"), plant.Or("raft-serves", `m.state == following && m.engine.Leader().ID == ""`)),
	plant.New("two shards serve a slot that both own", plant.Insert("slots-claimed", "taken = nil")),
}

// scenes matches the tests that find lostFaults.
const scenes = "Lost|NothingIsAdded|NothingIsRemoved|LearnerHasNoVote|OtherData|ChangeThatWasNotWritten"

// plantedRuns is the number of runs within which a fault must be found.
const plantedRuns = "1000"

// TestPlantedFaults: runs find each fault, and nothing without a fault.
func TestPlantedFaults(t *testing.T) {
	all, root := slices.Concat(lostFaults, faults, shardFaults), filepath.Join("..", "..")
	if !plant.Wanted(t, root, all) {
		return
	}
	program := plant.Build(t, root, all, "simulation")
	run := func(fault, tests, runs string) ([]byte, error) {
		return plant.Command(program, fault, "-test.run", tests, "-test.failfast", "-runs", runs, "-test.timeout", "20m").CombinedOutput()
	}
	out, err := run(plant.None, "Simulation|"+scenes, "100")
	require.NoError(t, err, "%s", out)
	for _, f := range faults {
		t.Run(f.Name, func(t *testing.T) {
			out, err := run(f.Name, "Simulation$", plantedRuns)
			require.Error(t, err, "not noticed: %s", out)
		})
	}
	for _, f := range shardFaults {
		t.Run(f.Name, func(t *testing.T) {
			out, err := run(f.Name, "SimulationOfShards", plantedRuns)
			require.Error(t, err, "not noticed: %s", out)
		})
	}
	for _, f := range lostFaults {
		t.Run(f.Name, func(t *testing.T) {
			out, err := run(f.Name, scenes, "1")
			require.Error(t, err, "not noticed: %s", out)
		})
	}
}
