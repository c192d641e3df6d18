//go:build simulation

package simulation

import (
	"errors"
	"fmt"
	oldrand "math/rand"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockserver/internal/keyslot"
	"lockserver/server/cluster"
)

// cityKind says how the slots of a run's shards are given out.
type cityKind int

const (
	rightly cityKind = iota // each slot has one owner, as long as the run lasts
	given                   // a slot goes from one shard to another one
	wrongly                 // by a mistake two shards own a slot, and no shard owns another one
	cityKinds
)

// city is one run of a cluster of groups. Its world has the history, the clients and all members; quarters
// are the worlds of the groups, with the faults of each.
type city struct {
	*world
	*shards
	kind     cityKind
	quarters []*world
	owners   map[int]*group // by slot; nil: no shard serves it
	disputed int            // the slot that two shards own; -1: no slot is
	loser    *group         // the shard that owns it, and does not serve it
	from, to *world         // the slot of givenKey goes from one to the other
	strays   error          // guarded by the lock of the history
}

// withShards are the families of a cluster: all operations are on one key.
func withShards() []family {
	locks := lockFamily()
	draw := locks.draw
	locks.draw = func(c *client, n int) (o *operation) {
		for o = draw(c, n); o.locks != nil; {
			o = draw(c, n)
		}
		return o
	}
	return []family{locks, registerFamily(), counterFamily(), setFamily()}
}

// givenFamily is a register in the slot that goes to another shard.
func givenFamily() family {
	f := registerFamily()
	draw, final := f.draw, f.final
	f.name, f.keys = "given", 1
	about := func(o *operation) *operation {
		o.about, o.words[1] = "given 0", givenKey
		return o
	}
	f.draw = func(c *client, n int) *operation { return about(draw(c, n)) }
	f.final = func(n int) *operation { return about(final(n)) }
	return f
}

// The keys in the slot that goes to another shard, and in the slot that no shard owns.
const (
	givenKey = "given:0"
	freeKey  = "unowned:0"
)

// keysOf returns a key for each data of some families.
func keysOf(all []family) (keys []string) {
	for _, f := range all {
		for n := range f.keys {
			keys = append(keys, f.final(n).words[1])
		}
	}
	return keys
}

// newCity makes a cluster of two or three shards of one or three members.
func newCity(seed uint64, dir string) *city {
	c := &city{world: &world{seed: seed, chance: newChance(seed, "city"), history: new(history), group: &group{seed: seed}},
		shards: &shards{network: newNetwork(seed), dir: dir}, owners: make(map[int]*group), disputed: -1}
	c.kind = cityKind(c.chance.below(int(cityKinds)))
	for n := range 2 + c.chance.below(2) {
		s := &shard{name: fmt.Sprint("s", n+1), of: c.shards}
		g := newShard(seed, s, c.shards.network, one(c.chance, 3, 3, 1), 0)
		c.groups = append(c.groups, g)
		c.quarters = append(c.quarters, &world{seed: seed, chance: newChance(seed, s.name), group: g, history: c.history})
		c.world.group.all = append(c.world.group.all, g.all...)
	}
	c.giveOut()
	return c
}

// giveOut gives each slot to a shard, so that each of the keys may have another owner than its neighbours.
func (c *city) giveOut() {
	var ends []int
	for _, key := range append(keysOf(withShards()), givenKey) {
		ends = append(ends, keyslot.Of([]byte(key)))
	}
	slices.Sort(ends)
	ends[len(ends)-1] = keyslot.Count - 1
	from := 0
	for i, last := range slices.Compact(ends) {
		g := c.groups[i%len(c.groups)]
		if i >= len(c.groups) { // each has slots
			g = one(c.chance, c.groups...)
		}
		g.shard.slots = append(g.shard.slots, cluster.Range{First: from, Last: last})
		for slot := from; slot <= last; slot++ {
			c.owners[slot] = g
		}
		from = last + 1
	}
	if c.kind != wrongly {
		return
	}
	free := keyslot.Of([]byte(freeKey))
	c.owners[free].shard.slots = cluster.Without(c.owners[free].shard.slots, []cluster.Range{{First: free, Last: free}})
	c.owners[free] = nil
	c.disputed = keyslot.Of([]byte(one(c.chance, keysOf(withShards())...)))
	first := c.owners[c.disputed]
	second := one(c.chance, slices.DeleteFunc(slices.Clone(c.groups), func(g *group) bool { return g == first })...)
	second.shard.slots = cluster.Join(second.shard.slots, []cluster.Range{{First: c.disputed, Last: c.disputed}})
	if c.loser = first; second.shard.name > first.shard.name {
		c.loser = second
	}
	if c.loser == first {
		c.owners[c.disputed] = second
	}
}

// runCity plays a city, and returns its fault.
func runCity(t *testing.T, seed uint64, dir string) *city {
	c := newCity(seed, dir)
	//lint:ignore SA1019 there is no other way to make that library's choices repeat
	oldrand.Seed(int64(seed)) // as in run
	runtime.GC()
	bubble(t, func(*testing.T) {
		c.shards.network.changed = make(chan struct{})
		c.err = c.live()
		for _, w := range c.quarters {
			c.err = errors.Join(c.err, w.end())
		}
	})
	for _, m := range c.all() {
		_ = os.Remove(c.mapFile(m)) // the next city has other members of the same names
	}
	if err := c.check(); err != nil {
		c.err = errors.Join(err, c.err)
	}
	return c
}

