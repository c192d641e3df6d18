//go:build oracle

package interop

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

//go:embed testdata/lua
var scripts embed.FS

const (
	// latchMS is how long a release is remembered, in case its request is sent twice.
	latchMS = 16_000
	// unlocked is the message of a release.
	unlocked = "0"
)

// redisson plays steps as Redisson's clients do, on a real Redis. It represents all clients, and stores their
// state: the leases that they last asked for, which of them renew, which of them wait, and their clocks.
type redisson struct {
	*testkit.Client

	t       *testing.T
	kind    kind
	ear     *testkit.Client // subscribed to everything
	nowMS   int64
	leaseMS map[string]int64
	watched map[string]int64 // the time of the next renewal
	waits   map[string]int64 // the lease that a waiter asks for
	marks   int
}

// startRedisson begins a story on empty databases.
func startRedisson(t *testing.T, r *testkit.Redis, k kind) *redisson {
	t.Helper()
	rd := newRedisson(t, r, k)
	require.Equal(t, "+OK", rd.Do("FLUSHALL").String())
	if k == fenced {
		rd.Do("SET", tokenKey, strconv.Itoa(tokensBefore))
	}
	return rd
}

func newRedisson(t *testing.T, r *testkit.Redis, k kind) *redisson {
	t.Helper()
	rd := &redisson{Client: r.Client(t), t: t, kind: k, ear: r.Client(t), nowMS: 1_750_000_000_000,
		leaseMS: map[string]int64{}, watched: map[string]int64{}, waits: map[string]int64{}}
	rd.ear.Do("PSUBSCRIBE", "*")
	return rd
}

// eval runs a script of testdata/lua.
func (rd *redisson) eval(script string, keys []string, args ...any) resp.Value {
	rd.t.Helper()
	text, err := scripts.ReadFile("testdata/lua/" + script + ".lua")
	require.NoError(rd.t, err)
	command := append([]string{"EVAL", string(text), strconv.Itoa(len(keys))}, keys...)
	for _, arg := range args {
		command = append(command, fmt.Sprint(arg))
	}
	v := rd.Do(command...)
	require.False(rd.t, v.IsError(), "%s: %s", script, v)
	return v
}

// do plays a step and returns the observation after it.
func (rd *redisson) do(st step) observation {
	rd.t.Helper()
	o := observation{reply: rd.play(st)}
	o.grants = rd.wake()
	look(rd.t, rd.Client, &o)
	for owner := range rd.watched {
		if strings.Contains(o.lock, " "+owner+"=") {
			o.watched, o.leaseMS = true, 0 // the time of the last renewal does not matter
		}
	}
	for _, v := range rd.Do("LRANGE", queueKey, "0", "-1").Elems {
		o.waiting = append(o.waiting, v.Str)
	}
	rd.marks++
	o.published = heard(rd.t, rd.Client, rd.ear, "mark "+strconv.Itoa(rd.marks))
	return o
}

func (rd *redisson) play(st step) string {
	rd.t.Helper()
	switch st.verb {
	case "acquire":
		return rd.acquire(st.owner, st.ms, false)
	case "wait":
		return rd.acquire(st.owner, st.ms, true)
	case "watch":
		reply := rd.acquire(st.owner, watchdogMS, false)
		if _, already := rd.watched[st.owner]; reply == "got" && !already {
			rd.watched[st.owner] = rd.nowMS + watchdogMS/3
		}
		return reply
	case "leave":
		require.EqualValues(rd.t, 1, rd.eval("fair_leave", []string{queueKey, patienceKey}, st.owner, lineMS).Int)
		delete(rd.waits, st.owner)
		return "left"
	case "release":
		return rd.release(st.owner)
	case "renew":
		rd.leaseMS[st.owner] = st.ms
		answers := rd.eval("renew", []string{key}, st.ms, st.owner).Elems
		require.Len(rd.t, answers, 1)
		return meaning(rd.t, answers[0], "", "not renewed", "renewed")
	case "force":
		clear(rd.watched)
		return meaning(rd.t, rd.eval("force", []string{key, channel}, unlocked, "publish"), "", "free", "forced")
	case "delete":
		rd.Do("DEL", key)
		return "deleted"
	case "elapse":
		rd.elapse(st.ms)
		return "-"
	}
	require.Fail(rd.t, "no such step", st.verb)
	return ""
}

