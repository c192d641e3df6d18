package raft

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAlarmOfAStart: when a group starts, a member that is not up yet is no alarm for the others. That
// holds for as long as one that stops answering is none.
func TestAlarmOfAStart(t *testing.T) {
	alarms := func(afterMS, heardMS int64) (all []string) {
		self := Observation{ID: "a", Reachable: true, Report: NoReport()}
		self.StartedMS, self.NowMS = 1_000_000, 1_000_000+afterMS
		other := Observation{ID: "b", Why: "refused", HeardMS: heardMS, Report: NoReport()}
		var m Member
		m.othersAlarms(&Status{ID: "a", Observed: []Observation{self, other}}, func(k Kind, format string, args ...any) {
			require.Equal(t, AlarmUnreachable, k)
			all = append(all, fmt.Sprintf(format, args...))
		})
		return all
	}
	require.Empty(t, alarms(3000, -1))
	require.Equal(t, []string{"'b' has not answered yet: refused"}, alarms(6000, -1))
	require.Empty(t, alarms(3000, 4000))
	require.Equal(t, []string{"'b' has not answered for 6s: refused"}, alarms(3000, 6000))
}
