package commands

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/internal/waiting"
	"lockserver/store"
	"lockserver/store/hash"
	"lockserver/store/hll"
	"lockserver/store/list"
	"lockserver/store/set"
	"lockserver/store/stream"
	"lockserver/store/zset"
)

// fixture runs commands without a server: a store, a table, a clock that only the test moves, clients that
// may wait, and a host that records its calls.
//
//	f := newFixture(t, StringRows, KeyRows)
//	f.want(`"v"`, "GET", "k")          // a reply as resp.Value.String() writes it
//	f.advance(10)                      // milliseconds; keys expire and waits end at their times
//	f.client(2).do("LOCK", ...)        // another client; see fakeClient
type fixture struct {
	t        testing.TB
	store    *store.Store
	table    *Table
	settings Settings
	rand     *rand.Rand
	nowMS    int64
	since    int64 // when the server of delayed entries began, in milliseconds since 1970
	clients  map[int64]*fakeClient
	fakeHost
	ready []changedKey
}

// startMS is the time at which a fixture begins.
const startMS = 1_700_000_000_000

// newFixture returns a fixture with a table of the rows of these families: newFixture(t, StringRows,
// KeyRows).
func newFixture(t testing.TB, families ...func() []Row) *fixture {
	t.Helper()
	var groups [][]Row
	for _, rows := range families {
		groups = append(groups, rows())
	}
	f := &fixture{
		t: t,
		store: store.New(16, store.Limits{
			Hash:   hash.Limits{Entries: 512, Value: 64},
			Set:    set.Limits{IntsetEntries: 512, Entries: 128, Value: 64},
			ZSet:   zset.Limits{Entries: 128, Value: 64},
			List:   list.DefaultLimits(),
			Stream: stream.DefaultLimits(),
			HLL:    hll.DefaultLimits(),
		}),
		table:    NewTable(groups...),
		settings: Settings{MaxStringBytes: 512 << 20, LockWatchdogMS: 30_000},
		rand:     rand.New(rand.NewPCG(1, 2)),
		nowMS:    startMS,
		clients:  map[int64]*fakeClient{},
	}
	f.store.SetNow(f.nowMS * 1000)
	f.store.Record(true)
	f.store.SetObserver((*keyObserver)(f))
	return f
}

// fakeClient is one session of a fixture.
type fakeClient struct {
	f     *fixture
	id    int64
	proto int
	db    *store.DB
	// noBlock means that waits time out at once, as in a transaction.
	noBlock bool
	// replies holds the replies after waits, oldest first; answer removes them.
	replies []resp.Value
}

// ID implements Session.
func (cl *fakeClient) ID() int64 { return cl.id }

// client returns the client with an id. The first call creates it, with RESP2 and database 0.
func (f *fixture) client(id int64) *fakeClient {
	if f.clients[id] == nil {
		f.clients[id] = &fakeClient{f: f, id: id, proto: 2, db: f.store.DB(0)}
	}
	return f.clients[id]
}

// do runs a command for client 1.
func (f *fixture) do(args ...string) resp.Value {
	return f.client(1).do(args...)
}

// want runs a command for client 1 and requires its reply, in the form of resp.Value.String.
func (f *fixture) want(reply string, args ...string) {
	f.t.Helper()
	f.client(1).want(reply, args...)
}

func (cl *fakeClient) want(reply string, args ...string) {
	if got := cl.do(args...).String(); got != reply {
		cl.f.t.Helper()
		require.Equal(cl.f.t, reply, got, "%q", args)
	}
}

// do runs one command and then everything that it caused for other clients. The reply of a command that waits
// has Kind 0.
func (cl *fakeClient) do(args ...string) resp.Value {
	cl.f.t.Helper()
	require.False(cl.f.t, cl.f.isParked(cl), "client %d is still waiting", cl.id)
	reply := cl.run(words(args...))
	cl.f.serveWaiters()
	return reply
}

// answer returns the oldest reply that came after a wait, and removes it.
func (cl *fakeClient) answer() resp.Value {
	cl.f.t.Helper()
	require.NotEmpty(cl.f.t, cl.replies, "client %d has no answer yet", cl.id)
	v := cl.replies[0]
	cl.replies = cl.replies[1:]
	return v
}

