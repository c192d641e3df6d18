//go:build oracle

package replication

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// programs holds the paths of the programs of a test.
type programs struct{ lockserver, redis, sentinel string }

// buildPrograms builds the server. The Sentinels are those of the Redis in PATH: Debian's.
func buildPrograms(t *testing.T) programs {
	t.Helper()
	return programs{lockserver: testkit.Lockserver(t), redis: string(testkit.Oracle(t)), sentinel: string(testkit.Installed(t))}
}

// TestSentinel: three real Sentinels watch servers that are killed, paused and stopped.
func TestSentinel(t *testing.T) {
	run := buildPrograms(t)
	t.Run("lockservers", func(t *testing.T) { failovers(t, run) })
	t.Run("both", func(t *testing.T) { failoversOfBoth(t, run) })
	t.Run("cut off", func(t *testing.T) {
		cutOff(t, fleet.Start(t, run.sentinel, "", run.lockserver, run.lockserver, run.lockserver))
	})
	t.Run("cut off, Redis leads", func(t *testing.T) { cutOff(t, fleet.Start(t, run.redis, "", run.redis, run.lockserver)) })
	t.Run("cut off, Redis follows", func(t *testing.T) { cutOff(t, fleet.Start(t, run.redis, "", run.lockserver, run.redis)) })
	t.Run("Sentinels cut off", func(t *testing.T) { sentinelsCutOff(t, run) })
	t.Run("replaced", func(t *testing.T) { replacedBeforeTheReplicasAreKnown(t, run) })
	t.Run("acknowledged", func(t *testing.T) { nothingAcknowledgedIsLost(t, run) })
}

// failovers: whatever happens to the leader of three, another one takes over, and the old leader follows it
// when it is back.
func failovers(t *testing.T, run programs) {
	f := fleet.Start(t, run.sentinel, "", run.lockserver, run.lockserver, run.lockserver)
	leader := f.Members[0]
	values(reach(t, leader.Addr()))
	f.Same(leader)

	old := leader
	old.Kill()
	leader = f.Successor(old)
	require.Equal(t, "+OK", leader.Try("SET", "after", "the kill").String())
	old.Start()
	f.Same(leader)

	old = leader
	oldMaster := reach(t, old.Addr())
	old.Pause()
	oldMaster.Send("SET", "lost", "1")
	leader = f.Successor(old)
	values(reach(t, leader.Addr()))
	old.GoOn()
	require.Equal(t, "+OK", oldMaster.Receive().String(), "it does not know yet")
	f.Same(leader)
	for _, p := range f.Members {
		require.Equal(t, "0", p.Try("EXISTS", "lost").String())
	}

	old = leader
	sleeper := reach(t, old.Addr())
	// The votes of the Sentinels may be split, and a sleep may end before the next vote. So the leader sleeps
	// again.
	for f.Leader(f.Sentinels[0]) == old {
		_, err := sleeper.Call("DEBUG", "SLEEP", "5")
		if err != nil { // a leader that becomes a replica closes connections
			break
		}
	}
	leader = f.Successor(old)
	f.Same(leader)
}

// cutOff: neither Sentinels nor replicas can reach the leader, but one client can. Writes from then on are
// thrown away when the others reach it again, although its history is longer. No client gets in without its
// password, which changes suddenly.
func cutOff(t *testing.T, f *fleet.Fleet) {
	old := f.Members[0]
	c := reach(t, old.Addr())
	plain(c)
	f.Same(old)
	require.Equal(t, "+OK", c.do("CONFIG SET requirepass secret"))
	for _, kind := range []string{"replica", "pubsub", "normal"} {
		require.NotContains(t, c.do("CLIENT KILL TYPE "+kind), "-")
	}
	surplus := func() {
		for range 1000 {
			require.NotContains(t, c.do("RPUSH surplus only-here"), "-")
		}
	}
	surplus()
	next := f.Successor(old)
	surplus() // the Sentinels take it for dead while it still writes
	require.Equal(t, "+OK", next.Try("SET", "leader", "next").String())
	there, err := strconv.ParseInt(next.Field("master_repl_offset"), 10, 64)
	require.NoError(t, err)
	require.Greater(t, c.number("master_repl_offset"), there)
	require.Equal(t, []string{"master", "2000"}, []string{c.info("role"), c.do("LLEN surplus")})

	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "requirepass", "").String())
	f.Same(next)
	for _, p := range f.Members {
		require.Equal(t, []string{"0", `"next"`}, []string{p.Try("EXISTS", "surplus").String(), p.Try("GET", "leader").String()})
	}
	require.Equal(t, "1", next.Field("sync_full"), "of the old leader; the others went on")
}

