//go:build raft && unix

package raft

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

var (
	rotMinutes = flag.Float64("minutes", 0, "how long files of members are damaged; 0: for a few rounds")
	rotSeed    = flag.Uint64("rot-seed", 0, "the first seed of what is damaged; 0: that of testkit.Seed")
)

// rotRounds is the number of groups in the short form. rotsOfAGroup is how often files of a group are
// damaged.
const (
	rotRounds    = 1
	rotsOfAGroup = 8
)

// TestRot damages random files of members while clients write, lock and read. Bytes are flipped, and files
// are cut, removed, swapped, doubled and filled. The files are those of one member, down or running, or of
// two members that are down. While a majority of disks is whole the group serves, and the damaged member
// becomes a voter again by itself. Without a majority no member serves, and the steps in docs/HA.md bring the
// group back. A wrong answer, a lost write, a second holder of a lock, or a panic is a failure.
func TestRot(t *testing.T) {
	seed := *rotSeed
	if seed == 0 {
		seed = testkit.Seed(t)
	}
	begun := time.Now()
	total := rotCounts{}
	for groups := 0; groups < rotRounds || time.Since(begun).Minutes() < *rotMinutes; groups++ {
		t.Logf("seed %d", seed)
		r := newRot(t, seed)
		for n := 0; n < rotsOfAGroup && (*rotMinutes == 0 || time.Since(begun).Minutes() < *rotMinutes); n++ {
			if !r.round() {
				break
			}
		}
		r.end()
		total.add(r.counts)
		seed++
	}
	t.Logf("%v: %+v", time.Since(begun).Round(time.Second), total)
}

// rotCounts counts the kinds of damage.
type rotCounts struct{ Rounds, Damages, Found, Running, Two, NoMajority, Writes, Grants int64 }

func (c *rotCounts) add(o rotCounts) {
	c.Rounds, c.Damages, c.Found, c.Running = c.Rounds+o.Rounds, c.Damages+o.Damages, c.Found+o.Found, c.Running+o.Running
	c.Two, c.NoMajority, c.Writes, c.Grants = c.Two+o.Two, c.NoMajority+o.NoMajority, c.Writes+o.Writes, c.Grants+o.Grants
}

// rot is a group with clients, and a source of random numbers.
type rot struct {
	*fleet.Group
	t       *testing.T
	r       *rand.Rand
	writers writers
	holders holders
	counts  rotCounts
	done    []string // the last damages, for a failure's report
	ended   bool     // the clients have ended
}

func newRot(t *testing.T, seed uint64) *rot {
	program := testkit.Lockserver(t)
	r := &rot{t: t, r: rand.New(rand.NewPCG(seed, 0)), Group: fleet.Prepare(t, "raft-snapshot-bytes 1mb\n", program, program, program)}
	for _, p := range r.Members {
		p.Launch()
	}
	r.leads(r.Members...)
	r.writers.begin(t, 3, r.Group)
	r.holders.begin(t, r.Group)
	r.more()
	return r
}

// A wait of this program has no limit in time while the group does something: a machine without a processor
// to spare may be slow. It fails if nothing has moved for rotStill, or if rotWrites writes were acknowledged
// meanwhile, which is several hundred times what the event needs.
const (
	rotStill  = 10 * time.Minute
	rotWrites = 500_000
)

// until waits until ok returns true. It ends the test if a client has found a failure meanwhile.
func (r *rot) until(what string, ok func() bool) {
	r.t.Helper()
	first, moved, is := r.writers.acked.Load(), time.Now(), ""
	for looks := 0; !ok(); looks++ {
		if r.t.Failed() {
			r.t.FailNow()
		}
		if time.Sleep(5 * time.Millisecond); looks%100 != 0 {
			continue
		}
		if now := r.progress(); now != is {
			moved, is = time.Now(), now
		}
		if acked := r.writers.acked.Load() - first; acked > rotWrites || time.Since(moved) > rotStill {
			require.FailNow(r.t, "not so: "+what, "%d writes meanwhile; %s; %s", acked, is, strings.Join(r.done, "; "))
		}
	}
}

// progress returns the state of clients and members as text.
func (r *rot) progress() string {
	text := fmt.Sprint(r.writers.acked.Load(), " writes, ", r.holders.grants.Load(), " grants")
	for _, p := range r.Members {
		text += ", " + r.ID(p) + " at " + p.Field("raft_applied_index")
	}
	return text
}