// run does what the executor does with one command, and what a session does with HELLO and SELECT.
func (cl *fakeClient) run(argv [][]byte) resp.Value {
	f := cl.f
	if name := strings.ToUpper(string(argv[0])); name == "HELLO" || name == "SELECT" {
		n, err := strconv.Atoi(string(argv[1]))
		require.NoError(f.t, err)
		if name == "HELLO" {
			cl.proto = n
		} else {
			cl.db = f.store.DB(n)
		}
		return resp.Value{Kind: resp.Simple, Str: "OK"}
	}
	row, err := f.table.Resolve(argv)
	if f.table.Lookup(argv[0]) == nil && len(argv) > 2 {
		if v, ok := cl.plant(argv); ok {
			return v
		}
	}
	c := cl.context(argv, row)
	waiting := len(f.parked)
	if err == nil {
		err = row.Run(c)
	}
	if len(f.parked) > waiting {
		for _, word := range argv { // so that a slice that still points into it shows up
			clear(word)
		}
		require.NoError(f.t, err)
		require.Zero(f.t, c.Out.Len(), "a command that waits has not replied")
		return resp.Value{}
	}
	return f.reply(c, err)
}

func (cl *fakeClient) context(argv [][]byte, row *Row) *Ctx {
	f := cl.f
	return &Ctx{Argv: argv, Row: row, Table: f.table, Out: &resp.Writer{Proto: cl.proto}, DB: cl.db, Rand: f.rand,
		Session: cl, Host: f, Queues: f, Settings: &f.settings, MayBlock: !cl.noBlock}
}

// reply reads the reply of a command, or its error.
func (f *fixture) reply(c *Ctx, err error) resp.Value {
	if err != nil {
		c.Out.Rollback(0)
		c.Out.Error(err.Error())
	}
	in := bufio.NewReader(bytes.NewReader(c.Out.Buf))
	v, err := resp.ReadValue(in)
	if err != nil || in.Buffered() > 0 { // t.Helper takes time, and tests run a million commands
		f.t.Helper()
		require.NoError(f.t, err, "%q", c.Argv)
		require.Zero(f.t, in.Buffered(), "%q replied more than once", c.Argv)
	}
	return v
}

// plant creates a value of a type without a family in the table by HSET, SADD or XADD, for tests of wrong
// types.
func (cl *fakeClient) plant(argv [][]byte) (resp.Value, bool) {
	key := argv[1]
	name := strings.ToUpper(string(argv[0]))
	kind := map[string]store.Kind{"HSET": store.Hash, "SADD": store.Set, "XADD": store.Stream}[name]
	if kind != store.None && !cl.db.Peek(key).Is(kind) {
		return resp.Value{Kind: resp.Error, Str: ErrWrongType.Error()}, true
	}
	switch name {
	case "HSET":
		e := cl.db.EditHash(key)
		n := 0
		for i := 2; i < len(argv); i += 2 {
			if e.Set(argv[i], argv[i+1]) {
				n++
			}
		}
		return resp.Value{Kind: resp.Integer, Int: int64(n)}, true
	case "SADD":
		e := cl.db.EditSet(key)
		n := 0
		for _, member := range argv[2:] {
			if e.Add(member) {
				n++
			}
		}
		return resp.Value{Kind: resp.Integer, Int: int64(n)}, true
	case "XADD":
		ms, seq, _ := strings.Cut(string(argv[2]), "-")
		id := stream.ID{MS: mustUint(cl.f.t, ms), Seq: mustUint(cl.f.t, seq)}
		e := cl.db.EditStream(key)
		e.Add(id, argv[3:])
		return resp.Value{Kind: resp.Bulk, Str: string(argv[2])}, true
	}
	return resp.Value{}, false
}

func mustUint(t testing.TB, s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	require.NoError(t, err)
	return n
}

// advance moves the clock, and stops at every time at which a key expires or a wait ends.
func (f *fixture) advance(ms int64) {
	f.t.Helper()
	for end := f.nowMS + ms; ; {
		f.nowMS = min(end, max(f.nowMS, f.nextEventMS(end)))
		f.store.SetNow(f.nowMS * 1000)
		for f.store.ExpireDue(100) {
		}
		f.serveWaiters()
		f.timeOut()
		if f.nowMS == end && f.nextEventMS(end+1) > end {
			return
		}
	}
}

// nextEventMS returns the next time at which a key expires or a wait ends, but at most otherwise.
func (f *fixture) nextEventMS(otherwise int64) int64 {
	next := otherwise
	if at, ok := f.store.NextDeadlineMS(); ok {
		next = min(next, at)
	}
	for _, p := range f.parked {
		if p.wait.DeadlineMS != 0 {
			next = min(next, p.wait.DeadlineMS)
		}
	}
	return next
}

// effects returns the effects since the last call, each as a line: "0 SET k v".
func (f *fixture) effects() []string {
	var lines []string
	for _, e := range f.store.TakeEffects() {
		line := strconv.Itoa(e.DB)
		for _, arg := range e.Args {
			line += " " + string(arg)
		}
		lines = append(lines, line)
	}
	return lines
}

