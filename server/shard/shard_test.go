package shard

import (
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/persistence/disk"
	"lockserver/server/acl"
	"lockserver/server/clock"
	"lockserver/server/durability"
	"lockserver/server/stats"
	"lockserver/server/wait"
	"lockserver/store"
)

// world is a shard with a clock of its own and clients, and no server around it.
type world struct {
	wait.Server // the questions that no test here leads to have no answer
	durability.Program

	*Shard
	clock *clock.Manual
	last  int64
	woken []*wait.Party
}

// newWorld returns a shard that begins at a time.
func newWorld(at time.Time) *world {
	w := &world{Shard: new(Shard), clock: clock.NewManual(at)}
	w.Table = commands.NewTable(commands.Families()...)
	w.Stats.Size, w.Gauge.Timing = w.Table.Size(), stats.NewTiming(w.Table)
	w.Gauge.Configure(-1, 0)
	w.Gauge.ConfigureLogs(-1, -1, -1)
	w.Settings = commands.Settings{MaxStringBytes: 1 << 20, LockWatchdogMS: 30_000}
	c := config.Default()
	w.Open(Options{Clock: w.clock, Logger: slog.New(slog.DiscardHandler), Rand: rand.New(rand.NewPCG(1, 2)), Databases: 1,
		Server: serverOf{w}, Services: servicesOf{ShardServices: w.Shard, shard: w.Shard}, Waits: w, Durability: durability.Options{Program: w, Config: c, Files: disk.OS{}, Clock: w.clock}})
	w.Durable.BeginLoad(w.clock.NowUS())
	w.Begin()
	if err := w.Durable.EndLoad(); err != nil {
		panic(err)
	}
	w.Ticker.Begin()
	clock.Attach(w.clock, &w.Ticker)
	return w
}

// servicesOf are the services of commands in a world.
type servicesOf struct {
	commands.ShardServices
	commands.ServerServices
	shard *Shard
}

func (servicesOf) AnyoneListens() bool                { return false }
func (servicesOf) KeyEvent(*store.DB, string, []byte) {}
func (s servicesOf) Released(c *commands.Ctx, key []byte, forced bool) bool {
	s.shard.Waits.Watchdog.Released(c, key, forced)
	return false
}

// serverOf is a world as its shard sees the server.
type serverOf struct{ *world }

func (serverOf) Leave(*wait.Party)         {}
func (serverOf) HangUp(*wait.Party)        {}
func (s serverOf) Wake(all []*wait.Party)  { s.woken = append(s.woken, all...) }
func (serverOf) EndSlice()                 {}
func (serverOf) Beside() int               { return 0 }
func (serverOf) KeepHouse()                {}
func (serverOf) CommandPanicked()          {}
func (serverOf) Background(f func())       { go f() }
func (serverOf) Stop(int)                  {}
func (w *world) Observe()                  { w.Store.SetObserver(changes{w}) }
func (w *world) FollowEvents()             {}
func (w *world) ActNoMore()                {}
func (w *world) AnyoneListens() bool       { return false }
func (w *world) LeaseEnded(int, []byte)    {}
func (w *world) Renewed(*store.DB, []byte) {}
func (w *world) RunsFor(string) bool       { return false }

func (w *world) RefusesWaiter(*commands.Row) error { return nil }
func (w *world) Publish(_, _ []byte)               {}
func (w *world) Acquired(_, _ int64) *wait.Party   { return nil }
func (w *world) IsUser(*acl.User) bool             { return true }

// changes tells the queues of a world which keys have changed.
type changes struct{ *world }

func (c changes) KeyChanged(db int, key []byte)       { c.Waits.Queues.Changed(db, key) }
func (c changes) HolderChanged(db int, key, _ []byte) { c.Waits.Queues.Changed(db, key) }
func (c changes) KeyReady(db int, key []byte)         { c.Waits.Queues.Changed(db, key) }
func (c changes) DatabaseChanged(db int)              { c.Waits.Queues.DatabaseChanged(db) }

// client is the connection of a party without a network.
type client struct {
	wait.Connection
	shard *Shard
	party *wait.Party
}

