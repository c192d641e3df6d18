package commands

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store"
)

// TestHashExpireScript plays what Redis 7.4 and 8.0 document; each case says where.
func TestHashExpireScript(t *testing.T) {
	playDocumented(t, "testdata/hash_expire.script", HashRows, StringRows, KeyRows)
}

func newHashes(t testing.TB) *fixture {
	return newFixture(t, HashRows, StringRows, KeyRows, KeyspaceRows)
}

func TestHashFieldEffects(t *testing.T) {
	f := newHashes(t)
	at := func(ms int64) string { return strconv.FormatInt(f.nowMS+ms, 10) }
	for _, c := range []struct {
		args    []string
		effects []string
	}{
		{fields("HSET h a 1 b 2 c 3 d 4"), []string{"0 HSET h a 1 b 2 c 3 d 4"}},
		{fields("HEXPIRE h 10 FIELDS 3 a none b"), []string{"0 HPEXPIREAT h " + at(10_000) + " FIELDS 2 a b"}},
		{fields("HPEXPIRE h 10 NX FIELDS 2 a c"), []string{"0 HPEXPIREAT h " + at(10) + " FIELDS 1 c"}},
		{fields("HPEXPIRE h 10 NX FIELDS 1 a"), nil},
		{fields("HINCRBY h a 1"), []string{"0 HSET h a 2", "0 HPEXPIREAT h " + at(10_000) + " FIELDS 1 a"}},
		{fields("HINCRBYFLOAT h a 0.5"), []string{"0 HSET h a 2.5", "0 HPEXPIREAT h " + at(10_000) + " FIELDS 1 a"}},
		{fields("HINCRBY h d 1"), []string{"0 HSET h d 5"}},
		{fields("HSET h a 3"), []string{"0 HSET h a 3"}},
		{fields("HPERSIST h FIELDS 4 a b c none"), []string{"0 HPERSIST h FIELDS 2 b c"}},
		{fields("HPERSIST h FIELDS 1 b"), nil},
		{fields("HTTL h FIELDS 1 b"), nil},
		{fields("HGETEX h FIELDS 1 b"), nil},
		{fields("HGETEX h PX 7 FIELDS 2 b c"), []string{"0 HPEXPIREAT h " + at(7) + " FIELDS 2 b c"}},
		{fields("HGETEX h PERSIST FIELDS 1 b"), []string{"0 HPERSIST h FIELDS 1 b"}},
		{fields("HGETEX h PX 0 FIELDS 2 b none"), []string{"0 HDEL h b"}},
		{fields("HSETEX h EX 1 FIELDS 2 a 1 b 2"), []string{"0 HSET h a 1 b 2", "0 HPEXPIREAT h " + at(1000) + " FIELDS 2 a b"}},
		{fields("HSETEX h KEEPTTL FIELDS 2 a 5 d 6"),
			[]string{"0 HSET h a 5", "0 HPEXPIREAT h " + at(1000) + " FIELDS 1 a", "0 HSET h d 6"}},
		{fields("HSETEX h FNX EX 1 FIELDS 2 a 1 z 2"), nil},
		{fields("HSETEX h PXAT 1 FIELDS 2 a 1 z 2"), []string{"0 HSET h a 1 z 2", "0 HDEL h a z"}},
		{fields("HGETDEL h FIELDS 3 b none c"), []string{"0 HDEL h b c"}},
		{fields("HEXPIREAT h 1 FIELDS 2 none d"), []string{"0 DEL h"}},
		{fields("HSETEX h PX 0 FIELDS 1 a 1"), []string{"0 HSET h a 1", "0 DEL h"}},
	} {
		f.do(c.args...)
		require.Equal(t, c.effects, f.effects(), "%q", c.args)
	}
}

