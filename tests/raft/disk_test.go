package raft

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft/engine"
	"lockserver/tests/lossy"
)

// TestAMemberWithAFailingDisk: the disk of a follower, or of the leader, returns EIO for a while.
// Acknowledged writes survive, and the group goes on. The member neither leads nor acknowledges anything, and
// says what to do. When the disk works again, the member is back without a restart. A member with a disk that
// fails now and then may lead. (tests/vanish has full disks.)
func TestAMemberWithAFailingDisk(t *testing.T) {
	t.Parallel()
	always := func(which ...lossy.Kind) func(lossy.Kind) bool {
		return func(k lossy.Kind) bool { return slices.Contains(which, k) }
	}
	writes, syncs, all := always(lossy.Write), always(lossy.Sync), always(lossy.Write, lossy.Sync, lossy.Create, lossy.Truncate, lossy.SyncDir, lossy.Remove)
	for _, tt := range []struct {
		name  string
		fails func(lossy.Kind) bool // nil: now and then
		leads bool
	}{
		{"now and then, it follows", nil, false},
		{"all fail, it leads", all, true},
		{"writes fail, it leads", writes, true},
		{"writes fail, it follows", writes, false},
		{"syncs fail, it leads", syncs, true},
		{"syncs fail, it follows", syncs, false},
		{"all fail, it follows", all, false},
		{"now and then, it leads", nil, true},
	}[:wholeOr(8, 1)] {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if d := newSick(t, tt.leads); tt.fails != nil {
				d.forAWhile(tt.fails)
			} else {
				d.nowAndThen()
			}
		})
	}
}

// sick is a group. The log of one of its members is on a disk that fails.
type sick struct {
	*group
	member  *member // owner of the disk
	disk    *lossy.Disk
	release func() error // lets go of its directory
	said    *logs
	acked   int // writes, each to a key of its own
}

// newSick makes such a group. All disks work at first. The argument says whether the member with the disk
// that fails leads.
func newSick(t *testing.T, leads bool) *sick {
	d := &sick{disk: lossy.New(), said: &logs{of: map[string]*bytes.Buffer{}}}
	dir := t.TempDir()
	t.Cleanup(func() { _ = d.release() })
	d.group = newGroup(t, 3, func(eo *engine.Options, so *server.Options) {
		d.said.capture(eo, so)
		if eo.Log = so.Log; eo.ID == "c" {
			eo.Disk = d.disk
			require.NoError(t, engine.KeepIn(dir, "sick", eo))
			d.release = eo.Release
		}
	})
	d.member = d.all[2]
	to := d.all[0]
	if leads {
		to = d.member
	}
	eventually(t, "it leads, or another does", func() bool {
		leader := d.leader()
		if (leader == d.member) == leads {
			return leader.ask("SET", "begun", "yes").Str == "OK"
		}
		leader.ask("RAFT", "TRANSFER", to.peer.ID)
		return false
	})
	d.write(20)
	return d
}

// write returns after the given number of acknowledged writes.
func (d *sick) write(n int) {
	d.t.Helper()
	for range n {
		require.Equal(d.t, "OK", d.do("SET", fmt.Sprint("key", d.acked), fmt.Sprint(d.acked)).Str)
		d.acked++
	}
}

// has requires all acknowledged writes at the members that serve.
func (d *sick) has() {
	d.t.Helper()
	for i := range d.acked {
		require.Equal(d.t, fmt.Sprint(i), d.do("GET", fmt.Sprint("key", i)).Str, "key%d of %d was acknowledged", i, d.acked)
	}
}

func (d *sick) forAWhile(fails func(lossy.Kind) bool) {
	t := d.t
	d.set(fails)
	d.write(20)
	eventually(t, "it says what to do", func() bool { return d.said.count(d.member, "mend it; it goes on by itself") > 0 })
	eventually(t, "there is an alarm", func() bool {
		return strings.Contains(d.member.field("raft_alarm"), "this member cannot write to its disk: ")
	})
	// Four times as long as leaders may be silent, and few enough writes to be read again.
	for begun := time.Now(); time.Since(begun) < 2*time.Second; time.Sleep(10 * time.Millisecond) {
		require.NotEqual(t, "leader", d.member.field("raft_role"))
		d.write(1)
	}
	// Without a third there is no majority, and nothing may be acknowledged.
	leader := d.leader()
	require.NotEqual(t, d.member, leader)
	var third *member
	for _, m := range d.others(leader) {
		if m != d.member {
			third = m
		}
	}
	third.stop()
	before := d.failures()
	for begun := time.Now(); time.Since(begun) < 3*time.Second; time.Sleep(50 * time.Millisecond) {
		for _, m := range d.others(third) {
			require.NotEqual(t, "OK", m.askWithin(time.Second, "SET", "unknown", "value").Str, "a member whose disk fails has acknowledged it")
		}
		require.NotEqual(t, "leader", d.member.field("raft_role"))
	}
	eventually(t, "it tries to write", func() bool { return d.failures() > before })
	d.disk.SetFaults(nil)
	d.write(20) // which needs its disk
	require.Positive(t, d.said.count(d.member, "can write to its log again")+d.said.count(d.member, "can write to its directory again"))
	eventually(t, "the alarm ends", func() bool { return !strings.Contains(d.member.field("raft_alarm"), "disk") })
	d.has()
	third.start()
	d.same()
	d.cutPower()
}

var errDisk = errors.New("input/output error")

// set says which operations of the disk fail.
func (d *sick) set(fails func(lossy.Kind) bool) {
	d.disk.SetFaults(func(op lossy.Op) error {
		if !fails(op.Kind) {
			return nil
		}
		if op.Kind == lossy.Write {
			return &lossy.Short{Bytes: len(op.Data) / 2, Err: errDisk}
		}
		return errDisk
	})
}

// failures returns how many operations have failed.
func (d *sick) failures() int { return d.disk.Failed() }

// cutPower cuts the power of the member. What the group has is there when it is back, where it is needed for
// a majority.
func (d *sick) cutPower() {
	d.member.stop()
	require.NoError(d.t, d.release())
	d.disk = d.disk.Crash(lossy.LoseAll, nil)
	d.member.start()
	d.same()
	d.others(d.member)[0].stop()
	d.write(5)
	d.has()
	d.others(d.member)[0].start()
	d.same()
}

// nowAndThen makes random operations fail, for moments.
func (d *sick) nowAndThen() {
	seed := rand.Uint64()
	d.t.Logf("seed %d", seed)
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 0))
	drawn := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n)
	}
	kinds := []lossy.Kind{lossy.Write, lossy.Sync, lossy.Create, lossy.Truncate}
	for range wholeOr(5, 2) {
		kind, oneIn, before := kinds[drawn(2)], 1+drawn(3), d.failures()
		d.set(func(k lossy.Kind) bool {
			return (k == kind || slices.Contains(kinds, k) && drawn(10) == 0) && drawn(oneIn) == 0
		})
		eventually(d.t, "something fails", func() bool {
			d.write(1)
			return d.failures() > before
		})
		if drawn(2) == 0 {
			d.leader().ask("RAFT", "TRANSFER")
		}
		d.write(drawn(20))
		d.disk.SetFaults(nil)
		d.write(drawn(5))
	}
	d.has()
	d.same()
	d.cutPower()
}
