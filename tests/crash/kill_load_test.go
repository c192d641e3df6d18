package crash

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// promise is a number that only rises. It records which values were sent, and which of them were
// acknowledged.
type promise struct {
	begun int64 // the value at the start of the run
	sent  int64
	acked int64
}

func (p *promise) begin(value int64) { *p = promise{begun: value, sent: value, acked: value} }

func (p *promise) ack(value int64) { p.acked = value }

// worker is one client of the load. It can check everything that it does after a kill.
type worker struct {
	name    string
	counter promise        // INCR counter:NAME
	list    promise        // in a transaction: RPUSH list:NAME n, SET last:NAME n
	sold    promise        // SECKILL sale NAME-n
	delayed promise        // DELAY.ADD delayed:NAME n
	unsure  map[int64]bool // entries of delayed that may be missing
	gone    map[int64]bool // entries of delayed that were cancelled
	// dueMS is the earliest time at which an entry of delayed may be added, in milliseconds since 1970.
	dueMS map[int64]int64
	seen  promise // the highest value that it has read of the next worker's counter
	next  *worker
	// recurred is the highest number of recurring entries that it has seen in their stream.
	recurred int64
	carts    []cartState // SECKILL.CART NAME NAME-cart-n, n is the place in the list
	units    int         // LIMIT.TAKE and LIMIT.GIVE units:NAME: the units that are taken
	// unitsUnsure is the change of units by a call that was not answered.
	unitsUnsure int
	wrong       []string  // unexpected replies
	lock        lockState // LOCK own:NAME, used by this client alone
	shared      lockState // LOCK shared, used by all clients
	permit      lockState // SEM.ACQUIRE permits, used by all clients; its limit is permitsOfAll
}

// permitsOfAll is the number of clients that may have a permit at the same time.
const permitsOfAll = 2

// lockState is a client's knowledge about a lock.
type lockState struct {
	certain bool // the last command was answered
	held    bool
	token   int64
}

// run sends commands until the server has died.
func (w *worker) run(c *testkit.Client, chance *rand.Rand) {
	for {
		var err error
		switch chance.IntN(18) {
		case 0, 1, 2:
			err = w.count(c)
		case 3, 4:
			err = w.push(c)
		case 5:
			err = w.look(c)
		case 6:
			err = w.lock.toggle(c, "own:"+w.name, w.name)
		case 7:
			err = w.shared.toggle(c, "shared", w.name)
		case 8:
			err = w.buy(c)
		case 9:
			err = w.delay(c, chance)
		case 10:
			err = w.putOff(c, chance)
		case 11:
			err = w.permit.togglePermit(c, w.name)
		case 12:
			err = w.cancel(c, chance)
		case 13:
			err = w.lookAtRecurring(c)
		case 14, 15:
			err = w.fill(c, chance)
		case 16:
			err = w.takeOrGive(c, chance)
		case 17:
			err = w.ask(c)
		}
		if err != nil {
			return
		}
	}
}

func (w *worker) count(c *testkit.Client) error {
	w.counter.sent++
	v, err := c.Call("INCR", "counter:"+w.name)
	if err == nil {
		w.counter.ack(v.Int)
	}
	return err
}

func (w *worker) push(c *testkit.Client) error {
	w.list.sent++
	n := strconv.FormatInt(w.list.sent, 10)
	_, err := c.CallPipeline([][]string{{"MULTI"}, {"RPUSH", "list:" + w.name, n}, {"SET", "last:" + w.name, n}, {"EXEC"}})
	if err == nil {
		w.list.ack(w.list.sent)
	}
	return err
}

// buy buys one piece of a sale, each time as a new user.
func (w *worker) buy(c *testkit.Client) error {
	w.sold.sent++
	id := w.name + "-" + strconv.FormatInt(w.sold.sent, 10)
	v, err := c.Call("SECKILL", "sale", id, "order-"+id)
	if err == nil && v.Int == 0 && !v.IsError() {
		w.sold.ack(w.sold.sent)
	}
	return err
}

// delay adds an entry to the worker's own stream, due after a few milliseconds.
func (w *worker) delay(c *testkit.Client, chance *rand.Rand) error {
	w.delayed.sent++
	n, ms := strconv.FormatInt(w.delayed.sent, 10), chance.IntN(60)
	w.dueMS[w.delayed.sent] = time.Now().UnixMilli() + int64(ms)
	_, err := c.Call("DELAY.ADD", "delayed:"+w.name, "PX", strconv.Itoa(ms), "ID", n, "n", n)
	if err == nil {
		w.delayed.ack(w.delayed.sent)
	}
	return err
}

// late picks one of the latest entries, which may still be pending.
func (w *worker) late(chance *rand.Rand) int64 { return max(w.delayed.sent-chance.Int64N(10), 1) }

