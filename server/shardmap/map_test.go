package shardmap

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/cluster"
)

// id returns the ID of a member.
func id(name string) string { return fmt.Sprintf("%040x", name) }

// said makes a statement about a shard with one member, which leads it.
func said(name, slots string, generation int64, term, index uint64) Shard {
	ranges, err := cluster.ParseRanges(slots)
	if err != nil {
		panic(err)
	}
	return Shard{Name: name, Generation: generation, Term: term, Index: index, Slots: ranges, Leader: id(name),
		Members: []Member{{ID: id(name), Host: "10.0.0.1", Port: 7000 + int(name[len(name)-1])}}}
}

// of returns a map of the shard s2, without a file.
func of(t *testing.T, path string) *Map {
	t.Helper()
	return New(Options{Cluster: "shop", Shard: "s2", Path: path, Log: slog.New(slog.DiscardHandler)})
}

// hears has a map take statements of another member.
func hears(t *testing.T, m *Map, from string, all ...Shard) {
	t.Helper()
	_, err := m.take(encode("shop", from, all), from+":7000")
	require.NoError(t, err)
}

// TestNewestCounts: whatever the order in which statements come, and how often, a map ends with the newest
// one of each shard. A lower generation never wins, and nothing that others say changes this member's own
// shard.
func TestNewestCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var all []Shard
		newest := make(map[string]Shard)
		for range 12 {
			s := said(fmt.Sprint("s", random.IntN(4)), fmt.Sprint(random.IntN(100)), 1+random.Int64N(3), random.Uint64N(3), random.Uint64N(1000))
			if was, ok := newest[s.Name]; ok && !s.newer(&was) && !was.newer(&s) {
				continue // of two different statements with the same numbers none is newer
			}
			if was, ok := newest[s.Name]; !ok || s.newer(&was) {
				newest[s.Name] = s
			}
			if !slices.ContainsFunc(all, func(o Shard) bool { return o.Name == s.Name && !s.newer(&o) && !o.newer(&s) }) {
				all = append(all, s)
			}
		}
		m := of(t, "")
		own := said("s2", "200-300", 1, 1, 1)
		m.SetOwn(own)
		for range 3 {
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			for _, s := range all {
				hears(t, m, "s7", s)
			}
		}
		for name, s := range newest {
			if name != "s2" {
				require.Equal(t, s, m.others[name].Shard)
			}
		}
		require.Equal(t, own, m.own)
		require.NotContains(t, m.others, "s2")
	}
}

// TestEachSlotOnce: of slots that several shards claim each has one owner in the view of every member, the
// same one, and the others know what they have lost.
func TestEachSlotOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var all []Shard
		for _, name := range []string{"s1", "s2", "s3"} {
			first := random.IntN(100)
			all = append(all, said(name, fmt.Sprintf("%d-%d", first, first+random.IntN(60)), 1+random.Int64N(2), 1, 1))
		}
		owner := func(slot int) (is string) {
			var best Shard
			for _, s := range all {
				if !s.Slots[0].Has(slot) {
					continue
				}
				if is == "" || s.Generation > best.Generation || s.Generation == best.Generation && s.Name < best.Name {
					is, best = s.Name, s
				}
			}
			return is
		}
		for at, self := range all {
			m := New(Options{Cluster: "shop", Shard: self.Name})
			m.SetOwn(self)
			for i, s := range all {
				if i != at {
					hears(t, m, s.Name, s)
				}
			}
			v := m.View()
			for slot := range 200 {
				var served []string
				for _, s := range append(v.Others, v.Own) {
					for _, r := range s.Slots {
						if r.Has(slot) {
							served = append(served, s.Name)
						}
					}
				}
				want := owner(slot)
				if want == "" {
					require.Empty(t, served)
				} else {
					require.Equal(t, []string{want}, served)
				}
				lost := slices.ContainsFunc(v.Lost, func(r cluster.Range) bool { return r.Has(slot) })
				require.Equal(t, self.Slots[0].Has(slot) && want != self.Name, lost)
			}
		}
	}
}

