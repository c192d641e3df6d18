package server

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// cacher is a client that tracks in some mode, with what it has in its cache by the rules of the mode.
type cacher struct {
	*testkit.Client
	t        testing.TB
	id       int64
	version  int
	mode     trackingMode
	cache    map[string]string
	redirect *cacher // gets the messages; nil: the client itself
	serves   *cacher // this one gets the messages for that client
	dropped  *int    // how many cached values messages have removed
}

// trackingMode is how a client tracks.
type trackingMode struct {
	options  []string
	optIn    bool
	optOut   bool
	noLoop   bool
	prefixes []string // of BCAST; nil: the default mode
}

// trackingModes are the modes, with and without NOLOOP.
func trackingModes() (all []trackingMode) {
	for _, m := range []trackingMode{
		{}, {options: []string{"OPTIN"}, optIn: true}, {options: []string{"OPTOUT"}, optOut: true},
		{options: []string{"BCAST"}, prefixes: []string{""}},
		{options: []string{"BCAST", "PREFIX", "k1", "PREFIX", "k2"}, prefixes: []string{"k1", "k2"}},
	} {
		all = append(all, m)
		m.options, m.noLoop = append(slices.Clone(m.options), "NOLOOP"), true
		all = append(all, m)
	}
	return all
}

// covers reports whether the client may keep what it reads of a key now.
func (m *trackingMode) covers(key string) bool {
	return m.prefixes == nil || slices.ContainsFunc(m.prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

// call runs a command. Messages that come before its reply are obeyed first.
func (c *cacher) call(args ...string) resp.Value {
	c.t.Helper()
	c.Send(args...)
	for {
		v := c.Receive()
		if !c.obey(v) {
			return v
		}
	}
}

// obey drops what a message invalidates; false: the value is no message.
func (c *cacher) obey(v resp.Value) bool {
	owner := c
	if c.serves != nil {
		owner = c.serves
	}
	switch {
	case len(v.Elems) == 0 || v.Kind != resp.Push && v.Kind != resp.Array:
		return false
	case v.Elems[0].Str == "invalidate" && v.Kind == resp.Push:
		owner.drop(v.Elems[1])
	case v.Elems[0].Str == "message":
		owner.drop(v.Elems[2])
	default:
		return false
	}
	return true
}

// drop takes keys out of the cache; null is all of them.
func (c *cacher) drop(keys resp.Value) {
	if keys.IsNull() {
		*c.dropped += len(c.cache)
		clear(c.cache)
	}
	for _, k := range keys.Elems {
		if _, had := c.cache[k.Str]; had {
			*c.dropped++
		}
		delete(c.cache, k.Str)
	}
}

// read reads a key in one of several ways, and keeps the value if the mode lets it.
func (c *cacher) read(rng *rand.Rand, key string) {
	keeps := c.mode.covers(key)
	said := rng.IntN(2) == 0
	switch {
	case c.mode.optIn && said:
		require.Equal(c.t, "+OK", c.call("CLIENT", "CACHING", "YES").String())
	case c.mode.optIn:
		keeps = false
	case c.mode.optOut && said:
		require.Equal(c.t, "+OK", c.call("CLIENT", "CACHING", "NO").String())
		keeps = false
	}
	var v resp.Value
	switch rng.IntN(3) {
	case 0:
		v = c.call("GET", key)
	case 1:
		v = c.call("MGET", "other", key).Elems[1]
	default:
		require.Equal(c.t, "+OK", c.call("MULTI").String())
		require.Equal(c.t, "+QUEUED", c.call("GET", key).String())
		v = c.call("EXEC").Elems[0]
	}
	if keeps {
		c.cache[key] = textOrGone(v)
	}
}

// textOrGone is a value as the model has it.
func textOrGone(v resp.Value) string {
	if v.IsNull() {
		return "(gone)"
	}
	return v.Str
}

// write changes keys in one of several ways. With NOLOOP a client drops by itself what it has changed.
func (c *cacher) write(rng *rand.Rand, key, other, value string) {
	changed := []string{key}
	switch rng.IntN(10) {
	case 0:
		c.call("DEL", key)
	case 1:
		c.call("SET", key, value, "PX", strconv.Itoa(1+rng.IntN(20)))
	case 2:
		c.call("EVAL", "redis.call('set',KEYS[1],ARGV[1]) return redis.call('append',KEYS[2],'+')", "2", key, other, value)
		changed = append(changed, other)
	case 3:
		c.call("MULTI")
		c.call("SET", key, value)
		c.call("GETDEL", other)
		c.call("EXEC")
		changed = append(changed, other)
	case 4:
		c.call("RENAME", key, other)
		changed = append(changed, other)
	case 5:
		c.call("MSET", key, value, other, value)
		changed = append(changed, other)
	case 6:
		if rng.IntN(5) == 0 {
			c.call([]string{"FLUSHALL", "FLUSHDB"}[rng.IntN(2)])
			clear(c.cache) // also with NOLOOP
		}
	case 7:
		c.call("LPUSH", "queue", key) // of a key that no client reads
	default:
		c.call("SET", key, value)
	}
	if c.mode.noLoop {
		for _, k := range changed {
			delete(c.cache, k)
		}
	}
}

// track turns tracking on in a mode, after it has been turned off.
func (c *cacher) track(m trackingMode) {
	require.Equal(c.t, "+OK", c.call("CLIENT", "TRACKING", "OFF").String())
	clear(c.cache)
	words := append([]string{"CLIENT", "TRACKING", "ON"}, m.options...)
	if c.redirect != nil {
		words = append(words, "REDIRECT", strconv.FormatInt(c.redirect.id, 10))
	}
	require.Equal(c.t, "+OK", c.call(words...).String(), "%v", words)
	c.mode = m
}

// newCacher connects a client.
func newCacher(t testing.TB, dial func() (net.Conn, error), version int, dropped *int) *cacher {
	t.Helper()
	c := &cacher{Client: testkit.Dial(t, dial), t: t, version: version, cache: map[string]string{}, dropped: dropped}
	if version == 3 {
		c.Hello(3)
	}
	c.id = c.call("CLIENT", "ID").Int
	return c
}

// TestCachesInAllModes: clients in all modes of CLIENT TRACKING read, change and cache keys. After a client
// has read its messages, each value in its cache equals the server's. A message is there before the reply
// to a later command of its client, so nothing has to be waited for.
func TestCachesInAllModes(t *testing.T) {
	t.Parallel()
	for _, tableKeys := range []int64{0, 4} {
		onATransport(t, Options{Clock: NewManualClock(time.UnixMilli(1_750_000_000_000))}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
			playTracking(t, srv, dial, tableKeys)
		})
	}
}

func playTracking(t *testing.T, srv *instance, dial func() (net.Conn, error), tableKeys int64) {
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 55))
	clock := srv.executor.Clock.(*ManualClock)
	observer := testkit.Dial(t, dial)
	require.Equal(t, "+OK", observer.Do("CONFIG", "SET", "tracking-table-max-keys", strconv.FormatInt(tableKeys, 10)).String())
	dropped := 0
	var trackers, all []*cacher
	for i, m := range trackingModes() {
		c := newCacher(t, dial, 3, &dropped)
		if i%2 == 1 { // another client gets the messages of each second one, in either version
			c.redirect = newCacher(t, dial, 2+i/2%2, &dropped)
			c.redirect.serves = c
			if c.redirect.version == 2 {
				c.redirect.call("SUBSCRIBE", "__redis__:invalidate")
			}
			all = append(all, c.redirect)
		}
		c.track(m)
		trackers, all = append(trackers, c), append(all, c)
	}
	keys := []string{"k1", "k11", "k2", "k25", "k3", "x", ""}
	hits := 0
	steps := 1500
	if testkit.Long() {
		steps = 30_000
	}
	for step := range steps {
		c, key := trackers[rng.IntN(len(trackers))], keys[rng.IntN(len(keys))]
		switch n := rng.IntN(100); {
		case n < 60:
			c.read(rng, key)
		case n < 97:
			c.write(rng, key, keys[rng.IntN(len(keys))], fmt.Sprint("v", step))
		case n < 98:
			clock.Advance(time.Duration(rng.IntN(10)) * time.Millisecond)
		default:
			modes := trackingModes()
			c.track(modes[rng.IntN(len(modes))])
		}
		if step%5 != 0 {
			continue
		}
		values := observer.Do(append([]string{"MGET"}, keys...)...).Elems // what is overdue goes now
		for _, c := range all {
			c.call("PING")
		}
		for i, key := range keys {
			for _, c := range trackers {
				if cached, ok := c.cache[key]; ok {
					hits++
					require.Equal(t, textOrGone(values[i]), cached, "step %d: key %q, mode %v, redirected: %v", step, key, c.mode.options, c.redirect != nil)
				}
			}
		}
	}
	require.Greater(t, hits, 500, "values are cached")
	require.Greater(t, dropped, 150, "and messages come")
}