// putOff moves an entry, if it is still pending.
func (w *worker) putOff(c *testkit.Client, chance *rand.Rand) error {
	n, ms := w.late(chance), chance.IntN(300)
	dueMS := time.Now().UnixMilli() + int64(ms)
	v, err := c.Call("DELAY.MOVE", "delayed:"+w.name, strconv.FormatInt(n, 10), "PX", strconv.Itoa(ms))
	switch {
	case err != nil: // unknown whether it was moved
		w.dueMS[n] = min(w.dueMS[n], dueMS)
	case v.Int == 1:
		w.dueMS[n] = dueMS
	}
	return err
}

// cancel removes an entry, if it is still pending.
func (w *worker) cancel(c *testkit.Client, chance *rand.Rand) error {
	n := w.late(chance)
	v, err := c.Call("DELAY.CANCEL", "delayed:"+w.name, strconv.FormatInt(n, 10))
	switch {
	case err != nil:
		w.unsure[n] = true
	case v.Int == 1:
		w.gone[n] = true
	}
	return err
}

// checkDelayed fails unless each entry with an acknowledged DELAY.ADD is in the stream once, or pending, or
// was cancelled. No entry is in the stream before its time.
func (w *worker) checkDelayed(t *testing.T, c *testkit.Client) {
	t.Helper()
	key := "delayed:" + w.name
	both, err := c.CallPipeline([][]string{{"MULTI"}, {"XRANGE", key, "-", "+"}, {"DELAY.LIST", key, "COUNT", "1000000"}, {"DELAY.COUNT", key},
		{"HLEN", "{" + key + "}:delayed:entries"}, {"EXEC"}})
	require.NoError(t, err)
	if w.delayed.sent > w.delayed.acked {
		w.unsure[w.delayed.sent] = true
	}
	reply := both[5].Elems
	times := map[string]int{}
	for _, e := range reply[0].Elems {
		id := e.Elems[1].Elems[1].Str
		times[id]++
		n, _ := strconv.ParseInt(id, 10, 64)
		ms, _, _ := strings.Cut(e.Elems[0].Str, "-")
		atMS, err := strconv.ParseInt(ms, 10, 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, atMS, w.dueMS[n], "%s: delayed entry %s is early", w.name, id)
	}
	for _, e := range reply[1].Elems {
		times[e.Elems[0].Str]++
	}
	require.EqualValues(t, len(reply[1].Elems), reply[2].Int, "%s: the two keys do not agree", w.name)
	require.Equal(t, reply[2].Int, reply[3].Int, "%s: the two keys do not agree", w.name)
	for n := int64(1); n <= w.delayed.sent; n++ {
		got := times[strconv.FormatInt(n, 10)]
		require.LessOrEqual(t, got, 1, "%s: delayed entry %d comes more than once", w.name, n)
		if w.gone[n] {
			require.Zero(t, got, "%s: cancelled delayed entry %d is there", w.name, n)
		} else {
			require.True(t, got == 1 || w.unsure[n], "%s: acknowledged delayed entry %d is lost", w.name, n)
		}
		delete(times, strconv.FormatInt(n, 10))
	}
	require.Empty(t, times, "%s: entries that were not sent", w.name)
}

// stockOfTheSale is the initial stock: more than the test sells.
const stockOfTheSale = 1_000_000

// checkSale fails unless every piece is either in stock or sold to a user with an order.
func checkSale(t *testing.T, c *testkit.Client) {
	t.Helper()
	stock, err := strconv.ParseInt(c.Do("GET", "seckill:stock:sale").Str, 10, 64)
	require.NoError(t, err)
	require.Equal(t, int64(stockOfTheSale), stock+c.Do("SCARD", "seckill:order:sale").Int, "pieces are lost, or sold twice")
	require.Equal(t, int64(stockOfTheSale), stock+c.Do("XLEN", "stream.orders").Int, "orders are lost")
}

// look reads the data of another worker.
func (w *worker) look(c *testkit.Client) error {
	v, err := c.Call("GET", "counter:"+w.next.name)
	if err != nil || v.IsNull() {
		return err
	}
	n, err := strconv.ParseInt(v.Str, 10, 64)
	if err == nil {
		w.seen.ack(n)
	}
	return err
}

// leaseMS is longer than the tests take.
const leaseMS = 3_600_000

// toggle acquires a lock, with a wait, or releases it. The server may refuse the wait as a deadlock, because
// a worker also has a permit or another lock. The priority of a worker is its number.
func (l *lockState) toggle(c *testkit.Client, key, owner string) error {
	l.certain = false
	if l.held {
		if _, err := c.Call("UNLOCK", key, owner); err != nil {
			return err
		}
		*l = lockState{certain: true}
		return nil
	}
	v, err := c.Call("LOCK", key, owner, "PX", strconv.Itoa(leaseMS), "WAIT", "50", "PRIORITY", owner[1:])
	if err != nil {
		return err
	}
	*l = lockState{certain: true, held: v.Int > 0, token: v.Int}
	return nil
}

