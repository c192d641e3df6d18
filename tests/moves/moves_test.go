//go:build raft && linux

package moves

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

var (
	minutes = flag.Float64("minutes", 0, "how long TestMoves goes on at least")
	kills   = flag.Int("kills", 8, "how many faults TestMoves has at least")
	seed    = flag.Uint64("seed", 0, "the seed of TestMoves; 0: 1, or a random one in the long form")
	still   = flag.Bool("still", false, "no slot moves: the clients and the faults alone")
)

const (
	shardsOf  = 2
	clientsOf = 24
	placesOf  = 8
)

// crowd are the clients of a cluster.
type crowd struct {
	*histories
	*tally
	on     *cluster
	places []place
	stop   chan struct{} // closed: the clients begin nothing new
	ended  chan struct{} // closed: they give up what is begun
	all    sync.WaitGroup
}

func newCrowd(c *cluster, seed uint64) *crowd {
	w := &crowd{histories: newHistories(), tally: &tally{}, on: c, stop: make(chan struct{}), ended: make(chan struct{})}
	random := rand.New(rand.NewPCG(seed, 1<<33))
	for shard := range shardsOf {
		for range placesOf / shardsOf {
			part := keyslot.Count / shardsOf
			w.places = append(w.places, place{shard*part + random.IntN(part)})
		}
	}
	judge := w.client(clientsOf+1, seed)
	defer judge.leave()
	for _, p := range w.places {
		for voucher, words := range map[string][]string{sale: nil, heldSale: {"HOLD", strconv.Itoa(saleHoldMS)}} {
			_, v := judge.until(order, "", p.slot, append([]string{"SECKILL.CREATE", p.key(voucher), "STOCK", strconv.Itoa(saleStock), "STREAM", p.key(voucher + "orders")}, words...)...)
			require.Equal(c.t, "OK", v.Str)
		}
	}
	for _, p := range w.places {
		judge.fill(c.t, p)
	}
	for i := range clientsOf {
		client := w.client(i, seed)
		w.all.Go(func() { client.live(w.places, w.stop) })
	}
	return w
}

func (w *crowd) client(who int, seed uint64) *client {
	return newClient(w.histories, w.tally, who, seed, w.on.addresses(), w.ended)
}

// progress waits until each place was served again.
func (w *crowd) progress() {
	w.on.t.Helper()
	before := w.nowUS()
	for _, p := range w.places {
		eventually(w.on.t, fmt.Sprintf("slot %d is served", p.slot), func() bool {
			return w.served(p.key(counter), before) || w.served(p.key(list), before)
		})
	}
}

// end stops the clients, and waits until they have no open request.
func (w *crowd) end() {
	close(w.stop)
	gone := make(chan struct{})
	go func() {
		w.all.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(patience):
		w.wrong("all", "clients have no reply, though all is mended")
	}
	close(w.ended)
	<-gone
}

// read asks until there is a reply.
func (c *client) read(t *testing.T, p place, words ...string) (v resp.Value) {
	t.Helper()
	eventually(t, strings.Join(words, " ")+" is answered", func() bool {
		var o outcome
		v, o, _ = c.once(p.slot, patience, words...)
		return o == done && !v.IsError()
	})
	return v
}

// field returns a field of all entries of a stream.
func (c *client) field(t *testing.T, p place, stream, name string) (values []string, atMS []int64) {
	t.Helper()
	for _, e := range c.read(t, p, "XRANGE", stream, "-", "+").Elems {
		id, _, _ := strings.Cut(e.Elems[0].Str, "-")
		ms, err := strconv.ParseInt(id, 10, 64)
		require.NoError(t, err)
		for i := 0; i+1 < len(e.Elems[1].Elems); i += 2 {
			if e.Elems[1].Elems[i].Str == name {
				values, atMS = append(values, e.Elems[1].Elems[i+1].Str), append(atMS, ms)
			}
		}
	}
	return values, atMS
}

// integer reads a number that may not be there.
func (c *client) integer(t *testing.T, p place, words ...string) int64 {
	t.Helper()
	v := c.read(t, p, words...)
	if v.IsNull() {
		return 0
	}
	if v.Kind == resp.Integer {
		return v.Int
	}
	n, err := strconv.ParseInt(v.Str, 10, 64)
	require.NoError(t, err)
	return n
}

// sale returns what a sale has when no order is held any more.
func (c *client) sale(t *testing.T, p place, voucher string) (has books) {
	t.Helper()
	eventually(t, "no order of "+voucher+" is held", func() bool { return fields(c.read(t, p, "SECKILL.INFO", voucher))["held"] == "0" })
	has.total = saleStock
	has.stock = c.integer(t, p, "GET", "seckill:stock:"+voucher)
	has.orders, _ = c.field(t, p, voucher+"orders", "id")
	has.cancelled, _ = c.field(t, p, voucher+"orders:cancelled", "id")
	return has
}

// ballastOf is how many constant keys each place has, and ballastBytes the size of each of them.
const ballastOf, ballastBytes = 4000, 200

func ballast(p place, i int) (key, value string) {
	key = p.key(fmt.Sprint("ballast", i))
	return key, strings.Repeat(key, ballastBytes/len(key)+1)
}

// together is how many keys a command has.
const together = 200