// sentinelsCutOff: the Sentinels cannot reach the leader, but its replica and a client can. The client goes
// on writing while another server becomes the leader. Writes acknowledged by then are there, and none is
// acknowledged after that.
func sentinelsCutOff(t *testing.T, run programs) {
	f := fleet.Start(t, run.sentinel, "min-replicas-ack 1\n", run.lockserver, run.lockserver)
	old := f.Members[0]
	c, writer := reach(t, old.Addr()), reach(t, old.Addr())
	require.Equal(t, "+OK", c.do("CONFIG SET requirepass secret"))
	kept := map[string]bool{}
	for _, n := range []*node{c, writer} {
		kept[n.do("CLIENT ID")] = true
	}
	for line := range strings.Lines(c.Do("CLIENT", "LIST", "TYPE", "normal").Str + c.Do("CLIENT", "LIST", "TYPE", "pubsub").Str) {
		if id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " "); !kept[id] {
			c.do("CLIENT KILL ID " + id)
		}
	}
	var acked, token atomic.Int64
	over := make(chan struct{})
	go func() {
		defer close(over)
		writer.Timeout = patience
		for n := int64(1); ; n++ {
			v, err := writer.Call("RPUSH", "acked", strconv.FormatInt(n, 10))
			if err != nil || v.Int != n {
				return
			}
			acked.Store(n)
			if v, err = writer.Call("LOCK", "door", "me", "PX", "60000"); err != nil || v.Int == 0 {
				return
			}
			token.Store(v.Int)
		}
	}()
	next := f.Successor(old)
	require.Positive(t, acked.Load())
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "requirepass", "").String())
	f.Same(next)
	<-over
	require.GreaterOrEqual(t, next.Try("LLEN", "acked").Int, acked.Load())
	require.Equal(t, fmt.Sprintf("%q", strconv.FormatInt(acked.Load(), 10)), next.Try("LINDEX", "acked", strconv.FormatInt(acked.Load()-1, 10)).String())
	require.EqualValues(t, 0, next.Try("LOCK", "door", "thief", "PX", "1000").Int, "its holder has it")
	require.Greater(t, next.Try("LOCK", "other", "me", "PX", "1000").Int, token.Load())
}

// replacedBeforeTheReplicasAreKnown: the Sentinel first refuses a planned failover.
func replacedBeforeTheReplicasAreKnown(t *testing.T, run programs) {
	f := fleet.Start(t, run.sentinel, "", run.lockserver, run.lockserver)
	leader, sentinel := f.Members[0], f.Sentinels[0]
	// If a Sentinel has not asked a replica for three of these periods, it knows nothing about it.
	require.Equal(t, "+OK", sentinel.Try("SENTINEL", "DEBUG", "info-period", "1").String())
	time.AfterFunc(time.Second, func() { sentinel.Try("SENTINEL", "DEBUG", "info-period", "200") })
	f.Replace(leader)
	f.Same(f.Successor(leader))
}