// TestFaults: what an operator has done wrong is said, until it is not so any more.
func TestFaults(t *testing.T) {
	m := of(t, "")
	m.SetOwn(said("s2", "0-9", 1, 1, 1))
	require.Empty(t, m.Faults())
	_, err := m.take(encode("other", "s1", nil), "10.0.0.9:7000")
	require.ErrorContains(t, err, "it is a member of the cluster 'other'")
	require.Contains(t, m.Faults()[0], "10.0.0.9:7000")
	_, err = m.take(encode("shop", "s1", nil), "10.0.0.9:7000")
	require.NoError(t, err)
	require.Empty(t, m.Faults())

	m.fault("10.0.0.7:7000", errors.New("NOAUTH Authentication required."))
	require.Contains(t, m.Faults()[0], "10.0.0.7:7000")
	a := asker{of: m}
	a.forgetBut([]string{"10.0.0.9:7000"}) // the address is asked no more
	require.Empty(t, m.Faults())

	namesake := said("s2", "20-30", 1, 1, 1)
	namesake.Members[0].Port = 1
	_, err = m.take(encode("shop", "s2", []Shard{namesake}), "10.0.0.8:7000")
	require.ErrorContains(t, err, "another group that has the name of this shard")
	hears(t, m, "s2", said("s2", "0-9", 1, 1, 1)) // a member of this group says something of it

	hears(t, m, "s1", said("s1", "5-7", 1, 1, 1))
	require.Contains(t, strings.Join(m.Faults(), "\n"), "the shards 's1' and 's2' both own the slots 5-7: 's1' serves them, and 's2' answers -CLUSTERDOWN for them")
}

// TestNoFaultBehindAMove: slots that have come by a move are not disputed because the map still has them at
// the other shard. When that is heard again, and claims them, they are.
func TestNoFaultBehindAMove(t *testing.T) {
	m := of(t, "")
	m.SetOwn(said("s2", "20-29", 1, 1, 1))
	hears(t, m, "s1", said("s1", "0-9", 1, 1, 1))
	m.SetOwn(said("s2", "5-9", 2, 1, 2))
	require.Empty(t, m.Faults())
	hears(t, m, "s1", said("s1", "0-9", 1, 1, 2))
	require.Len(t, m.Faults(), 1)
	hears(t, m, "s1", said("s1", "0-4", 2, 1, 3))
	require.Empty(t, m.Faults())
}

// TestLeaders: a shard without a leader is shown with its last one, and as failed. Clients hear of each
// change once.
func TestLeaders(t *testing.T) {
	m := of(t, "")
	calls := 0
	m.Attach(func() { calls++ })
	hears(t, m, "s1", said("s1", "0-9", 1, 1, 1))
	require.Equal(t, 1, calls)
	hears(t, m, "s1", said("s1", "0-9", 1, 1, 2)) // only the index is another
	require.Equal(t, 1, calls)
	require.True(t, m.View().Others[0].Up)

	without := said("s1", "0-9", 1, 2, 3)
	without.Leader = ""
	hears(t, m, "s1", without)
	require.Equal(t, 2, calls)
	is := m.View().Others[0]
	require.False(t, is.Up)
	require.Equal(t, id("s1"), is.Leads)
	hears(t, m, "s1", said("s1", "0-9", 1, 3, 4))
	require.True(t, m.View().Others[0].Up)
	require.Equal(t, 3, calls)

	m.hear("s1", false) // all members were asked, and none has answered
	require.False(t, m.View().Others[0].Up)
	m.hear("s1", false)
	m.hear("s9", false)
	m.hear("s1", true)
	require.True(t, m.View().Others[0].Up)
	require.Equal(t, 5, calls)
}

// TestKept: a map begins with what the file has, and with nothing if the file is damaged.
func TestKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shards.json")
	m := of(t, path)
	m.SetOwn(said("s2", "20-30", 1, 1, 1))
	hears(t, m, "s1", said("s1", "0-9", 3, 4, 5), said("s3", "10-19", 1, 1, 1))
	m.keep()
	again := of(t, path)
	v := again.View()
	require.Equal(t, []string{"s1", "s3"}, []string{v.Others[0].Name, v.Others[1].Name})
	require.Equal(t, int64(3), v.Others[0].Generation)
	require.Zero(t, v.Own.Generation, "what this shard owns is in its log alone")
	hears(t, again, "s1", said("s1", "0-9", 3, 4, 1)) // the same, said anew
	require.Equal(t, uint64(1), again.others["s1"].Index)

	require.NoError(t, os.WriteFile(path, []byte(`{"version":1`), 0o600))
	require.Empty(t, of(t, path).View().Others)
}