// until sets the time at which clients and faults end, in all parts of a city.
func (c *city) until(ends time.Time) {
	for _, w := range append(c.quarters, c.world) {
		w.ends = ends
	}
}

// newClient returns a client that knows no routes.
func (c *city) newClient(n int) *client {
	is := c.world.client(n)
	is.routes, is.at = make(map[int]int), is.chance.below(len(c.world.group.all))
	return is
}

// live plays the city.
func (c *city) live() error {
	c.begun = time.Now()
	c.until(c.begun.Add(time.Hour))
	for _, m := range c.all() {
		if err := m.start(); err != nil {
			return err
		}
	}
	if err := c.await("the city is there", c.served); err != nil {
		return err
	}
	c.keepMaps()
	c.until(time.Now().Add(lasts))
	var busy sync.WaitGroup
	all := withShards()
	for n := range 3 + c.chance.below(3) {
		is := c.newClient(n + 1)
		busy.Go(func() { is.live(all) })
	}
	for _, w := range c.quarters {
		busy.Go(func() { w.befallShard() })
	}
	busy.Go(c.between)
	if c.kind == given {
		busy.Go(func() { c.give(&busy) })
	}
	busy.Wait()
	c.say("the shards reach each other")
	c.shards.network.calm()
	c.until(time.Now().Add(time.Hour))
	for _, w := range c.quarters {
		if err := w.heal(); err != nil {
			return fmt.Errorf("%s: %w", w.group.shard.name, err)
		}
	}
	if c.kind == given && (!c.takeAway() || !c.handOver()) {
		return errors.New("a slot was not given in an hour")
	}
	if err := c.await("all know the owners", c.served); err != nil {
		return err
	}
	reader := c.newClient(0)
	all = append(all, givenFamily())
	for i := range all {
		for n := range all[i].keys {
			reader.do(all[i].final(n))
		}
	}
	return c.found()
}

// befallShard makes faults happen to a group until the clients stop. A group of one member only crashes.
func (w *world) befallShard() {
	kinds := []func(*chaos){(*chaos).calm, (*chaos).crash, (*chaos).snapshot, (*chaos).clocks}
	if len(w.group.all) > 1 {
		kinds = append(kinds, (*chaos).partition, (*chaos).slowLinks, (*chaos).crashLeader, (*chaos).transfer, (*chaos).isolateLeader,
			(*chaos).crashAll, (*chaos).lateAnswers, (*chaos).slowDisk)
	}
	c := &chaos{w}
	for !w.over() {
		time.Sleep(w.chance.between(10*time.Millisecond, 1500*time.Millisecond))
		if !w.over() {
			kinds[w.chance.below(len(kinds))](c)
		}
	}
}

// between makes faults happen between the shards: they do not reach each other, and members come back with an
// old map, or without one.
func (c *city) between() {
	for !c.over() {
		time.Sleep(c.chance.between(10*time.Millisecond, 1500*time.Millisecond))
		if c.over() {
			return
		}
		switch c.chance.below(4) {
		case 0:
			c.cut(fair)
		case 1:
			c.cut(one(c.chance, lost, held))
		default:
			c.oldMap(one(c.chance, c.all()...))
		}
	}
}

// cut changes the links between the members of some shards and those of others.
func (c *city) cut(how weather) {
	side := map[*group]bool{}
	for _, g := range c.groups {
		side[g] = how == fair || c.chance.oneIn(2)
	}
	text := ""
	for _, g := range c.groups {
		if side[g] {
			text += " " + g.shard.name
		}
	}
	c.say("between the shards%s and the others: how %d", text, how)
	for _, a := range c.all() {
		for _, b := range c.all() {
			if a.group != b.group && (how == fair || side[a.group] != side[b.group]) {
				c.shards.network.set(link{a.at(), b.at()}, how, 0)
			}
		}
	}
}

// keepMaps keeps a copy of the maps that all members have at this moment.
func (c *city) keepMaps() {
	c.restored = make(map[*member][]byte)
	for _, m := range c.all() {
		c.restored[m], _ = os.ReadFile(c.mapFile(m))
	}
}

// oldMap makes a member start with the map of the beginning. Where two shards own a slot, that map says so.
func (c *city) oldMap(m *member) {
	if m.alive.Load() == nil {
		return
	}
	c.say("%s starts with an old map", m.peer.ID)
	m.crash()
	if err := os.WriteFile(c.mapFile(m), c.restored[m], 0o600); err != nil {
		panic(err)
	}
	if err := m.start(); err != nil {
		c.say("%s did not start: %v", m.peer.ID, err)
		m.crash()
	}
}