// leads waits until a member leads.
func (r *rot) leads(of ...*fleet.Process) (leader *fleet.Process) {
	r.t.Helper()
	r.until("a member leads", func() bool {
		for _, p := range of {
			if p.Field("raft_role") == "leader" {
				leader = p
			}
		}
		return leader != nil
	})
	return leader
}

// field waits for a field of INFO.
func (r *rot) field(p *fleet.Process, name string) (value string) {
	r.t.Helper()
	r.until("it is up", func() bool {
		value = p.Field(name)
		return value != ""
	})
	return value
}

// more waits for more acknowledged writes and grants.
func (r *rot) more() {
	r.t.Helper()
	writes, grants := r.writers.acked.Load(), r.holders.grants.Load()
	r.until("writes are acknowledged and locks are granted", func() bool {
		return r.writers.acked.Load() > writes+20 && r.holders.grants.Load() > grants+5
	})
}

// same waits until all members have the same data, after the clients have ended.
func (r *rot) same() {
	r.t.Helper()
	r.until("all have the same data", func() bool {
		is := r.Members[0].Try("DEBUG", "DIGEST").String()
		for _, p := range r.Members[1:] {
			if p.Try("DEBUG", "DIGEST").String() != is {
				return false
			}
		}
		return len(is) > 20 // no error
	})
}

// end stops the clients if they run, and requires all acknowledged writes.
func (r *rot) end() {
	r.stopClients()
	r.writers.end(r.t)
	r.noPanic()
	for _, p := range r.Members {
		p.Kill()
	}
	r.counts.Writes, r.counts.Grants = r.writers.acked.Load(), r.holders.grants.Load()
}

// stopClients ends the clients.
func (r *rot) stopClients() {
	if !r.ended {
		r.ended = true
		r.holders.stop.Store(true)
		r.holders.clients.Wait()
		r.writers.stop.Store(true)
		r.writers.fleet.Wait()
	}
}

// noPanic requires that no log has a panic.
func (r *rot) noPanic() {
	for _, p := range r.Members {
		log := p.Log()
		if i := strings.Index(log, "panic: "); i >= 0 {
			r.t.Fatalf("a member has panicked: %s\n%s", strings.Join(r.done, "; "), log[max(0, i-2000):min(len(log), i+4000)])
		}
	}
}

// round damages files once. It returns false if the group cannot go on.
func (r *rot) round() bool {
	r.counts.Rounds++
	if r.r.IntN(3) == 0 {
		r.Members[r.r.IntN(3)].TryWithin(patience, "RAFT", "SNAPSHOT")
	}
	r.more()
	switch r.r.IntN(6) {
	case 0:
		r.whileItRuns()
	case 1:
		return r.two()
	default:
		r.one()
	}
	r.noPanic()
	return !r.t.Failed()
}

// one damages files of a member that is down.
func (r *rot) one() {
	p := r.Members[r.r.IntN(3)]
	r.down(p)
	for range 1 + r.r.IntN(2) {
		r.damage(p)
	}
	p.Launch()
	r.whole(p)
}

// down ends a member, as planned or not.
func (r *rot) down(p *fleet.Process) {
	if r.r.IntN(2) == 0 {
		p.Kill()
	} else {
		_, err := p.Terminate()
		require.NoError(r.t, err)
	}
}

// whole waits until a damaged member is a voter again and has all data. Then it removes the files that the
// member has moved away.
func (r *rot) whole(damaged ...*fleet.Process) {
	r.t.Helper()
	all := r.Members[0].Addr() + "," + r.Members[1].Addr() + "," + r.Members[2].Addr()
	r.until("all members are ready", func() bool {
		_, ok := ran(r.t, "status", "--addr", all, "--wait-ready", "85s")
		return ok
	})
	for _, p := range damaged {
		aside, err := filepath.Glob(filepath.Join(p.Dir(), "raft", "damaged-*"))
		require.NoError(r.t, err)
		for _, path := range aside {
			r.counts.Found++
			require.NoError(r.t, os.RemoveAll(path))
		}
	}
	if !r.ended {
		r.more()
	}
}