func (rd *redisson) acquire(owner string, ms int64, waits bool) string {
	rd.t.Helper()
	ttl := rd.Do("PTTL", key).Int
	var v resp.Value
	switch rd.kind {
	case fenced:
		pair := rd.eval("fenced_acquire", []string{key, tokenKey}, ms, owner).Elems
		require.Len(rd.t, pair, 2)
		if pair[0].Int != -1 {
			require.EqualValues(rd.t, -1, pair[1].Int)
			v = pair[0]
		} else {
			require.Equal(rd.t, rd.Do("GET", tokenKey).Str, strconv.FormatInt(pair[1].Int, 10))
			v.Kind = resp.Null
		}
	case fair:
		v = rd.eval("fair_acquire", []string{key, queueKey, patienceKey}, ms, owner, lineMS, rd.nowMS, map[bool]int{true: 1}[waits])
	default:
		v = rd.eval("rlock_acquire", []string{key}, ms, owner)
	}
	if v.IsNull() {
		rd.leaseMS[owner] = ms
		delete(rd.waits, owner)
		return "got"
	}
	require.Equal(rd.t, resp.Integer, v.Kind, "%s", v)
	if waits {
		rd.waits[owner] = ms
		return "queued"
	}
	if rd.kind != fair {
		require.InDelta(rd.t, ttl, v.Int, toleranceMS, "who is refused learns how long the lease lasts")
	}
	return "refused"
}

func (rd *redisson) release(owner string) string {
	rd.t.Helper()
	latch := fmt.Sprintf("%s%016x%016x", latchPrefix, rand.Uint64(), rand.Uint64())
	lease := rd.leaseMS[owner]
	if lease == 0 {
		lease = watchdogMS
	}
	again := func() resp.Value {
		switch rd.kind {
		case spin:
			return rd.eval("spin_release", []string{key, latch}, lease, owner, latchMS)
		case fair:
			return rd.eval("fair_release", []string{key, queueKey, patienceKey, channel, latch}, unlocked, lease, owner, rd.nowMS,
				"publish", latchMS)
		}
		return rd.eval("rlock_release", []string{key, channel, latch}, unlocked, lease, owner, "publish", latchMS)
	}
	v := again()
	if !v.IsNull() {
		require.Equal(rd.t, v, again(), "a request that is sent twice")
		rd.Do("DEL", latch)
	}
	reply := meaning(rd.t, v, "not held", "kept", "released")
	if reply != "kept" {
		delete(rd.watched, owner)
	}
	return reply
}

// elapse lets time pass: leases get shorter, watchdogs renew, and ended leases are removed.
func (rd *redisson) elapse(ms int64) {
	rd.t.Helper()
	for end := rd.nowMS + ms; rd.nowMS < end; {
		to := end
		for _, at := range rd.watched {
			to = min(to, at)
		}
		if ttl := rd.Do("PTTL", key).Int; ttl > 0 {
			shorten(rd.t, rd.Client, ttl-(to-rd.nowMS))
		}
		rd.nowMS = to
		for _, owner := range sorted(rd.watched) {
			if rd.watched[owner] > rd.nowMS {
				continue
			}
			rd.watched[owner] = rd.nowMS + watchdogMS/3
			if rd.eval("renew", []string{key}, watchdogMS, owner).Elems[0].Int == 0 {
				delete(rd.watched, owner)
			}
		}
	}
}

// shorten makes the lease end after ms milliseconds, or at once if that is at most toleranceMS. So after a
// step of the sequence either nothing is left of it, or seconds.
func shorten(t *testing.T, c *testkit.Client, ms int64) {
	t.Helper()
	if ms > toleranceMS {
		c.Do("PEXPIRE", key, strconv.FormatInt(ms, 10))
		return
	}
	c.Do("PEXPIRE", key, "1")
	eventually(t, func() bool { return c.Do("EXISTS", key).Int == 0 }, "the lease should end")
}

// wake does what waiters do after a message of a release, or when it is time to look again: they try.
func (rd *redisson) wake() (grants []string) {
	rd.t.Helper()
	for {
		if rd.Do("EXISTS", key).Int == 1 {
			return grants
		}
		head := rd.Do("LINDEX", queueKey, "0")
		if head.IsNull() {
			return grants
		}
		for _, owner := range sorted(rd.waits) { // the order does not matter: only the head can get it
			if got := rd.acquire(owner, rd.waits[owner], true) == "got"; got {
				require.Equal(rd.t, head.Str, owner)
				grants = append(grants, owner)
			}
		}
	}
}

func sorted(m map[string]int64) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

func eventually(t *testing.T, is func() bool, what string) {
	t.Helper()
	require.Eventually(t, is, soon, time.Millisecond, what)
}