// give gives a slot to another shard, during the faults. In between no member serves it. From then on clients
// use it.
func (c *city) give(busy *sync.WaitGroup) {
	time.Sleep(c.chance.between(0, lasts/2))
	if !c.takeAway() {
		return
	}
	for range 30 {
		time.Sleep(c.chance.between(time.Millisecond, 60*time.Millisecond))
		m := one(c.chance, c.all()...)
		if v := m.ask("SET", givenKey, "stray"); v.Str == "OK" {
			c.fail(fmt.Errorf("seed %d: %s serves the slot %d, which no log gives to its shard", c.seed, m.peer.ID, keyslot.Of([]byte(givenKey))))
		}
	}
	if !c.handOver() {
		return
	}
	for n := range 2 {
		is := c.newClient(10 + n)
		busy.Go(func() { is.live([]family{givenFamily()}) })
	}
}

// takeAway is the first step: the log of the owner says that it has the slot no more. It returns false if
// the run is over before that is sure. Then the step may be repeated.
func (c *city) takeAway() bool {
	slot := keyslot.Of([]byte(givenKey))
	if c.from == nil {
		at := slices.Index(c.groups, c.owners[slot])
		c.from, c.to = c.quarters[at], c.quarters[(at+1+c.chance.below(len(c.groups)-1))%len(c.groups)]
	}
	if !c.from.change(cluster.Without(c.from.group.shard.slots, []cluster.Range{{First: slot, Last: slot}})) {
		return false
	}
	c.owners[slot] = nil
	return true
}

// handOver is the second step: the log of the other shard says that it has the slot. It returns what takeAway
// returns.
func (c *city) handOver() bool {
	slot := keyslot.Of([]byte(givenKey))
	if !c.to.change(cluster.Join(c.to.group.shard.slots, []cluster.Range{{First: slot, Last: slot}})) {
		return false
	}
	c.owners[slot] = c.to.group
	return true
}

// fail records a fault that a part of the city has found. found returns all of them.
func (c *city) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.strays = errors.Join(c.strays, err)
}

func (c *city) found() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.strays != nil {
		return fmt.Errorf("%w\n%s", c.strays, strings.Join(c.incidents, "\n"))
	}
	return nil
}

// await waits until a condition has no fault.
func (c *city) await(what string, fault func() error) (err error) {
	for begun := time.Now(); time.Since(begun) < mostHealing; time.Sleep(100 * time.Millisecond) {
		if err = fault(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("seed %d: not so after %s: %s: %w\n%s", c.seed, mostHealing, what, err, c.report(nil))
}

// served returns why not all members send clients of each key to the leader of its owner, or why a member
// answers for a slot of another shard.
func (c *city) served() error {
	for _, key := range append(keysOf(withShards()), givenKey, freeKey) {
		slot := keyslot.Of([]byte(key))
		owner := c.owners[slot]
		for _, m := range c.all() {
			var want string
			is := m.ask("TYPE", key).String()
			switch {
			case owner == nil, m.group == c.loser && slot == c.disputed:
				want = "-CLUSTERDOWN Hash slot not served"
			case owner.leader() == nil:
				return fmt.Errorf("%s has no leader", owner.shard.name)
			case owner.leader() != m:
				want = fmt.Sprintf("-MOVED %d %s", slot, owner.leader().peer.Client)
			case !strings.HasPrefix(is, "-"):
				want = is
			}
			if is != want {
				return fmt.Errorf("%s of slot %d at %s: %s, not %s", key, slot, m.peer.ID, is, want)
			}
		}
	}
	for _, m := range c.all() {
		if text, _ := os.ReadFile(c.mapFile(m)); strings.Count(string(text), `"name"`) < len(c.groups)-1 {
			return fmt.Errorf("%s has not kept the map of all shards: %s", m.peer.ID, text)
		}
	}
	return nil
}

// check checks the histories of a city. Tokens rise for each lock.
func (c *city) check() error {
	if err := c.checkKeys(append(withShards(), givenFamily())); err != nil {
		return err
	}
	if err := c.checkCancels(); err != nil {
		return err
	}
	of := map[string][]*operation{}
	for _, o := range c.history.all {
		of[o.about] = append(of[o.about], o)
	}
	for _, some := range of {
		if err := c.checkTokens(some); err != nil {
			return err
		}
	}
	return nil
}

// TestSimulationOfShards runs clusters of groups, each determined by its seed. There are as many as a quarter
// of the runs of lone groups.
func TestSimulationOfShards(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64() >> 1
	}
	t.Logf("seed %d", seed)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	dir, err := os.MkdirTemp("/dev/shm", "shards") // the maps are synced often
	if err != nil {
		dir = t.TempDir()
	}
	defer func() { _ = os.RemoveAll(dir) }()
	begun, n := time.Now(), counts{}
	for i := range (*runsFlag + 3) / 4 {
		for range *againFlag {
			c := runCity(t, seed+uint64(i), dir)
			if c.err != nil {
				t.Fatalf("seed %d, after %s: %v", c.seed, n, c.err)
			}
			for _, w := range c.quarters {
				w.history = new(history) // the history of all is counted once
				n.add(w)
			}
			n.runs -= len(c.quarters)
			c.world.group = new(group)
			n.add(c.world)
		}
	}
	t.Logf("%s in %s", n, time.Since(begun))
}