// whileItRuns damages the log of a running member. Other members need this log to catch up. Either the
// damaged part is not read, or the member stops. Its next start moves the files away.
func (r *rot) whileItRuns() {
	r.counts.Running++
	behind := r.Members[r.r.IntN(3)]
	behind.Kill()
	leader := r.leads(r.Others(behind)...)
	acked := r.writers.acked.Load()
	r.until("it is far behind", func() bool { return r.writers.acked.Load() > acked+700 })
	logs, err := filepath.Glob(filepath.Join(leader.Dir(), "raft", "disk", "log", "*.log"))
	require.NoError(r.t, err)
	for range 1 + r.r.IntN(40) {
		r.flip(logs[len(logs)-1])
	}
	missed := r.field(leader, "raft_applied_index")
	behind.Launch()
	r.until("it has caught up, or the other one has found out", func() bool {
		return leader.Field("raft_role") == "stopped" || hasReached(behind.Field("raft_applied_index"), missed)
	})
	r.down(leader)
	leader.Launch()
	r.whole(leader)
}

// hasReached reports whether an index is known and not below another one.
func hasReached(index, other string) bool {
	var a, b int64
	_, err := fmt.Sscan(index+" "+other, &a, &b)
	return err == nil && a >= b
}

// two damages files of two members that are down. If both members find the damage, no member serves, and the
// third member forms a group of its own.
func (r *rot) two() bool {
	r.counts.Two++
	r.stopClients()
	r.same()
	order := r.r.Perm(3)
	a, b, healthy := r.Members[order[0]], r.Members[order[1]], r.Members[order[2]]
	disks := map[*fleet.Process]string{a: r.field(a, "raft_incarnation"), b: r.field(b, "raft_incarnation")}
	r.down(a)
	r.down(b)
	for _, p := range []*fleet.Process{a, b} {
		for range 1 + r.r.IntN(3) {
			r.damage(p)
		}
		p.Launch()
	}
	if r.field(a, "raft_incarnation") == disks[a] || r.field(b, "raft_incarnation") == disks[b] { // a whole disk keeps its own
		r.whole(a, b)
		return false // what was acknowledged is looked for now
	}
	r.counts.NoMajority++
	r.counts.Found += 2
	r.until("the healthy member leads no more", func() bool { return r.field(healthy, "raft_role") != "leader" })
	for range 20 {
		for _, p := range r.Members {
			require.NotEqual(r.t, "leader", p.Field("raft_role"), "%s", strings.Join(r.done, "; "))
			require.NotEqual(r.t, "OK", p.Try("SET", "unknown", "value").Str)
		}
	}
	for _, p := range r.Members {
		_, err := p.Terminate()
		require.NoError(r.t, err)
	}
	out, ok := ran(r.t, "recover", "--dir", healthy.Dir(), "--i-accept-data-loss")
	require.True(r.t, ok, out)
	healthy.Launch()
	r.leads(healthy)
	return false
}

// flip flips a bit in the used part of a file.
func (r *rot) flip(path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(r.t, err)
	defer f.Close()
	used := r.used(path)
	if used == 0 {
		return
	}
	var b [1]byte
	at := r.r.Int64N(used)
	_, err = f.ReadAt(b[:], at)
	if err == nil {
		b[0] ^= 1 << r.r.IntN(8)
		_, err = f.WriteAt(b[:], at)
	}
	require.NoError(r.t, err)
	r.say("flip %s at %d of %d", path, at, used)
}

// used returns the number of bytes of a file before the zeros at its end.
func (r *rot) used(path string) int64 {
	text, err := os.ReadFile(path)
	require.NoError(r.t, err)
	return int64(len(bytes.TrimRight(text, "\x00")))
}

func (r *rot) say(format string, words ...any) {
	r.counts.Damages++
	r.done = append(r.done, strings.ReplaceAll(fmt.Sprintf(format, words...), filepath.Dir(filepath.Dir(r.Members[0].Dir())), ""))
	if len(r.done) > 12 {
		r.done = r.done[1:]
	}
}

// files returns the files of a member that may be damaged.
func (r *rot) files(p *fleet.Process) (all []string) {
	for _, pattern := range []string{"committed", "disk/log/*", "disk/snapshots/*/*"} {
		found, err := filepath.Glob(filepath.Join(p.Dir(), "raft", pattern))
		require.NoError(r.t, err)
		all = append(all, found...)
	}
	return all
}