// fill sets the constant keys.
func (c *client) fill(t *testing.T, p place) {
	t.Helper()
	for i := 0; i < ballastOf; i += together {
		words := []string{"MSET"}
		for n := range together {
			key, value := ballast(p, i+n)
			words = append(words, key, value)
		}
		_, v := c.until(keep, "", p.slot, words...)
		require.Equal(t, "OK", v.Str)
	}
}

// judgeBallast returns which of these keys are not as they were.
func (c *client) judgeBallast(t *testing.T, p place) (faults []string) {
	t.Helper()
	for i := 0; i < ballastOf; i += together {
		words := []string{"MGET"}
		for n := range together {
			key, _ := ballast(p, i+n)
			words = append(words, key)
		}
		for n, v := range c.read(t, p, words...).Elems {
			if key, value := ballast(p, i+n); v.Str != value {
				faults = append(faults, fmt.Sprintf("%s is %.40q", key, v.Str))
			}
		}
	}
	return faults
}

// judge compares the histories with what the cluster has.
func (w *crowd) judge(seed uint64) (faults map[string][]string) {
	t := w.on.t
	t.Helper()
	c := newClient(w.histories, w.tally, clientsOf+2, seed, w.on.addresses(), nil)
	defer c.leave()
	faults = map[string][]string{}
	judged := func(key string, found []string) {
		if len(found) > 0 {
			faults[key] = found
		}
	}
	for _, p := range w.places {
		for i := range locksOf {
			key := p.key(fmt.Sprint(lock, i))
			var wrote []int64
			for _, v := range c.read(t, p, "LRANGE", key+tokens, "0", "-1").Elems {
				n, err := strconv.ParseInt(v.Str, 10, 64)
				require.NoError(t, err)
				wrote = append(wrote, n)
			}
			judged(key, judgeLock(w.events(key), wrote, c.integer(t, p, "GET", key+sum)))
		}
		judged(p.key(counter), judgeCount(w.events(p.key(counter)), c.integer(t, p, "GET", p.key(counter))))
		var values []string
		for _, v := range c.read(t, p, "LRANGE", p.key(list), "0", "-1").Elems {
			values = append(values, v.Str)
		}
		judged(p.key(list), judgeLog(w.events(p.key(list)), values))
		judged(p.key(leases), judgeLeases(w.events(p.key(leases))))
		judged(p.key(sale), judgeSale(w.events(p.key(sale)), 0, c.sale(t, p, p.key(sale))))
		judged(p.key(heldSale), judgeSale(w.events(p.key(heldSale)), saleHoldMS*1000, c.sale(t, p, p.key(heldSale))))
		judged(p.key("ballast"), c.judgeBallast(t, p))
		eventually(t, "nothing is pending", func() bool { return c.integer(t, p, "DELAY.COUNT", p.delays()) == 0 })
		var stream []added
		ids, atMS := c.field(t, p, p.delays(), "id")
		for i, id := range ids {
			stream = append(stream, added{id, atMS[i]})
		}
		judged(p.delays(), judgeDelays(w.events(p.delays()), stream))
	}
	return faults
}

// TestMoves: clients use two shards, slots move between them to and fro, and members of both are killed,
// paused and cut off. No acknowledged request is lost or done twice, no lock has two holders or is lost
// within its lease, tokens rise, queues keep their order, and sales balance. At the end all moves are over,
// each slot is served by one shard, and no shard has keys of another one.
func TestMoves(t *testing.T) {
	seed := testkit.SeedOr(*seed)
	t.Logf("seed %d", seed)
	c := start(t, shardsOf, true, "appendonly no\n")
	w := newCrowd(c, seed)
	m := newMover(c, seed, w.places)
	stopMoves, moved := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(moved)
		if !*still {
			m.run(stopMoves)
		}
	}()
	s := &saboteur{cluster: c, random: rand.New(rand.NewPCG(seed, 1<<34)), counts: map[string]int{}, changes: m.changes}
	w.progress()
	faults := 0
	for begun := time.Now(); faults < *kills || time.Since(begun).Minutes() < *minutes; faults++ {
		s.harm()
		if faults%4 == 3 {
			w.progress()
		}
		require.Empty(t, w.found())
	}
	c.ready()
	close(stopMoves)
	<-moved
	w.end()
	t.Logf("%d faults: %v; %d requests, %d without a reply, %d redirections (at most %d: %s), %d refusals", faults, s.counts,
		w.requests.Load(), w.unknown.Load(), w.redirected.Load(), w.most, w.way, w.refused.Load())
	if !*still {
		m.awaitNone(t)
		t.Logf("%d moves were asked for: %v; refused: %v", m.asked.Load(), m.states(), m.texts)
		t.Logf("frozen, ms: number, median, p99, longest: %s; longer than a second: %+v", m.frozen(), m.long())
	}
	t.Logf("slots of the shards: %v", c.checkSlots())
	for key, found := range w.judge(seed) {
		t.Errorf("%s:\n%s\n%s", key, strings.Join(found[:min(len(found), 8)], "\n"), w.tell(key, found[0]))
	}
	require.Empty(t, w.found())
	c.checkMembers()
	if !*still {
		require.Positive(t, m.states()["success"], "no slot has moved: %v", m.texts)
	}
	t.Log(w.summary())
}
