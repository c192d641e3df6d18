//go:build raft

package raft

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/plant"
)

// faults are mistakes in a member of a group. Each gives a client a wrong answer, or a member other data than
// the group.
var faults = []plant.Fault{
	plant.New("a reply before the commit", plant.Or("raft-due", "true")),
	plant.New("a read without proof", plant.And("raft-proof", "false")),
	plant.New("a deposed leader keeps its data", plant.And("raft-ahead", "false")),
	plant.New("an entry counts wherever it stands", plant.And("raft-entry-place", "false")),
	plant.New("a lease ends by the new leader's clock", plant.Omit("raft-extend-leases")),
	plant.New("followers answer", plant.Or("raft-serves", "m.state == following")),
	plant.New("a member acknowledges what it could not write", plant.Insert("raft-store", `err = nil`)),
	// Effects tell of the tokens of locks that are gone, so entries alone may lose it. In a snapshot it
	// stands twice: where it is the group's, and where any snapshot has it.
	plant.New("the limit of tokens is not logged", plant.Insert("raft-entry", `e.token = 0`),
		plant.Instead("raft-snapshot", `cut = &headedCut{m.host.Cut(at, persistence.Agreed{Users: m.users.usersText(), Slots: m.Owned.now.Load().text()}), m.host, Head{m.head.ClockMS, 0, m.head.Rules, m.Owned.now.Load().moved()}}`),
		plant.Insert("save-token-limit", `o.TokenLimit = 0`)),
	plant.New("a member that has other data goes on", plant.And("check-judge", "false")),
	plant.New("MIGRATE sends what may be old", plant.And("migrate-proof", "false")),
	plant.New("members that start do not know who differs", plant.Instead("check-differing", "return nil")),
	plant.New("a follower answers from data of any age", plant.Insert("reads-age", `if l.m.state == following { return true }`)),
	plant.New("a leader says how far the history goes without proof", plant.And("position-proof", "false")),
	plant.New("a key ends by the new leader's clock", plant.Omit("raft-move-deadlines")),
	plant.New("a field ends by the new leader's clock", plant.Omit("raft-move-fields")),
	plant.New("a backup is an older snapshot", plant.And("raft-backup", "false")),
	plant.New("a leader that dies early hides the time before it", plant.And("raft-takeover-clock", "false")),
	plant.New("a server is added that was not asked", plant.And("add-check", "false")),
	plant.New("a member is removed that the others need", plant.Or("remove-check", "true")),
	plant.New("a member has no leader while one hands the lead on", plant.And("raft-awaits-view", "false")),
	plant.New("waits with NOTIFY stay at a leader that leads no more", plant.Insert("demotion", "return false")),
	plant.New("attached connections stay at a leader that leads no more", plant.Insert("raft-followed", `replicationHost(h).Followed(follows)
	return`)),
}

// finders are the tests that find them.
var finders = []string{"DeposedLeaderBeginsAnew", "Proved", "Deposed", "Void", "TimeAndTokens", "Majority", "WithAFailingDisk", "TokensOfLocks", "OneMemberDiffers", "MigrateOfADeposed", "OneMemberDiffers",
	"NotTooOld", "PositionNeedsProof", "DeadlinesOfKeys", "DeadlinesOfKeys", "FailedSnapshot",
	"LeaderDiesWhile", "AttackOnMembership", "AttackOnMembership", "TransferWhileMembersLag", "QueuedWaitsEnd", "QueuedWaitsEnd"}

// TestPlantedFaults: the tests of this package find each planted fault, and pass without one.
func TestPlantedFaults(t *testing.T) {
	if !plant.Wanted(t, filepath.Join("..", ".."), faults) {
		return
	}
	program := plant.Build(t, filepath.Join("..", ".."), faults, "raft")
	run := func(fault, tests string) ([]byte, error) {
		cmd := plant.Command(program, fault, "-test.run", tests, "-test.failfast", "-test.timeout", "5m")
		cmd.Env = append(cmd.Environ(), "MINUTES=3") // the attack on the members ends as soon as it finds something
		return cmd.CombinedOutput()
	}
	out, err := run(plant.None, "Majority|Deposed|Proved|TimeAndTokens|Void|WithAFailingDisk|TokensOfLocks|OneMemberDiffers|Migrate|NotTooOld|PositionNeedsProof|DeadlinesOfKeys|FailedSnapshot|LeaderDiesWhile|TransferWhileMembersLag|QueuedWaitsEnd")
	require.NoError(t, err, "%s", out)
	for i, f := range faults {
		t.Run(f.Name, func(t *testing.T) {
			var out []byte
			var err error
			for range 5 { // what a test does is partly random
				if out, err = run(f.Name, finders[i]); err != nil {
					break
				}
			}
			require.Error(t, err, "not noticed: %s", out)
		})
	}
}