// TestHashFieldsDie: a field expires in its millisecond with or without an access, and leaves an effect. The
// hash is removed with its last field.
func TestHashFieldsDie(t *testing.T) {
	for _, lookedAt := range []bool{false, true} {
		f := newHashes(t)
		f.want("3", fields("HSET h a 1 b 2 c 3")...)
		f.want("[1]", fields("HPEXPIRE h 10 FIELDS 1 a")...)
		f.want("[1 1]", fields("HPEXPIRE h 20 FIELDS 2 b c")...)
		f.effects()
		pass := func(ms int64) {
			if !lookedAt {
				f.advance(ms)
				return
			}
			f.nowMS += ms
			f.store.SetNow(f.nowMS * 1000)
			f.do("HLEN", "h")
		}
		pass(10)
		require.Empty(t, f.effects())
		pass(1)
		require.Equal(t, []string{"0 HDEL h a"}, f.effects())
		require.Equal(t, int64(1), f.store.Stats().ExpiredFields)
		pass(10)
		require.Equal(t, []string{"0 HDEL h b", "0 DEL h"}, f.effects())
		require.Zero(t, f.store.DB(0).Len())
		require.Zero(t, f.store.DB(0).Keys().TimedHashes())
		_, any := f.store.NextDeadlineMS()
		require.False(t, any)
	}
}

// TestHashFieldsOverdue: an overdue field that is not removed yet does not exist for any command.
func TestHashFieldsOverdue(t *testing.T) {
	for _, c := range []struct{ call, reply string }{
		{"HGET h a", "$nil"}, {"HMGET h a b", `[$nil "2"]`}, {"HLEN h", "1"}, {"HSTRLEN h a", "0"}, {"HEXISTS h a", "0"},
		{"HGETALL h", `["b" "2"]`}, {"HKEYS h", `["b"]`}, {"HVALS h", `["2"]`}, {"HSCAN h 0", `["0" ["b" "2"]]`},
		{"HRANDFIELD h", `"b"`}, {"HRANDFIELD h 10", `["b"]`}, {"HRANDFIELD h -2", `["b" "b"]`}, {"HSET h a 5", "1"},
		{"HSETNX h a 5", "1"}, {"HINCRBY h a 5", "5"}, {"HINCRBYFLOAT h a 5", `"5"`}, {"HDEL h a", "0"},
		{"HTTL h FIELDS 1 a", "[-2]"}, {"HPERSIST h FIELDS 1 a", "[-2]"}, {"HEXPIRE h 10 FIELDS 1 a", "[-2]"},
		{"HGETEX h EX 10 FIELDS 1 a", "[$nil]"}, {"HGETDEL h FIELDS 1 a", "[$nil]"}, {"HSETEX h FXX FIELDS 1 a 5", "0"},
		{"HSETEX h FNX FIELDS 1 a 5", "1"}, {"HSETEX h KEEPTTL FIELDS 1 a 5", "1"},
		// A hash without remaining fields.
		{"EXISTS g", "0"}, {"TYPE g", "+none"}, {"HLEN g", "0"}, {"KEYS g", "[]"}, {"SCAN 0 MATCH g", `["0" []]`},
		{"TTL g", "-2"}, {"DEL g", "0"}, {"RENAME g x", "-ERR no such key"}, {"COPY g x", "0"}, {"RENAMENX h g", "1"},
		{"SET g v NX", "+OK"}, {"SET g v XX", "$nil"}, {"SET g v GET", "$nil"}, {"GET g", "$nil"}, {"HSETEX g FXX FIELDS 1 a 5", "0"},
		{"OBJECT ENCODING g", "$nil"}, {"APPEND g x", "1"}, {"PERSIST g", "0"}, {"EXPIRE g 10", "0"}, {"MOVE g 1", "0"},
	} {
		f := newHashes(t)
		f.do(fields("HSET h a 1 b 2")...)
		f.do(fields("HSET g a 1 b 2")...)
		f.do(fields("HPEXPIRE h 10 FIELDS 1 a")...)
		f.do(fields("HPEXPIRE g 10 FIELDS 2 a b")...)
		f.nowMS += 11 // not f.advance, which would remove them
		f.store.SetNow(f.nowMS * 1000)
		f.want(c.reply, fields(c.call)...)
		require.Less(t, f.do("HTTL", "h", "FIELDS", "1", "a").Elems[0].Int, int64(0), "%s has kept the deadline", c.call)
	}
}

