package raft

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAlarmOfAStart: when a group starts, a member that is not up yet causes no alarm at the others for as
// long as a silent member causes no alarm.
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

// observed has fields of an observation of a member that answers.
func observed(id string, change func(o *Observation)) Observation {
	o := Observation{ID: id, Reachable: true, Reported: true, Report: NoReport()}
	o.StartedMS, o.NowMS = 1_000_000, 2_000_000
	change(&o)
	return o
}

// lone is a server with a state of its cluster. It has no other method.
type lone struct {
	MemberServer
	is *ClusterState
}

func (l lone) Cluster() ClusterState { return *l.is }

// TestEachKindOfAlarm: each kind is raised by what it is about, alone.
func TestEachKindOfAlarm(t *testing.T) {
	peers := []Peer{{ID: "a"}, {ID: "b", Incarnation: "1"}}
	well := func() Status {
		return Status{ID: "a", Leader: peers[0], Peers: peers, Observed: []Observation{observed("a", func(*Observation) {}), observed("b", func(*Observation) {})}}
	}
	raised := map[Kind]func(m *Member, s *Status) (text string){
		AlarmStopped: func(_ *Member, s *Status) string {
			s.Observed[1].Role = stopped.String()
			return "'b' has stopped: its log says why"
		},
		AlarmSlots: func(m *Member, _ *Status) string {
			m.Owned.fault = "this group cannot begin to own its slots"
			return m.Owned.fault
		},
		AlarmMap: func(m *Member, _ *Status) string {
			m.host.(lone).is.MapFaults = []string{"the shard 's2' has not answered for 31 s"}
			return m.host.(lone).is.MapFaults[0]
		},
		AlarmMove: func(m *Member, _ *Status) string {
			m.host.(lone).is.Moves.Faults = []string{"the move s1/7 to the shard s2 has not gone on for 61 s"}
			return m.host.(lone).is.Moves.Faults[0]
		},
		AlarmWaiting: func(_ *Member, s *Status) string {
			s.Leader, s.Waiting = Peer{}, AwaitsAdd
			return "this server is in no group yet: " + AwaitsAdd
		},
		AlarmNoLeader: func(m *Member, s *Status) string {
			m.state, s.Leader, m.distance = following, Peer{}, newDistance()
			return "the raft group has no leader"
		},
		AlarmDiffers: func(_ *Member, s *Status) string {
			s.Checks = []Check{{ID: "b", Checksum: Checksum{Index: 7}, Incarnation: "1", Finding: Differs}}
			return "'b' has other data than the group, at the index 7"
		},
		AlarmRefused: func(_ *Member, s *Status) string {
			s.Refusals = []Refusal{{ID: "b", Why: "it is a member of another group"}}
			return "'b' is refused: it is a member of another group"
		},
		AlarmDisk: func(_ *Member, s *Status) string {
			s.Observed[0].DiskFree = leastFree - 1
			return "the disk of this member has 127 MB left"
		},
		AlarmDamaged: func(_ *Member, s *Status) string {
			s.Observed[1].Damaged = "raft/wal/1.wal: damaged at the offset 32: the checksum of a batch of entries is wrong"
			return "the disk of 'b' was damaged: raft/wal/1.wal: damaged at the offset 32: the checksum of a batch of entries is wrong"
		},
		AlarmSnapshot: func(m *Member, _ *Status) string {
			m.attempt.Error = "no space"
			return "the last snapshot could not be made: no space"
		},
		AlarmUnreachable: func(_ *Member, s *Status) string {
			s.Observed[1].Reachable, s.Observed[1].Why, s.Observed[1].HeardMS = false, "refused", 6000
			return "'b' has not answered for 6s: refused"
		},
		AlarmBehind: func(_ *Member, s *Status) string {
			s.Observed[1].Lag, s.Observed[1].LagMS = 9, 10_001
			return "'b' does not have 9 committed entries"
		},
		AlarmClock: func(_ *Member, s *Status) string {
			s.Observed[1].SkewMS = -5000
			return "the clock of 'b' is 5s behind that of this member, which leads: " + setClocks
		},
		AlarmClientAddress: func(_ *Member, s *Status) string {
			s.Observed[1].ClientFault = "b:2: connection refused"
			return "no server for clients answers at the client address of 'b': b:2: connection refused"
		},
		AlarmCertificate: func(m *Member, _ *Status) string {
			ends := time.Now().Add(-time.Hour)
			m.options.CertificateEnds = func() time.Time { return ends }
			return "a certificate of this server has ended at " + ends.UTC().Format(time.RFC3339)
		},
	}
	for _, k := range Kinds {
		m, s := loneMember(leading), well()
		require.Empty(t, m.alarms(&s))
		require.Contains(t, raised, k)
		text := raised[k](m, &s)
		require.Equal(t, []Alarm{{k, text}}, m.alarms(&s))
	}
	m, s := loneMember(stopped), well()
	m.failed = errors.New("an entry\nof the log cannot be read")
	require.Equal(t, []Alarm{{AlarmStopped, "this member has stopped: an entry of the log cannot be read"}}, m.alarms(&s))
	m, s = loneMember(leading), well()
	s.DiskError = "no space"
	require.Equal(t, []Alarm{{AlarmDisk, "this member cannot write to its disk: no space"}}, m.alarms(&s))
	s = well()
	s.Observed[1].SkewMS = 60_000
	m.state = following // which measures its own clock, and leaves those of others to the leader
	m.distance = newDistance()
	require.Empty(t, m.alarms(&s))
	m, s = loneMember(leading), well()
	s.Observed[1].Reachable, s.Observed[1].Why, s.Observed[1].HeardMS, s.Observed[1].Role = false, "refused", 60_000, stopped.String()
	require.Equal(t, []Alarm{{AlarmStopped, "'b' has stopped: its log says why"}}, m.alarms(&s), "that is why it does not answer")
}

// loneMember returns a member of a group that was not started.
func loneMember(is state) *Member {
	m := New(nil, MemberOptions{})
	m.SetHost(lone{is: new(ClusterState)})
	m.state = is
	return m
}
