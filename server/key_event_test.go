package server

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/internal/keyevent"
	"lockserver/tests/testkit"
)

// eventsOf returns what a listener to __keyevent@*__:* has heard since the last call: "event key".
func eventsOf(t *testing.T, listener, other *testkit.Client) []string {
	t.Helper()
	other.Do("PUBLISH", "__keyevent@0__:end", "")
	var events []string
	for {
		v := listener.Receive()
		_, event, _ := strings.Cut(v.Elems[2].Str, "__:")
		if event == "end" {
			return events
		}
		if db := strings.TrimPrefix(v.Elems[2].Str, "__keyevent@"); db[0] != '0' {
			event = db[:1] + " " + event
		}
		events = append(events, event+" "+v.Elems[3].Str)
	}
}

func startListening(t *testing.T, classes string) (srv *instance, clock *ManualClock, listener, c *testkit.Client) {
	clock = NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv = startWith(t, Options{Clock: clock}, func(c *config.Config) {
		c.NotifyKeyspaceEvents, _ = keyevent.Parse(classes)
	})
	listener, c = client(t, srv), client(t, srv)
	listener.Do("PSUBSCRIBE", "__keyevent@*__:*")
	return srv, clock, listener, c
}

func TestEventsOfLocks(t *testing.T) {
	t.Parallel()
	srv, clock, l, a := startListening(t, "EA")
	b := client(t, srv)
	require.Empty(t, eventsOf(t, l, a))
	a.Do("LOCK", "k", "a", "PX", "1000")
	a.Do("LOCK", "k", "a", "PX", "1000")
	b.Do("LOCK", "k", "b")
	require.Equal(t, []string{"lock k", "relock k"}, eventsOf(t, l, a))
	a.Do("RENEW", "k", "a", "PX", "2000")
	a.Do("RENEW", "k", "b")
	a.Do("UNLOCK", "k", "a")
	b.Send("LOCK", "k", "b", "WAIT", "0")
	awaitParked(t, srv, 1)
	require.Equal(t, []string{"renew k", "unlock k"}, eventsOf(t, l, a))
	a.Do("UNLOCK", "k", "a")
	b.Receive()
	require.Equal(t, []string{"unlock k", "del k", "lock k"}, eventsOf(t, l, a))
	clock.Advance(10 * time.Second)
	require.Equal(t, []string{"renew k"}, eventsOf(t, l, a), "the watchdog")
	a.Do("LOCK.FORCE", "k")
	a.Do("MLOCK", "2", "m", "n", "a", "PX", "100")
	a.Do("MUNLOCK", "2", "m", "n", "b")
	require.Equal(t, []string{"unlock k", "del k", "lock m", "lock n"}, eventsOf(t, l, a))
	clock.Advance(time.Second)
	require.ElementsMatch(t, []string{"expired m", "expired n"}, eventsOf(t, l, a))

	b.Do("SUBSCRIBE", "redisson_lock__channel:{k}")
	a.Do("LOCK", "k", "a")
	a.Do("UNLOCK", "k", "a")
	require.Equal(t, `["message" "redisson_lock__channel:{k}" "0"]`, b.Receive().String())
}

func TestEventsOfSales(t *testing.T) {
	t.Parallel()
	_, _, l, c := startListening(t, "EA")
	c.Do("SET", "seckill:stock:1", "1")
	require.Equal(t, "0", c.Do("SECKILL", "1", "u", "o").String())
	require.Equal(t, "1", c.Do("SECKILL", "1", "v", "p").String())
	require.Equal(t, []string{"set seckill:stock:1", "seckill seckill:stock:1", "incrby seckill:stock:1", "sadd seckill:order:1",
		"xadd stream.orders"}, eventsOf(t, l, c))
}