// allocsOf returns the number of allocations of one run of a command; the reply's buffer and the context are
// reused.
func (f *fixture) allocsOf(args ...string) float64 {
	f.t.Helper()
	f.store.Record(false)
	f.store.SetObserver(nil)
	argv := words(args...)
	row, err := f.table.Resolve(argv)
	require.NoError(f.t, err)
	c := f.client(1).context(argv, row)
	require.NoError(f.t, row.Run(c))
	return testing.AllocsPerRun(100, func() {
		c.Out.Rollback(0)
		if err := row.Run(c); err != nil {
			f.t.Error(err)
		}
	})
}

// keyObserver records the changed keys for the waiters.
type keyObserver fixture

type changedKey struct {
	db  int
	key string // empty with all set
	all bool
}

// HolderChanged implements store.Observer.
func (o *keyObserver) HolderChanged(db int, key, _ []byte) { o.KeyChanged(db, key) }

func (o *keyObserver) KeyReady(db int, key []byte) { o.KeyChanged(db, key) }

func (o *keyObserver) KeyChanged(db int, key []byte) {
	o.ready = append(o.ready, changedKey{db: db, key: string(key)})
}

func (o *keyObserver) DatabaseChanged(db int) {
	o.ready = append(o.ready, changedKey{db: db, all: true})
}

// fakeHost is the part of a fixture that implements Services.
type fakeHost struct {
	parked    []*parkedWait
	trying    *parkedWait // the wait that is being tried
	lastToken int64
	idSecond  int64
	renewals  map[string]renewal // by key
	published []string           // "channel message", oldest first
	// restricted means that the client may only read keys that begin with m.
	restricted bool
	retries    []string // "key milliseconds", oldest first
	events     []string // "event key", oldest first
	// staleTokens is the number of commands with a token that was not that of the lock.
	staleTokens int
}

type renewal struct {
	session int64
	owner   string
	token   int64
}

type parkedWait struct {
	client *fakeClient
	db     *store.DB
	argv   [][]byte
	row    *Row
	wait   Wait
	call   Waiting
}

func (h *fakeHost) Park(c *Ctx, w Wait) error {
	argv := make([][]byte, len(c.Argv))
	for i, arg := range c.Argv {
		argv[i] = Clone(arg)
	}
	call := w.Waits()
	w.Keys, w.Owner = CloneAll(w.Keys), Clone(w.Owner)
	h.parked = append(h.parked, &parkedWait{c.Session.(*fakeClient), c.DB, argv, c.Row, w, call})
	return nil
}

func (h *fakeHost) NextToken(floor int64) int64 {
	h.lastToken = max(h.lastToken, floor) + 1
	return h.lastToken
}

func (h *fakeHost) Held(c *Ctx, key, owner []byte, token int64, renewed bool, _ uint64) (record uint64) {
	if !renewed {
		h.StopRenewing(c, key)
		return uint64(c.Session.ID())
	}
	if h.renewals == nil {
		h.renewals = map[string]renewal{}
	}
	h.renewals[string(key)] = renewal{c.Session.ID(), string(owner), token}
	return uint64(c.Session.ID())
}

func (h *fakeHost) Released(c *Ctx, key []byte, _ bool) bool {
	h.StopRenewing(c, key)
	return true
}

func (h *fakeHost) KeyEvent(_ *store.DB, event string, key []byte) {
	h.events = append(h.events, event+" "+string(key))
}

// Publish records the message, and has no receivers.
func (h *fakeHost) Publish(channel, message []byte) int64 {
	h.published = append(h.published, string(channel)+" "+string(message))
	return 0
}

func (h *fakeHost) TellFirst(*Ctx) {}

func (h *fakeHost) Emptied() {}

func (h *fakeHost) TryAgainAt(_ *Ctx, key []byte, atMS int64) {
	h.retries = append(h.retries, fmt.Sprint(string(key), " ", atMS))
}

// AnyoneListens returns true, so that commands publish.
func (h *fakeHost) AnyoneListens() bool { return true }

func (h *fakeHost) Nested(c *Ctx, row *Row, argv [][]byte) error {
	inner := *c
	inner.Row, inner.Argv, inner.MayBlock = row, argv, false
	return row.Run(&inner)
}

func (h *fakeHost) RisingSecond(nowS int64) int64 {
	h.idSecond = max(h.idSecond, nowS)
	return h.idSecond
}

func (h *fakeHost) ReadsEverything(*Ctx) bool { return !h.restricted }