// TestHashFieldAndKeyDeadline is Redis' test "Test HEXPIRE coexists with EXPIRE": each removes its own
// subject.
func TestHashFieldAndKeyDeadline(t *testing.T) {
	f := newHashes(t)
	f.do(fields("HSET h a 1 b 2")...)
	f.do(fields("HPEXPIRE h 10 FIELDS 1 a")...)
	f.do(fields("PEXPIRE h 20")...)
	f.advance(11)
	f.want(`["b"]`, "HKEYS", "h")
	f.want("9", "PTTL", "h")
	f.do(fields("HPEXPIRE h 1000 FIELDS 1 b")...)
	f.advance(10)
	f.want("0", "EXISTS", "h")
	require.Zero(t, f.store.DB(0).Keys().TimedHashes())
}

// TestHashFieldsLeaveTheQueue: when a hash is replaced or removed, in any way, its fields leave the queue.
func TestHashFieldsLeaveTheQueue(t *testing.T) {
	for _, call := range []string{"DEL h", "SET h v", "FLUSHDB", "FLUSHALL", "HDEL h a", "HDEL h a b", "HSET h a 1", "RENAME o h",
		"COPY o h REPLACE", "HPERSIST h FIELDS 1 a", "HGETDEL h FIELDS 1 a", "PEXPIRE h 0", "HPEXPIRE h 0 FIELDS 1 a",
		"MSET h v", "HSETEX h FIELDS 1 a 1", "HMSET h a 1"} {
		f := newHashes(t)
		f.do(fields("HSET h a 1 b 2")...)
		f.do("SET", "o", "v")
		f.do(fields("HPEXPIRE h 10 FIELDS 1 a")...)
		require.Equal(t, 1, f.store.DB(0).Keys().TimedHashes())
		f.do(fields(call)...)
		require.Zero(t, f.store.DB(0).Keys().TimedHashes(), call)
		_, any := f.store.NextDeadlineMS()
		require.False(t, any, call)
		f.effects()
		f.advance(20)
		require.Empty(t, f.effects(), call)
	}
}

// TestHashFieldsDieInSlices: fields that are due at the same time are removed in slices. A hash in two
// databases counts twice.
func TestHashFieldsDieInSlices(t *testing.T) {
	f := newHashes(t)
	for i := range 100 {
		f.do("HSET", "h", fmt.Sprint("f", i), "v")
		f.do("HPEXPIRE", "h", "10", "FIELDS", "1", fmt.Sprint("f", i))
	}
	f.do("HSET", "h", "stays", "v")
	f.do("COPY", "h", "h", "DB", "1")
	f.do("SWAPDB", "1", "2")
	f.store.SetNow((f.nowMS + 11) * 1000)
	slices := 0
	for more := true; more; slices++ {
		before := f.store.Stats().ExpiredFields
		more = f.store.ExpireDue(16)
		require.LessOrEqual(t, f.store.Stats().ExpiredFields-before, int64(16))
	}
	require.Greater(t, slices, 12)
	require.Equal(t, int64(200), f.store.Stats().ExpiredFields)
	for _, db := range []int{0, 2} {
		require.Equal(t, 1, f.store.DB(db).Peek([]byte("h")).Hash().Len())
		require.Zero(t, f.store.DB(db).Keys().TimedHashes())
	}
}

func TestHashWithoutDeadlinesAllocatesNothing(t *testing.T) {
	f := newHashes(t)
	f.do(fields("HSET h a 1 b 2")...)
	f.do(fields("HSET timed a 1 b 2")...)
	f.do(fields("HEXPIRE timed 100 FIELDS 1 a")...)
	for _, call := range []string{"HTTL h FIELDS 1 a", "HPERSIST h FIELDS 1 a", "HGETEX h FIELDS 1 a", "HGET timed a",
		"HTTL timed FIELDS 2 a b", "HINCRBY timed a 1", "HSET timed b 5", "HLEN timed"} {
		require.Zero(t, f.allocsOf(fields(call)...), call)
	}
}

// newReplay returns a fixture that plays effects like the replay of a journal: time does not remove keys.
func newReplay(f *fixture, effects []store.Effect) *fixture {
	g := newHashes(f.t)
	g.store.SetFrozenTime(true)
	g.nowMS = f.nowMS
	g.store.SetNow(g.nowMS * 1000)
	cl := g.client(1)
	for _, e := range effects {
		cl.db = g.store.DB(e.DB)
		reply := cl.run(e.Args)
		require.False(f.t, reply.IsError(), "%q: %s", e.Args, reply)
	}
	g.store.SetFrozenTime(false)
	return g
}