// togglePermit is toggle for a permit of the semaphore that all clients use.
func (l *lockState) togglePermit(c *testkit.Client, owner string) error {
	l.certain = false
	if l.held {
		if _, err := c.Call("SEM.RELEASE", "permits", owner); err != nil {
			return err
		}
		*l = lockState{certain: true}
		return nil
	}
	v, err := c.Call("SEM.ACQUIRE", "permits", owner, "LIMIT", strconv.Itoa(permitsOfAll), "PX", strconv.Itoa(leaseMS), "WAIT", "50", "PRIORITY", owner[1:])
	if err != nil {
		return err
	}
	*l = lockState{certain: true, held: v.Int > 0, token: v.Int}
	return nil
}

// checkPermit compares a permit with the last reply to its client.
func (l *lockState) checkPermit(t *testing.T, c *testkit.Client, owner string) {
	t.Helper()
	v := c.Do("HGET", "permits", owner)
	if l.certain {
		require.Equal(t, l.held, !v.IsNull(), "a permit of %s: the client had another answer", owner)
	}
	if l.certain && l.held {
		require.Regexp(t, "^\\$"+strconv.FormatInt(l.token, 10)+":1:0$", v.Str, owner)
	}
	require.LessOrEqual(t, c.Do("HLEN", "permits").Int, int64(permitsOfAll+2), "holders, and two fields more")
}

// rewriteAgain rewrites the log repeatedly.
func rewriteAgain(c *testkit.Client, done *atomic.Int64) {
	for {
		v, err := c.Call("BGREWRITEAOF")
		if err != nil {
			return
		}
		if !v.IsError() {
			done.Add(1)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// load runs the workers on a server, and kills it after a while.
func load(t *testing.T, s *testkit.Process, workers []*worker, duration time.Duration, chance *rand.Rand, rewrites *atomic.Int64) {
	t.Helper()
	var all sync.WaitGroup
	for _, w := range workers {
		c, own := s.Client(t), rand.New(rand.NewPCG(chance.Uint64(), 1))
		all.Go(func() { w.run(c, own) })
	}
	c := s.Client(t)
	all.Go(func() { rewriteAgain(c, rewrites) })
	time.Sleep(duration)
	require.Eventually(t, func() bool { return rewrites.Load() > 0 }, patience, time.Millisecond, "the log is never rewritten")
	s.Kill()
	all.Wait()
}

// check compares the data with the workers' knowledge: everything acknowledged is there, and locks have the
// holders that believe to hold them.
func (w *worker) check(t *testing.T, c *testkit.Client) {
	t.Helper()
	counter, _ := strconv.ParseInt(c.Do("GET", "counter:"+w.name).Str, 10, 64)
	require.GreaterOrEqual(t, counter, w.counter.acked, "%s: acknowledged INCRs are lost", w.name)
	require.LessOrEqual(t, counter, w.counter.sent, "%s: INCRs that nobody sent", w.name)
	require.GreaterOrEqual(t, counter, w.seenBefore(), "%s: what others have read is lost", w.name)
	last, _ := strconv.ParseInt(c.Do("GET", "last:"+w.name).Str, 10, 64)
	require.GreaterOrEqual(t, last, w.list.acked, "%s: acknowledged transactions are lost", w.name)
	require.LessOrEqual(t, last, w.list.sent, w.name)
	elements := c.Do("LRANGE", "list:"+w.name, "0", "-1").Elems
	require.Len(t, elements, int(last), "%s: half a transaction", w.name)
	for i, e := range elements {
		require.Equal(t, strconv.Itoa(i+1), e.Str, w.name)
	}
	if w.sold.acked > 0 {
		id := w.name + "-" + strconv.FormatInt(w.sold.acked, 10)
		require.Equal(t, int64(1), c.Do("SISMEMBER", "seckill:order:sale", id).Int, "%s: an acknowledged sale is lost", w.name)
	}
	w.sold.acked = 0 // each sale is checked once, because the next user has a new number
	w.checkDelayed(t, c)
	w.checkUnits(t, c)
	w.lock.check(t, c, "own:"+w.name, w.name)
	w.shared.check(t, c, "shared", w.name)
	w.permit.checkPermit(t, c, w.name)
	w.counter.begin(counter)
	w.list.begin(last)
}

// seenBefore returns the highest value of this worker's counter that the previous worker has read.
func (w *worker) seenBefore() int64 {
	for p := w.next; ; p = p.next {
		if p.next == w {
			return p.seen.acked
		}
	}
}

// check compares a lock with the last reply to its client.
func (l *lockState) check(t *testing.T, c *testkit.Client, key, owner string) {
	t.Helper()
	isHeld := c.Do("HEXISTS", key, owner).Int == 1
	if !l.certain {
		return
	}
	require.Equal(t, l.held, isHeld, "%s of %s: the client was told otherwise", key, owner)
	if l.held {
		require.Equal(t, strconv.FormatInt(l.token, 10), c.Do("HGET", key, "$token").Str, key)
		left := c.Do("PTTL", key).Int
		require.True(t, 0 < left && left <= leaseMS, "%s: %d ms left", key, left)
	}
}