func (c client) Resume(*commands.Row)                 { c.shard.Touch(c.party) }
func (c client) Answered(*wait.Parked, int)           {}
func (c client) TakeInbox()                           {}
func (c client) Muted() bool                          { return false }
func (c client) Permit(*commands.Row, [][]byte) error { return nil }
func (c client) Act()                                 {}
func (c client) HasRead(*commands.Row, [][]byte)      {}
func (c client) GuardPeer(int64)                      {}
func (c client) Heard() wait.Silence                  { return wait.Silence{} }

// connect returns a new client of the shard.
func (w *world) connect() *wait.Party {
	w.last++
	p := &wait.Party{Waits: &w.Waits, DB: w.Store.DB(0), Number: w.last, User: acl.Everyone()}
	p.Client, p.Out.Proto = client{shard: w.Shard, party: p}, 2
	return p
}

// run runs a command of a client as a slice, and returns the reply; empty: the client waits.
func (w *world) run(p *wait.Party, line string) string {
	var argv [][]byte
	for _, word := range strings.Fields(line) {
		argv = append(argv, []byte(word))
	}
	row, err := w.Table.Resolve(argv)
	if err != nil {
		return err.Error()
	}
	w.Do(func() {
		w.Prepare(&w.Ctx, p, row, argv)
		if err := w.Contain(row, func() error { return row.Run(&w.Ctx) }); err != nil {
			w.Refuse(p, 0, err)
		}
	})
	return w.reply(p)
}

// reply returns the output of a client since the last call.
func (w *world) reply(p *wait.Party) string {
	reply := string(p.Out.Buf)
	p.Out.Buf, p.Touched = nil, false
	return reply
}

// story runs a contended lock, a released one and one with a lease that ends, and returns all replies.
// between runs before each step.
func (w *world) story(between func()) (replies []string) {
	a, b, c := w.connect(), w.connect(), w.connect()
	say := func(reply string) {
		replies = append(replies, reply)
		between()
	}
	say(w.run(a, "SET door open"))
	say(w.run(a, "LOCK lock alice PX 10000"))
	say(w.run(b, "LOCK lock bob PX 1000 WAIT 5000"))
	say(w.run(c, "LOCK lock carol WAIT 8000"))
	say(w.run(a, "UNLOCK lock alice"))
	say(w.reply(b))
	w.clock.Advance(1001 * time.Millisecond) // the lease of bob ends
	say(w.reply(c))
	say(w.run(b, "LOCK lock bob WAIT 2000"))
	w.clock.Advance(2 * time.Second) // the wait of bob ends
	say(w.reply(b))
	return replies
}

// TestTwoShards: two shards live in one process without a server. Each has a clock of its own, and answers as
// a shard alone does, whatever the other one is asked meanwhile.
func TestTwoShards(t *testing.T) {
	noon := time.UnixMilli(1_790_000_000_000)
	alone := newWorld(noon).story(func() {})
	require.Len(t, alone, 9)
	require.Equal(t, []string{"+OK\r\n", "", ""}, []string{alone[0], alone[2], alone[3]})
	require.Equal(t, ":1\r\n", alone[4])
	require.Equal(t, "$-1\r\n", alone[8])
	for _, granted := range []int{1, 5, 6} {
		require.Regexp(t, `^:\d{10,}\r\n$`, alone[granted])
	}

	first, second := newWorld(noon), newWorld(noon)
	var other []string
	steps := 0
	mine := first.story(func() {
		if steps++; steps == 3 { // in the middle of the first story the second shard has a story of its own
			other = second.story(func() {})
			second.clock.Advance(time.Hour)
			require.Equal(t, noon.UnixMilli(), first.Clock.NowUS()/1000)
		}
	})
	require.Equal(t, alone, mine)
	require.Equal(t, alone, other)
	require.Equal(t, "$4\r\nopen\r\n", first.run(first.connect(), "GET door"))
	require.Equal(t, ":1\r\n", second.run(second.connect(), "DEL door"))
	require.Equal(t, "$4\r\nopen\r\n", first.run(first.connect(), "GET door"))
}