// failoversOfBoth: a lockserver and a Redis take turns as the leader.
func failoversOfBoth(t *testing.T, run programs) {
	f := fleet.Start(t, run.redis, "", run.lockserver, run.redis)
	leader := f.Members[0]
	values(reach(t, leader.Addr()))
	f.Same(leader)
	for _, end := range []func(p *fleet.Process) (back func()){
		func(p *fleet.Process) func() { p.Kill(); return p.Start },
		func(p *fleet.Process) func() { p.Kill(); return p.Start },
		func(p *fleet.Process) func() { p.Pause(); return p.GoOn },
		func(p *fleet.Process) func() { p.Pause(); return p.GoOn },
	} {
		back := end(leader)
		next := f.Successor(leader)
		require.Equal(t, "+OK", next.Try("SET", "leader", next.Program).String())
		back()
		leader = next
		f.Same(leader)
	}
}

// stock is more than the clients buy.
const stock = 10_000_000

// nothingAcknowledgedIsLost: with min-replicas-ack 1 and one replica, clients that continue over failovers
// find all acknowledged writes. FAILOVERS is the number of failovers.
func nothingAcknowledgedIsLost(t *testing.T, run programs) {
	count := 4
	if s := os.Getenv("FAILOVERS"); s != "" {
		var err error
		count, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	f := fleet.Start(t, run.sentinel, "min-replicas-ack 1\n", run.lockserver, run.lockserver)
	leader := f.Members[0]
	require.Equal(t, "+OK", leader.Try("SECKILL.CREATE", "sale", "STOCK", strconv.Itoa(stock)).String())
	w := &watched{t: t, fleet: f}
	var working sync.WaitGroup
	defer func() {
		w.ended.Store(true)
		working.Wait()
	}()
	clients := make([]*worker, 4)
	for i := range clients {
		clients[i] = &worker{all: w, name: "worker:" + strconv.Itoa(i)}
		working.Go(clients[i].work)
	}
	for i := range count {
		w.goesOn()
		old, back := leader, leader.Start
		if i%2 == 0 {
			old.Kill()
		} else {
			old.Pause()
			back = old.GoOn
		}
		leader = f.Successor(old)
		back()
		f.Steady(leader)
	}
	w.goesOn()
	w.ended.Store(true)
	working.Wait()
	f.Same(leader)
	w.report()
	for _, c := range clients {
		c.check(leader)
	}
	checkEntries(t, leader, clients)
	left, err := strconv.Atoi(leader.Try("GET", "seckill:stock:sale").Str)
	require.NoError(t, err)
	require.EqualValues(t, stock, int64(left)+leader.Try("HLEN", "seckill:orders:sale").Int, "what is left, and what is sold")
	t.Logf("%d failovers, %d acknowledged", count, w.acknowledged.Load())
}

// watched holds what is known about all workers.
type watched struct {
	t            *testing.T
	fleet        *fleet.Fleet
	ended        atomic.Bool
	acknowledged atomic.Int64
	highest      atomic.Int64 // the highest acknowledged token
	holders      atomic.Int64 // holders of the lock that all use
	permits      atomic.Int64 // users of the semaphore that all use
	mu           sync.Mutex
	wrong        []string
}

// goesOn waits until more writes have been acknowledged.
func (w *watched) goesOn() {
	w.t.Helper()
	enough := w.acknowledged.Load() + 200
	eventually(w.t, "clients go on", func() bool { return w.acknowledged.Load() >= enough })
	w.report()
}

func (w *watched) complain(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

func (w *watched) report() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(w.t, w.wrong)
}

// worker is a client with its acknowledged writes.
type worker struct {
	all     *watched
	name    string
	client  *testkit.Client // nil if not connected
	counter int64
	turn    int64 // token of its last hold of the shared lock
	pushed  []string
	locks   []lock
	orders  []string
	entries map[string]entry // delayed entries
}

// entry is a delayed entry. acknowledged means that DELAY.ADD has replied.
type entry struct {
	dueMS        int64
	acknowledged bool
}

type lock struct {
	key   string
	token int64
}

// connect asks the Sentinels for the leader, and connects to it. It returns false if that is not possible.
func (c *worker) connect() bool {
	for _, s := range c.all.fleet.Sentinels {
		leader := c.all.fleet.Leader(s)
		if leader == nil {
			continue
		}
		if conn, err := net.DialTimeout("tcp", leader.Addr(), time.Second); err == nil {
			c.client = testkit.NewClient(c.all.t, conn)
			c.client.Timeout = time.Second // for a leader that is paused, or has no replica
			return true
		}
	}
	return false
}

// ask runs a command. It returns false if the result is unknown.
func (c *worker) ask(args ...string) (reply string, answered bool) {
	if c.client == nil && !c.connect() {
		time.Sleep(10 * time.Millisecond) // a failover is under way
		return "", false
	}
	v, err := c.client.Call(args...)
	if err != nil || v.IsError() { // -READONLY, -LOADING, -UNBLOCKED
		c.client.Close()
		c.client = nil
		return "", false
	}
	c.all.acknowledged.Add(1)
	return v.String(), true
}

// work works until the test ends.
func (c *worker) work() {
	for n := 0; !c.all.ended.Load(); n++ {
		c.count()
		if word := strconv.Itoa(n); c.acked("RPUSH", c.name+":list", word) {
			c.pushed = append(c.pushed, word)
		}
		key := fmt.Sprintf("%s:lock:%d", c.name, n)
		if token := c.take(key); token != 0 {
			c.locks = append(c.locks, lock{key, token})
		}
		c.buy(fmt.Sprintf("%s:order:%d", c.name, n))
		c.takeTurns()
		c.takePermit()
		c.delay(n)
	}
}

// delay adds an entry to a stream, due a little later.
func (c *worker) delay(n int) {
	id, dueMS := fmt.Sprintf("%s:%d", c.name, n), time.Now().UnixMilli()+int64(n*37%3000)
	if c.entries == nil {
		c.entries = make(map[string]entry)
	}
	reply, answered := c.ask("DELAY.ADD", "delayed", "AT", strconv.FormatInt(dueMS, 10), "ID", id, "id", id)
	c.entries[id] = entry{dueMS, answered}
	if answered && reply != strconv.Quote(id) {
		c.all.complain("%s: DELAY.ADD says %s", id, reply)
	}
}

// checkEntries: each acknowledged entry is in the stream once, and not early. An entry without
// acknowledgement is there at most once.
func checkEntries(t *testing.T, leader *fleet.Process, clients []*worker) {
	n := reach(t, leader.Addr())
	eventually(t, "all entries are added", func() bool { return n.Do("DELAY.COUNT", "delayed").String() == "0" })
	times := map[string]int{}
	added := map[string]int64{}
	for _, e := range n.Do("XRANGE", "delayed", "-", "+").Elems {
		id := e.Elems[1].Elems[1].Str
		times[id]++
		ms, _, _ := strings.Cut(e.Elems[0].Str, "-")
		var err error
		added[id], err = strconv.ParseInt(ms, 10, 64)
		require.NoError(t, err)
	}
	acknowledged := 0
	for _, c := range clients {
		for id, e := range c.entries {
			require.LessOrEqual(t, times[id], 1, "entry %s is there more than once", id)
			if e.acknowledged {
				acknowledged++
				require.Equal(t, 1, times[id], "entry %s was acknowledged", id)
			}
			require.True(t, times[id] == 0 || added[id] >= e.dueMS, "entry %s is early", id)
			delete(times, id)
		}
	}
	require.Empty(t, times, "entries that were not sent")
	t.Logf("%d delayed entries were acknowledged", acknowledged)
}

// takePermit acquires a permit of the semaphore that all use, if there is one, and releases it.
func (c *worker) takePermit() {
	const key, limit = "the semaphore of all", 2
	acquire := []string{"SEM.ACQUIRE", key, c.name, "LIMIT", strconv.Itoa(limit), "EX", "100000", "ONCE"}
	reply, answered := c.ask(acquire...)
	for !answered && !c.all.ended.Load() { // the lost reply may have been a grant
		reply, answered = c.ask(acquire...)
	}
	if !answered || reply == "$nil" {
		return
	}
	if n := c.all.permits.Add(1); n > limit {
		c.all.complain("%s has a permit, and so have %d others", c.name, n-1)
	}
	c.count()
	c.all.permits.Add(-1)
	for !c.acked("SEM.RELEASE", key, c.name) && !c.all.ended.Load() {
	}
}

// buy places an order; the user has the same name.
func (c *worker) buy(order string) {
	reply, answered := c.ask("SECKILL", "sale", order, order)
	if answered {
		c.orders = append(c.orders, order)
	}
	if answered && reply != "0" {
		c.all.complain("%s: SECKILL says %s", order, reply)
	}
}

func (c *worker) acked(args ...string) bool {
	_, answered := c.ask(args...)
	return answered
}

func (c *worker) count() {
	reply, answered := c.ask("INCR", c.name+":counter")
	if !answered {
		return
	}
	n, err := strconv.ParseInt(reply, 10, 64)
	if err != nil || n <= c.counter {
		c.all.complain("%s: the counter was %d, and is %s", c.name, c.counter, reply)
	}
	c.counter = n
}

// take locks its own key. The result is 0 if it is unknown.
func (c *worker) take(key string) int64 {
	highest := c.all.highest.Load()
	reply, answered := c.ask("LOCK", key, c.name, "EX", "100000")
	if !answered {
		return 0
	}
	token, err := strconv.ParseInt(reply, 10, 64)
	if err != nil || token <= highest {
		c.all.complain("%s: LOCK %s says %s, and somebody has been answered %d before", c.name, key, reply, highest)
	}
	c.saw(token)
	return token
}

func (c *worker) saw(token int64) {
	for {
		was := c.all.highest.Load()
		if token <= was || c.all.highest.CompareAndSwap(was, token) {
			return
		}
	}
}

// takeTurns takes the lock that all use, if it is free, and releases it.
func (c *worker) takeTurns() {
	const key = "the lock of all"
	reply, answered := c.ask("LOCK", key, c.name, "EX", "100000", "ONCE")
	for !answered && !c.all.ended.Load() { // the lost reply may have been a grant
		reply, answered = c.ask("LOCK", key, c.name, "EX", "100000", "ONCE")
	}
	if !answered || reply == "$nil" {
		return
	}
	token, err := strconv.ParseInt(reply, 10, 64)
	if err != nil || token <= c.turn {
		c.all.complain("%s: LOCK says %s after a turn with %d", c.name, reply, c.turn)
	}
	c.turn = token
	if n := c.all.holders.Add(1); n != 1 {
		c.all.complain("%s has the lock of all with %d, and so have %d others", c.name, token, n-1)
	}
	c.saw(token)
	c.count()
	c.all.holders.Add(-1)
	for !c.acked("UNLOCK", key, c.name) && !c.all.ended.Load() {
	}
}

// check checks that all acknowledged writes of the worker are there.
func (c *worker) check(leader *fleet.Process) {
	t, n := c.all.t, reach(c.all.t, leader.Addr())
	require.NotEmpty(t, c.pushed)
	require.NotEmpty(t, c.locks)
	at, err := strconv.ParseInt(n.Do("GET", c.name+":counter").Str, 10, 64)
	require.NoError(t, err)
	require.GreaterOrEqual(t, at, c.counter)
	there := map[string]bool{}
	for _, v := range n.Do("LRANGE", c.name+":list", "0", "-1").Elems {
		there[v.Str] = true
	}
	for _, word := range c.pushed {
		require.True(t, there[word], "%s: %s was acknowledged", c.name, word)
	}
	for _, order := range c.orders {
		require.Equal(t, "1", n.Do("HEXISTS", "seckill:orders:sale", order).String(), "%s was acknowledged", order)
	}
	for _, l := range c.locks {
		require.Equal(t, strconv.FormatInt(l.token, 10), n.Do("LOCK", l.key, c.name, "EX", "100000", "ONCE").String(), l.key)
	}
}