// FuzzDecode: whatever a member says, it is refused or it can be said again, and it never panics.
func FuzzDecode(f *testing.F) {
	f.Add(encode("shop", "s1", []Shard{said("s1", "0-5 7", 1, 2, 3)}))
	f.Add(`{"version":2}`)
	f.Add(`{"version":1,"cluster":"shop","shard":"s1","shards":[{"name":"s1","generation":1,"slots":"5-3","members":[{"id":"x","host":"h","port":1}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		of, from, shards, err := decode(text)
		if err != nil {
			return
		}
		of2, from2, shards2, err := decode(encode(of, from, shards))
		require.NoError(t, err)
		require.Equal(t, []any{of, from, shards}, []any{of2, from2, shards2})
		m := New(Options{Cluster: of, Shard: "me", Log: slog.New(slog.DiscardHandler)})
		_, err = m.take(text, "x")
		require.NoError(t, err)
		m.View()
		m.Faults()
	})
}

// TestFormedAnew: a group is formed anew under the name of a shard. Its own members are believed, although
// its generation and its terms begin anew. Statements of others about the former group do not count any more.
// If both groups answer, the fault says so.
func TestFormedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := of(t, "")
		former, anew := said("s1", "0-9", 2, 7, 9), said("s1", "0-5", 1, 1, 1)
		former.Group, anew.Group = "g1", "g2"
		hears(t, m, "s1", former)
		hears(t, m, "s3", anew)
		require.Equal(t, "g1", m.View().Others[0].Group, "only its own members are believed")
		time.Sleep(oldAfter)
		hears(t, m, "s1", anew)
		hears(t, m, "s3", former)
		require.Equal(t, "0-5", cluster.RangesText(m.View().Others[0].Slots))
		require.Empty(t, m.Faults())
		_, err := m.take(encode("shop", "s1", []Shard{former}), "10.0.0.9:7001")
		require.ErrorContains(t, err, "two groups have the name 's1'")
		require.Contains(t, m.Faults()[0], "10.0.0.9:7001")
	})
}

// TestOldMapIsReported: a shard that has been silent for half a minute is named, until it answers. Statements
// of others about it are no answer, nor is the file.
func TestOldMapIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "shards.json")
		m := of(t, path)
		_, lines := m.Old()
		require.Empty(t, lines, "there is no other shard")
		hears(t, m, "s1", said("s1", "0-9", 1, 1, 1), said("s3", "20-29", 1, 1, 1))
		m.keep()
		time.Sleep(oldAfter)
		age, lines := m.Old()
		require.Equal(t, oldAfter, age)
		require.Empty(t, lines)
		time.Sleep(time.Second)
		hears(t, m, "s1", said("s1", "0-9", 1, 1, 2), said("s3", "20-29", 1, 1, 2))
		_, lines = m.Old()
		require.Equal(t, []string{"the shard 's3' has not answered, and the map of it may be old, for 31 s"}, lines)
		hears(t, m, "s3", said("s3", "20-29", 1, 1, 3))
		age, lines = m.Old()
		require.Zero(t, age)
		require.Empty(t, lines)

		again := of(t, path)
		_, lines = again.Old()
		require.Empty(t, lines)
		time.Sleep(oldAfter + time.Second)
		_, lines = again.Old()
		require.Len(t, lines, 2)
		alone := New(Options{Cluster: "shop", Shard: "s2", Peers: []string{"10.0.0.9:1"}, Log: slog.New(slog.DiscardHandler)})
		time.Sleep(oldAfter + time.Second)
		_, lines = alone.Old()
		require.Equal(t, []string{"no shard is known, and no server at an address of cluster-peers has answered, for 31 s"}, lines)
	})
}

// TestDecodeRefuses: a statement that cannot be shown to clients is refused.
func TestDecodeRefuses(t *testing.T) {
	for name, change := range map[string]func(s *Shard){
		"no member":         func(s *Shard) { s.Members = nil },
		"no generation":     func(s *Shard) { s.Generation = 0 },
		"no name":           func(s *Shard) { s.Name = "a b" },
		"an id":             func(s *Shard) { s.Members[0].ID = "x"; s.Leader = "" },
		"a host":            func(s *Shard) { s.Members[0].Host = "a\r\nb" },
		"a port":            func(s *Shard) { s.Members[0].Port = 0 },
		"a leader":          func(s *Shard) { s.Leader = id("s9") },
		"a member twice":    func(s *Shard) { s.Members = append(s.Members, s.Members[0]) },
		"too many members":  func(s *Shard) { s.Members = slices.Repeat(s.Members, mostMembers+1) },
		"a slot that is no": func(s *Shard) { s.Slots = []cluster.Range{{First: 5, Last: 16384}} },
	} {
		s := said("s1", "0-9", 1, 1, 1)
		change(&s)
		_, _, _, err := decode(encode("shop", "s1", []Shard{s}))
		require.Error(t, err, name)
	}
}
