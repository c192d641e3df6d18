//go:build simulation

package simulation

import (
	"errors"
	"fmt"
	oldrand "math/rand"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// world is one run: a group, its clients, and its faults.
type world struct {
	seed   uint64
	group  *group
	chance *chance
	ends   time.Time // the time when clients stop
	*history
	memberIDs map[string]bool        // the members at the end of the run
	lost      atomic.Pointer[member] // the last member that lost its disk
	err       error

	lived, checked time.Duration // in the machine's time
}

// lasts is how long clients use the group in a run.
const lasts = 12 * time.Second

// run plays a world, and returns its fault.
func run(t *testing.T, seed uint64) (w *world) {
	w = &world{seed: seed, chance: newChance(seed, "world"), history: new(history)}
	w.group = newGroup(seed, one(w.chance, 3, 3, 5), spares)
	//lint:ignore SA1019 there is no other way to make that library's choices repeat
	oldrand.Seed(int64(seed)) // hashicorp/raft draws the times of elections from this source
	runtime.GC()
	begun := time.Now()
	bubble(t, func(*testing.T) {
		w.group.network.changed = make(chan struct{})
		w.err = w.live()
		w.err = errors.Join(w.err, w.end())
	})
	w.lived = time.Since(begun)
	if err := w.check(); err != nil {
		w.err = errors.Join(err, w.err)
	}
	w.checked = time.Since(begun) - w.lived
	return w
}

// bubble runs f in virtual time. When it returns, all goroutines of f have ended.
func bubble(t *testing.T, f func(t *testing.T)) {
	defer func() {
		if p := recover(); p != nil { // for example that a goroutine has not ended
			panic(fmt.Sprint(p, "\n", stacks()))
		}
	}()
	synctest.Test(t, f)
}

// stacks returns the stacks of all goroutines.
func stacks() string {
	b := make([]byte, 4<<20)
	return string(b[:runtime.Stack(b, true)])
}

// over reports whether clients must stop.
func (w *world) over() bool { return !time.Now().Before(w.ends) }

// live plays the world.
func (w *world) live() error {
	w.begun = time.Now()
	w.ends = w.begun.Add(time.Hour)
	for _, m := range w.group.members() {
		if err := m.start(); err != nil {
			return err
		}
	}
	setup := w.client(0)
	for n, more := range [][]string{nil, holding: {"HOLD", fmt.Sprint(holdMS)}} {
		words := append([]string{"SECKILL.CREATE", fmt.Sprint("sale", n), "STOCK", fmt.Sprint(pieces), "LIMIT", "1"}, more...)
		if v := setup.must(words...); v != "OK" && !strings.Contains(v, "exists already") {
			return fmt.Errorf("no sale: %s", v)
		}
	}
	w.ends = time.Now().Add(lasts)
	var clients sync.WaitGroup
	all := families()
	for n := range 3 + w.chance.below(3) {
		c := w.client(n + 1)
		clients.Go(func() { c.live(all) })
	}
	w.befall()
	clients.Wait()
	if err := w.heal(); err != nil {
		return err
	}
	time.Sleep(2 * holdMS * time.Millisecond) // no hold is left then
	w.ends = time.Now().Add(time.Minute)
	for i := range all {
		for n := range all[i].keys {
			setup.do(all[i].final(n))
		}
	}
	return nil
}

// client returns a new client.
func (w *world) client(n int) *client {
	return &client{world: w, number: n, chance: newChance(w.seed, fmt.Sprint("client ", n)), tokens: map[int]int64{}}
}

// must sends a command again and again until it is answered, and returns the reply.
func (c *client) must(words ...string) string {
	o := op("", "", words...)
	for o.unknown = true; o.unknown && !c.world.over(); {
		o.unknown = false
		c.do(o)
	}
	return o.reply.Str
}

// spares is the number of servers besides the first members.
const spares = 2

// mostHealing is the longest time until all members agree after the last fault has been mended.
const mostHealing = 60 * time.Second

// heal mends all faults, and waits until all members have the same data.
func (w *world) heal() (err error) {
	w.say("all is healed")
	w.group.network.calm()
	for _, m := range w.group.all {
		m.disk.set(false, 0)
		if m.alive.Load() == nil && m.lives > 0 && !m.discarded.Load() {
			if err := m.start(); err != nil {
				return err
			}
		}
	}
	for begun := time.Now(); time.Since(begun) < mostHealing; time.Sleep(100 * time.Millisecond) {
		if err = w.learnMembers(); err == nil {
			if err = w.same(); err == nil {
				err = w.compared()
			}
			if err == nil || errors.As(err, new(otherData)) {
				return err
			}
		}
	}
	return fmt.Errorf("not well %s after all is: %w\n%s\n%s", mostHealing, err, w.report(nil), stacks())
}

// end ends all members, and waits for their goroutines.
func (w *world) end() error {
	for _, m := range w.group.all {
		w.group.count(m)
		m.crash()
	}
	late := time.After(mostHealing)
	for _, d := range w.group.dying {
		select {
		case <-d:
		case <-late:
			panic(fmt.Sprintf("seed %d: a member does not end: %v\n%s\n%s", w.seed, w.err, w.report(nil), stacks()))
		}
	}
	time.Sleep(5 * time.Second) // messages that are still on their way arrive nowhere
	return nil
}

// report returns the history of the keys of some operations, or of all keys, with the faults of the members.
func (w *world) report(some []*operation) string {
	if some == nil {
		some = w.all
	}
	lines := slices.Clone(w.incidents)
	for _, o := range some {
		lines = append(lines, o.String())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