// damage damages a file of a member.
func (r *rot) damage(p *fleet.Process) {
	all := r.files(p)
	if len(all) == 0 {
		return
	}
	path := all[r.r.IntN(len(all))]
	text, err := os.ReadFile(path)
	require.NoError(r.t, err)
	put := func(to string, text []byte) {
		require.NoError(r.t, os.MkdirAll(filepath.Dir(to), 0o700))
		require.NoError(r.t, os.WriteFile(to, text, 0o600))
	}
	switch r.r.IntN(10) {
	case 0:
		size := r.r.Int64N(r.used(path) + 1)
		require.NoError(r.t, os.Truncate(path, size))
		r.say("cut %s to %d", path, size)
	case 1:
		require.NoError(r.t, os.Remove(path))
		r.say("remove %s", path)
	case 2: // with another of the same member
		other := all[r.r.IntN(len(all))]
		is, err := os.ReadFile(other)
		require.NoError(r.t, err)
		put(path, is)
		put(other, text)
		r.say("swap %s and %s", path, other)
	case 3: // by that of another member
		others := r.files(r.Others(p)[r.r.IntN(2)])
		if i := slices.IndexFunc(others, func(s string) bool { return filepath.Base(s) == filepath.Base(path) }); i >= 0 {
			is, err := os.ReadFile(others[i])
			require.NoError(r.t, err)
			put(path, is)
			r.say("%s in place of %s", others[i], path)
		}
	case 4:
		to := []string{path + ".copy", filepath.Join(filepath.Dir(path), "0000000000000099.log"), all[r.r.IntN(len(all))]}[r.r.IntN(3)]
		put(to, text)
		r.say("copy %s to %s", path, to)
	case 5:
		if used := r.used(path); used > 0 {
			from := r.r.Int64N(used)
			to := from + r.r.Int64N(used-from) + 1
			clear(text[from:to])
			put(path, text)
			r.say("zeros in %s from %d to %d", path, from, to)
		}
	case 6:
		put(path, append(text, []byte(fmt.Sprint("garbage ", r.r.Uint64()))...))
		r.say("garbage behind %s", path)
	case 7: // the whole directory
		dir := filepath.Dir(path)
		if dir == filepath.Join(p.Dir(), "raft") {
			dir = filepath.Join(dir, "disk") // what is left says which member it is
		}
		require.NoError(r.t, os.RemoveAll(dir))
		r.say("remove all of %s", dir)
	default:
		for range 1 + r.r.IntN(3) {
			r.flip(path)
		}
	}
}

// holders are clients that compete for locks. Each finds at once if another client has the same lock.
type holders struct {
	stop    atomic.Bool
	grants  atomic.Int64
	clients sync.WaitGroup
	mu      sync.Mutex
	holds   map[string]string // the owner that has a lock; it is cleared before the lock is given back
	tokens  map[string]int64  // the highest
}

// begin starts the clients.
func (h *holders) begin(t *testing.T, g *fleet.Group) {
	h.holds, h.tokens = map[string]string{}, map[string]int64{}
	for i := range 4 {
		owner, lock := fmt.Sprint("owner", i), fmt.Sprint("lock", i%2)
		dial := func(address string) (*testkit.Client, error) {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				return nil, err
			}
			c := testkit.NewClient(t, conn)
			c.Timeout = 5 * time.Second
			return c, nil
		}
		c := &cluster{dial: dial, open: map[string]*testkit.Client{}, at: g.Members[i%3].Addr()}
		// again repeats a command until there is an answer. It returns false if the clients are to end.
		again := func(words ...string) (int64, bool) {
			for turn := 0; ; turn++ {
				kind, _, n := c.do(words...)
				if kind != '-' {
					return n, true
				}
				c.close()
				if h.stop.Load() {
					return 0, false
				}
				time.Sleep(20 * time.Millisecond) // there may be no leader
				c.at = g.Members[turn%3].Addr()
			}
		}
		h.clients.Go(func() {
			defer c.close()
			for !h.stop.Load() {
				token, ok := again("LOCK", lock, owner, "PX", "3600000", "ONCE")
				if !ok {
					return
				}
				if token <= 0 {
					time.Sleep(2 * time.Millisecond) // another owner has it
					continue
				}
				if why := h.granted(lock, owner, token); why != "" {
					t.Error(why)
					return
				}
				h.mu.Lock()
				delete(h.holds, lock)
				h.mu.Unlock()
				if n, ok := again("UNLOCK", lock, owner); !ok || n < 0 {
					return
				}
			}
		})
	}
}

// granted records a grant, and returns an error text if the grant is wrong.
func (h *holders) granted(lock, owner string, token int64) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.grants.Add(1)
	if has := h.holds[lock]; has != "" {
		return fmt.Sprintf("%s is granted %s, which %s has", owner, lock, has)
	}
	if token <= h.tokens[lock] {
		return fmt.Sprintf("%s is granted %s with the token %d, and %d was there before", owner, lock, token, h.tokens[lock])
	}
	h.holds[lock], h.tokens[lock] = owner, token
	return ""
}