func (h *fakeHost) MayRead(_ *Ctx, key []byte) bool { return !h.restricted || key[0] == 'm' }

func (h *fakeHost) LockEvent(*Ctx)  {}
func (h *fakeHost) StaleToken(*Ctx) { h.staleTokens++ }

func (h *fakeHost) Unconfirmed(*Ctx, [][]byte, []byte) bool { return false }

func (h *fakeHost) Confirmed(*Ctx, []byte, []byte, int64) {}

func (h *fakeHost) StopRenewing(_ *Ctx, key []byte) { delete(h.renewals, string(key)) }

func (h *fakeHost) HeldShare(c *Ctx, key, owner []byte, token int64, renewed bool, was uint64) (record uint64) {
	return h.Held(c, append(append(Clone(key), ' '), owner...), owner, token, renewed, was)
}

func (h *fakeHost) ReleasedShare(_ *Ctx, key, owner []byte, _ bool) {
	delete(h.renewals, string(key)+" "+string(owner))
}

func (h *fakeHost) ForcedShare(c *Ctx, key, owner []byte) { h.ReleasedShare(c, key, owner, true) }

func (h *fakeHost) Awaited(db int, key []byte) bool {
	for _, p := range h.parked {
		if p.db.ID() == db && slices.ContainsFunc(p.wait.Keys, func(k []byte) bool { return bytes.Equal(k, key) }) {
			return p != h.trying
		}
	}
	return false
}

// LatchAwaited and LatchesBelow: no client waits for a latch here. Package server tests that.
func (h *fakeHost) LatchAwaited(int, []byte) int { return 0 }

func (h *fakeHost) LatchesBelow(int, uint64, int, func(*waiting.Queue)) uint64 { return 0 }

func (f *fixture) isParked(cl *fakeClient) bool {
	return slices.ContainsFunc(f.parked, func(p *parkedWait) bool { return p.client == cl })
}

// serveWaiters lets the waiters of changed keys try, until nothing changes any more.
func (f *fixture) serveWaiters() {
	f.t.Helper()
	for len(f.ready) > 0 {
		changed := f.ready
		f.ready = nil
		held := map[changedKey]bool{} // keys with a queue in which the head was not served
		for _, p := range slices.Clone(f.parked) {
			if p.concerns(changed) && !p.behind(held) {
				f.try(p, held)
			}
		}
	}
}

func (p *parkedWait) concerns(changed []changedKey) bool {
	return slices.ContainsFunc(changed, func(ch changedKey) bool {
		return ch.db == p.db.ID() && slices.ContainsFunc(p.wait.Keys, func(k []byte) bool {
			return (ch.all || string(k) == ch.key) && (p.wait.Kind == store.None || p.db.Peek(k).Kind() == p.wait.Kind)
		})
	})
}

// behind reports whether p must wait for another waiter before it in a queue.
func (p *parkedWait) behind(held map[changedKey]bool) bool {
	return p.wait.Queue && slices.ContainsFunc(p.wait.Keys, func(k []byte) bool {
		return held[changedKey{db: p.db.ID(), key: string(k)}]
	})
}

func (f *fixture) try(p *parkedWait, held map[changedKey]bool) {
	f.t.Helper()
	c := p.client.context(p.argv, p.row)
	c.DB = p.db
	f.trying = p
	done, err := p.call.Try(c)
	f.trying = nil
	if done || err != nil {
		f.unpark(p, c, err)
		return
	}
	require.Zero(f.t, c.Out.Len(), "not done, but replied")
	if p.wait.Queue {
		for _, k := range p.wait.Keys {
			held[changedKey{db: p.db.ID(), key: string(k)}] = true
		}
	}
}

func (f *fixture) unpark(p *parkedWait, c *Ctx, err error) {
	f.t.Helper()
	f.parked = slices.DeleteFunc(f.parked, func(q *parkedWait) bool { return q == p })
	p.client.replies = append(p.client.replies, f.reply(c, err))
	for _, k := range p.wait.Keys { // when a waiter leaves a queue the next one tries
		f.ready = append(f.ready, changedKey{db: p.db.ID(), key: string(k)})
	}
}

// timeOut ends the waits that have timed out.
func (f *fixture) timeOut() {
	f.t.Helper()
	for _, p := range slices.Clone(f.parked) {
		if p.wait.DeadlineMS != 0 && p.wait.DeadlineMS <= f.nowMS {
			c := p.client.context(p.argv, p.row)
			c.DB = p.db
			p.call.TimedOut(c)
			f.unpark(p, c, nil)
		}
	}
	f.serveWaiters()
}
