package raft

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/call"
	"lockserver/tests/lossy"
)

// TestTimesOfAGroup: a member shows how long syncs of its log take. A leader shows how long entries take, and
// the round trip to each member. A slow disk shows in the first two.
func TestTimesOfAGroup(t *testing.T) {
	t.Parallel()
	const slow = 20 * time.Millisecond
	d := newSick(t, true)
	require.Positive(t, d.member.number("raft_log_syncs"))
	before := d.member.number("raft_log_syncs")
	d.disk.SetFaults(func(op lossy.Op) error {
		if op.Kind == lossy.Sync {
			time.Sleep(slow)
		}
		return nil
	})
	d.write(20)
	require.Greater(t, d.member.number("raft_log_syncs"), before)
	for _, field := range []string{"raft_log_sync_p99_usec", "raft_log_sync_max_usec", "raft_commit_p99_usec", "raft_commit_max_usec"} {
		require.GreaterOrEqual(t, d.member.number(field), int(slow.Microseconds()), field)
	}
	d.disk.SetFaults(nil)
	eventually(t, "the leader knows how far the others are away", func() bool {
		for i, id := range []string{"a", "b"} {
			is := d.member.field(fmt.Sprint("raft_member", i))
			if !strings.HasPrefix(is, "id="+id+",round_trip_p99_usec=") || strings.Contains(is, "=-1") || !strings.Contains(is, ",lag_entries=") {
				return false
			}
		}
		return true
	})
	rows := d.all[0].ask("RAFT", "MEMBERS").Elems
	syncUS := func(i int) int64 { return call.FieldsOf(rows[i]).Int("log-sync-p99-us") }
	require.GreaterOrEqual(t, syncUS(2), slow.Microseconds(), "another member knows the disk of the leader")
	require.EqualValues(t, -1, syncUS(1), "it has no disk")
	row := d.member.ask("RAFT", "MEMBERS").Elems[0].String()
	require.Regexp(t, `"round-trip-p99-us" [0-9]`, row)
}
