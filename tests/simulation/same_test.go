//go:build simulation

package simulation

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/persistence"
	"lockserver/persistence/digest"
	"lockserver/store"
)

// otherData is the error for members with different data at one place of the history.
type otherData string

func (o otherData) Error() string { return string(o) }

// same returns why the members do not all have the same data at one place. The error is an otherData if they
// are at one place, before and after the comparison, and no member has applied uncommitted entries. Such a
// difference never goes away.
func (w *world) same() error {
	at, err := w.place()
	if err != nil {
		return err
	}
	digests := map[string][]string{}
	for _, m := range w.those() {
		is := m.ask("DEBUG", "DIGEST").String()
		digests[is] = append(digests[is], m.peer.ID)
	}
	if still, err := w.place(); err != nil || still != at {
		return fmt.Errorf("they went on from %s to %s: %w", at, still, err)
	}
	if len(digests) > 1 {
		return otherData(fmt.Sprintf("not the same data at the place %s: %v; %s", at, digests, w.differences()))
	}
	return nil
}

// place returns the place of all members, when nothing is under way.
func (w *world) place() (at string, err error) {
	for _, m := range w.those() {
		f := m.fields()
		if r := f["raft_role"]; r != "leader" && r != "follower" {
			return "", fmt.Errorf("%s is %s", m.peer.ID, r)
		}
		if n := f["raft_uncommitted_bytes"]; n != "0" {
			return "", fmt.Errorf("%s has %s bytes under way", m.peer.ID, n)
		}
		is := f["raft_history_id"] + " " + f["raft_history_offset"]
		if at == "" {
			at = is
		}
		if is != at {
			return "", fmt.Errorf("%s is at %s, not at %s", m.peer.ID, is, at)
		}
	}
	return at, nil
}

// differences lists the keys that are not the same on all members, including those that no command finds.
func (w *world) differences() (text string) {
	all := map[string]map[string]string{} // by key and value: the members that have it
	members := w.those()
	for _, m := range members {
		text += m.peer.ID + " is " + m.fields()["raft_role"] + "; "
		has, err := m.contents()
		if err != nil {
			return text + fmt.Sprintf("what %s has is not known: %v", m.peer.ID, err)
		}
		for key, is := range has {
			if all[key] == nil {
				all[key] = map[string]string{}
			}
			all[key][is] += m.peer.ID
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		who := ""
		for _, has := range all[key] {
			who += has
		}
		if len(all[key]) > 1 || len(who) < len(members) {
			text += fmt.Sprintf("%s %v; ", key, all[key])
		}
	}
	return text
}

// contents returns all keys of a member, with the digests of their values and their deadlines. It reads them
// from a new snapshot, because that has overdue keys, which commands do not show.
func (m *member) contents() (map[string]string, error) {
	image, err := m.photograph()
	if err != nil {
		return nil, err
	}
	st := store.New(1, store.Limits{})
	st.SetFrozenTime(true)
	from := max(0, bytes.Index(image, []byte("REDIS")))
	if _, err := persistence.Load(bytes.NewReader(image[from:]), st, persistence.LoadOptions{}); err != nil {
		return nil, err
	}
	all := map[string]string{}
	st.DB(0).Keys().EachStored(func(key string, r store.Ref) bool {
		all[key] = fmt.Sprintf("%x until %d", digest.Value(r), r.DeadlineMS())
		return true
	})
	return all, nil
}

// photograph returns a snapshot that a member writes now.
func (m *member) photograph() ([]byte, error) {
	before := m.disk.newest()
	if v := m.ask("RAFT", "SNAPSHOT"); v.IsError() {
		return nil, fmt.Errorf("no snapshot: %s", v.Str)
	}
	for begun := time.Now(); time.Since(begun) < mostHealing; time.Sleep(10 * time.Millisecond) {
		if is := m.disk.newest(); is != nil && is != before {
			return is.data, nil
		}
	}
	if before != nil { // nothing has changed since
		return before.data, nil
	}
	return nil, fmt.Errorf("no snapshot was made within %s", mostHealing)
}

// newest returns the newest snapshot, or nil.
func (d *disk) newest() *image {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.snapshots) == 0 {
		return nil
	}
	return d.snapshots[len(d.snapshots)-1]
}

// TestDifferencesAreReported: the keys with different data on some members are named, including overdue ones
// that no command finds.
func TestDifferencesAreReported(t *testing.T) {
	play(t, 3, func(s *scene) {
		leader := s.leader()
		other := s.others(leader)[0]
		require.Equal(s.t, "OK", leader.ask("DEBUG", "SET-ACTIVE-EXPIRE", "0").Str)
		require.Equal(s.t, "OK", leader.ask("SET", "over", "1", "PX", "100").Str)
		require.Equal(s.t, "OK", leader.ask("SET", "both", "1").Str)
		s.same()
		time.Sleep(time.Second)
		require.Empty(s.t, other.ask("KEYS", "over").Elems)
		has, err := other.contents()
		require.NoError(s.t, err)
		require.Len(s.t, has, 2)
		require.Contains(s.t, has["over"], "until 9", "of the year 2000")
		w := &world{group: s.group, history: new(history)}
		require.NotContains(s.t, w.differences(), "over")
		require.Equal(s.t, "OK", leader.ask("DEBUG", "SET-ACTIVE-EXPIRE", "1").Str)
		s.eventually("it is gone", func() bool { return leader.ask("DBSIZE").Int == 1 })
		s.same()
		require.NotContains(s.t, w.differences(), "over")
		s.network.set(link{leader.at(), other.at()}, lost, 0)
		require.Equal(s.t, "OK", leader.ask("SET", "both", "2").Str)
		require.Contains(s.t, w.differences(), "both map[")
	})
}