// Commands newer than Redis 7.0 send the events that the documentation of their first version names.
func TestEventsOfNewerCommands(t *testing.T) {
	t.Parallel()
	_, clock, l, c := startListening(t, "EA")
	for _, step := range []struct{ command, events string }{
		{"HSET h a 1 b 2 c 3 d 4", "hset h"},
		{"HEXPIRE h 10 FIELDS 2 a b", "hexpire h"},
		{"HEXPIRE h 10 NX FIELDS 1 a", ""},
		{"HEXPIRE h 10 FIELDS 1 nothing", ""},
		{"HPERSIST h FIELDS 2 a c", "hpersist h"},
		{"HPERSIST h FIELDS 1 a", ""},
		{"HPEXPIREAT h 1 FIELDS 1 c", "hdel h"},
		{"HGETEX h EX 100 FIELDS 1 a", "hexpire h"},
		{"HGETEX h PERSIST FIELDS 1 a", "hpersist h"},
		{"HGETEX h FIELDS 1 a", ""},
		{"HGETDEL h FIELDS 2 d nothing", "hdel h"},
		{"HSETEX h EX 100 FIELDS 1 e 5", "hset h,hexpire h"},
		{"HSETEX h FIELDS 1 e 5", "hset h"},
		{"HGETDEL h FIELDS 2 a e", "hdel h"},
		{"+10001ms", "hexpired h,del h"},
		{"HSET g a 1 b 2", "hset g"},
		{"HPEXPIRE g 5 FIELDS 1 a", "hexpire g"},
		{"+10ms", "hexpired g"},
		{"HPEXPIREAT g 1 FIELDS 1 b", "hdel g,del g"},
		{"MSETEX 2 a 1 b 2 EX 10", "set a,expire a,set b,expire b"},
		{"DELEX a IFEQ 2", ""},
		{"DELEX a IFEQ 1", "del a"},
		{"DELIFEQ b 2", "del b"},
		{"SET s 1 PXAT 1", "set s,expire s,expired s"},
	} {
		if d, err := time.ParseDuration(strings.TrimPrefix(step.command, "+")); err == nil {
			clock.Advance(d)
		} else {
			require.False(t, c.Do(strings.Fields(step.command)...).IsError(), step.command)
		}
		require.Equal(t, step.events, strings.Join(eventsOf(t, l, c), ","), step.command)
	}
}

// Which classes are published, and in which form, follows CONFIG SET at once.
func TestEventClasses(t *testing.T) {
	t.Parallel()
	srv, clock, l, c := startListening(t, "")
	k := client(t, srv)
	k.Do("PSUBSCRIBE", "__keyspace@*__:*")
	play := func() {
		c.Do("SET", "k", "v")
		c.Do("GET", "none")
		c.Do("EXPIRE", "k", "1")
		clock.Advance(2 * time.Second)
		c.Do("SELECT", "3")
		c.Do("HSET", "h", "f", "v")
		c.Do("DEL", "h")
		c.Do("SELECT", "0")
	}
	for _, tt := range []struct{ classes, events, keys string }{
		{"", "", ""},
		{"A", "", ""},
		{"KA", "", "k set,k expire,k expired,h hset,h del"},
		{"EA", "set k,expire k,expired k,3 hset h,3 del h", ""},
		{"KEx", "expired k", "k expired"},
		{"E$h", "set k,3 hset h", ""},
		{"Eg", "expire k,3 del h", ""},
		{"Kn", "", "k new,h new"},
		{"Em", "keymiss none", ""},
		{"Elzst", "", ""},
	} {
		require.Equal(t, "+OK", c.Do("CONFIG", "SET", "notify-keyspace-events", tt.classes).String())
		play()
		require.Equal(t, tt.events, strings.Join(eventsOf(t, l, c), ","), tt.classes)
		c.Do("PUBLISH", "__keyspace@0__:end", "end")
		var keys []string
		for {
			v := k.Receive()
			_, key, _ := strings.Cut(v.Elems[2].Str, "__:")
			if key == "end" {
				break
			}
			keys = append(keys, key+" "+v.Elems[3].Str)
		}
		require.Equal(t, tt.keys, strings.Join(keys, ","), tt.classes)
	}
}
