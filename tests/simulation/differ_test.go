//go:build simulation

package simulation

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// compared makes all members compare their data. It returns why they do not report that it is the same, an
// otherData if some have other data.
func (w *world) compared() error {
	for _, m := range w.those() {
		l := m.alive.Load()
		if l == nil || !l.engine.Leads() {
			continue
		}
		v := m.ask("RAFT", "CHECK")
		if v.IsError() || len(v.Elems) != len(w.those()) {
			return fmt.Errorf("no check by %s: %s", m.peer.ID, v)
		}
		for _, e := range v.Elems {
			switch found := e.Elems[7].Str; {
			case found == "":
				return fmt.Errorf("%s was not compared: %s", e.Elems[1].Str, v)
			case found != "same" || e.Elems[5].Str != v.Elems[0].Elems[5].Str:
				return otherData(fmt.Sprintf("%s has other data: %s; %s", e.Elems[1].Str, v, w.differences()))
			}
		}
		return nil
	}
	return fmt.Errorf("there is no leader to check the data")
}

// forge changes the log of a crashed member.
func (d *disk) forge(from, to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, l := range d.logs {
		c := *l
		c.Data = bytes.ReplaceAll(l.Data, []byte(from), []byte(to))
		d.logs[i] = &c
	}
}

// TestOtherDataIsFound: a member has other data than the others. It stops, and does not serve after a
// restart, either, and the others go on. With an empty disk it is accepted again.
func TestOtherDataIsFound(t *testing.T) {
	play(t, 3, func(s *scene) {
		require.Equal(s.t, "OK", s.do("SET", "x", "honest").Str)
		s.same()
		out := s.others(s.leader())[0]
		out.crash()
		out.disk.forge("honest", "forged")
		require.NoError(s.t, out.start())
		s.eventually("it is back", func() bool { return s.leader().fields()["raft_applied_index"] == out.fields()["raft_applied_index"] })
		v := s.do("RAFT", "CHECK")
		require.Equal(s.t, 2, strings.Count(v.String(), `"same"`), v)
		require.Equal(s.t, 1, strings.Count(v.String(), `"differs"`), v)
		s.eventually("it has stopped", func() bool { return out.fields()["raft_role"] == "stopped" })
		out.crash()
		time.Sleep(time.Second)
		require.NoError(s.t, out.start())
		for range 50 {
			time.Sleep(100 * time.Millisecond)
			require.Equal(s.t, "stopped", out.fields()["raft_role"])
		}
		require.Equal(s.t, "honest", s.do("GET", "x").Str)
		out.crash()
		out.disk.wipe()
		require.NoError(s.t, out.start())
		s.same()
		s.eventually("it is a voter", func() bool { return !strings.Contains(s.leader().ask("RAFT", "MEMBERS").String(), "learner") })
		require.Equal(s.t, 3, strings.Count(s.do("RAFT", "CHECK").String(), `"same"`))
	})
}

// TestOtherDataOfEach: it is unknown which data is right, so no member serves. This ends when a member that
// comes with an empty disk has the data of the leader.
func TestOtherDataOfEach(t *testing.T) {
	play(t, 3, func(s *scene) {
		require.Equal(s.t, "OK", s.do("SET", "x", "honest").Str)
		s.same()
		for i, m := range s.all {
			m.crash()
			m.disk.forge("honest", fmt.Sprint("forge", i))
		}
		for _, m := range s.all {
			require.NoError(s.t, m.start())
		}
		s.leader().ask("RAFT", "CHECK")
		s.eventually("no member serves", func() bool {
			for _, m := range s.all {
				if !strings.Contains(m.ask("GET", "x").Str, "none of it is that of a majority") {
					return false
				}
			}
			return true
		})
		var leader *member
		s.eventually("one leads the log", func() bool {
			for _, m := range s.all {
				if m.alive.Load().engine.Leads() {
					leader = m
				}
			}
			return leader != nil
		})
		out := s.others(leader)[0]
		out.crash()
		out.disk.wipe()
		require.NoError(s.t, out.start())
		s.leader(leader, out)
		third := s.others(leader)[1]
		s.eventually("the third has stopped", func() bool { return third.fields()["raft_role"] == "stopped" })
		require.Regexp(s.t, "forge", s.do("GET", "x").Str)
	})
}
