package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/checkhistory"
	"lockserver/internal/keyslot"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// shardsCount is the number of shards in these tests.
const shardsCount = 3

// shardsWorld is a cluster with a password, a connection that inspects all of it, and a client of each shard.
type shardsWorld struct {
	cluster *server.Cluster
	clock   *server.ManualClock
	seen    *Server
	clients []*testkit.Client
}

func newShards(t *testing.T) *shardsWorld {
	t.Helper()
	w := &shardsWorld{clock: server.NewManualClock(time.UnixMilli(1_750_000_000_000))}
	var err error
	w.cluster, err = server.NewCluster(server.Options{Clock: w.clock, Version: "9.8.7", Directives: map[string]string{"requirepass": "pw"}}, shardsCount)
	require.NoError(t, err)
	require.NoError(t, w.cluster.Start())
	t.Cleanup(func() { _ = w.cluster.Close() })
	w.seen = connect(t, w.cluster.Shards()[1], "", "pw")
	for i := range shardsCount {
		w.clients = append(w.clients, w.client(t, i))
	}
	return w
}

func (w *shardsWorld) client(t *testing.T, shard int) *testkit.Client {
	t.Helper()
	c := client(t, w.cluster.Shards()[shard])
	require.Equal(t, "+OK", c.Do("AUTH", "pw").String())
	return c
}

// key is a key of a shard, counted from 0.
func (w *shardsWorld) key(shard int, name string) string {
	for i := 0; ; i++ {
		if key := fmt.Sprint(name, i); keyslot.Of([]byte(key))*shardsCount/keyslot.Count == shard {
			return key
		}
	}
}

// do runs a command at the shard of a key.
func (w *shardsWorld) do(t *testing.T, shard int, words ...string) {
	t.Helper()
	v := w.clients[shard].Do(words...)
	require.False(t, v.IsError(), "%v: %s", words, v)
}

// TestInspectShards: lists have the entries of all shards, each with its shard. A question about a key goes
// to the key's shard, also along the locks that a holder waits for.
func TestInspectShards(t *testing.T) {
	t.Parallel()
	w := newShards(t)
	a, b, c := w.key(0, "a"), w.key(1, "b"), w.key(2, "c")
	w.do(t, 2, "LOCK", c, "carol")
	w.clock.Advance(time.Second)
	w.do(t, 1, "LOCK", b, "bob")
	w.do(t, 0, "LOCK", a, "alice")
	w.client(t, 2).Send("LOCK", c, "bob", "WAIT", "600000")
	w.client(t, 1).Send("LOCK", b, "alice", "WAIT", "600000")
	require.Eventually(t, func() bool {
		s, err := w.seen.Sample()
		require.NoError(t, err)
		return s.Stats.Waiting == 2
	}, 30*time.Second, time.Millisecond)
	for shard, key := range []string{a, b, c} {
		w.do(t, shard, "SECKILL.CREATE", "{"+key+"}", "STOCK", fmt.Sprint(shard), "STREAM", "orders:{"+key+"}")
	}

	reason, err := w.seen.Why(a)
	require.NoError(t, err)
	var out strings.Builder
	reason.Print(&out)
	require.Regexp(t, `(?s)`+a+` is held by alice\n  shard     1\n.*alice waits for\n    `+b+` is held by bob\n      shard     2\n.*bob waits for\n        `+c+` is held by carol\n          shard     3\n`, out.String())

	out.Reset()
	require.NoError(t, w.seen.PrintLocks(t.Context(), &out, Filter{}, true))
	found := map[string]int{}
	for line := range strings.Lines(out.String()) {
		var l Lock
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		found[l.Key] = l.Shard
	}
	require.Equal(t, map[string]int{a: 1, b: 2, c: 3}, found)
	out.Reset()
	require.NoError(t, w.seen.PrintLocks(t.Context(), &out, Filter{Owner: "bob"}, false))
	require.Regexp(t, `^SHARD  KEY .*\n2      `+b+` `, out.String())

	sample, err := w.seen.Sample()
	require.NoError(t, err)
	require.Equal(t, shardsCount, sample.Shards)
	require.EqualValues(t, 3, sample.Stats.Held)
	require.GreaterOrEqual(t, sample.Clients, int64(2*shardsCount+2), "of all shards")
	screen := newScreen(time.Second, nil, nil)
	screen.take(sample)
	page := screen.page(120, 0)
	require.Contains(t, page, "3 shards")
	require.Regexp(t, `SHARD  KEY`, page)
	require.Regexp(t, ` 3  `+c+` +carol`, page)
	require.Regexp(t, `\{`+c+`\}.* 3\n`, page)

	past, err := w.seen.WhyAt(b, time.UnixMicro(w.clock.NowUS()))
	require.NoError(t, err)
	require.Equal(t, "bob", past.Holders[0].Owner)
}

// TestManyLocksOfShards: a list in pieces has each lock once.
func TestManyLocksOfShards(t *testing.T) {
	t.Parallel()
	w := newShards(t)
	const each = piece + 7
	for shard, c := range w.clients {
		tag := w.key(shard, "tag")
		var batch [][]string
		for i := range each * (shard + 1) / 2 {
			batch = append(batch, []string{"LOCK", fmt.Sprintf("{%s}%d", tag, i), "me", "PX", "600000"})
		}
		c.Pipeline(batch)
	}
	seen := map[string]bool{}
	require.NoError(t, w.seen.EachLock(t.Context(), Filter{}, func(l Lock) error {
		require.False(t, seen[l.Key], l.Key)
		seen[l.Key] = true
		return nil
	}))
	require.Len(t, seen, each/2+each+each*3/2)
	v, err := w.seen.conn.Do("LOCK.LIST", "CURSOR", "1,2", "COUNT", "10")
	require.ErrorContains(t, err, "invalid cursor", v)
}

// TestHistoryOfShards: the events of all shards are in the order of their times, a lock's are those of its
// shard, and all shards are followed.
func TestHistoryOfShards(t *testing.T) {
	t.Parallel()
	w := newShards(t)
	keys := []string{w.key(0, "k"), w.key(1, "k"), w.key(2, "k")}
	for _, shard := range []int{2, 0, 1, 0, 2} {
		w.clock.Advance(time.Second)
		w.do(t, shard, "LOCK", keys[shard], "me", "ONCE", "PX", "600000")
	}
	var out strings.Builder
	require.NoError(t, w.seen.PrintHistory(t.Context(), &out, Events{Count: 4}, false, false))
	require.Regexp(t, `^(.* shard \d  events are known .*\n){3}.* shard 1  granted +`+keys[0]+`.*\n.* shard 2  granted .*\n(.*\n)*$`, out.String())
	out.Reset()
	require.NoError(t, w.seen.PrintHistory(t.Context(), &out, Events{Count: 100, Key: keys[2]}, false, false))
	require.Regexp(t, `^.* shard 3  events are known .*\n(.* shard 3  .*`+keys[2]+`.*\n)+$`, out.String())

	ctx, stop := context.WithCancel(t.Context())
	lines, ended := make(lineSink, 1000), make(chan error, 1)
	go func() { ended <- w.seen.PrintHistory(ctx, lines, Events{Count: 1}, true, true) }()
	for range shardsCount {
		require.Equal(t, checkhistory.Began, next(t, lines).Event)
	}
	next(t, lines)
	for shard, key := range keys {
		w.do(t, shard, "UNLOCK", key, "me")
		for l := next(t, lines); l.Event != "released"; l = next(t, lines) {
			require.Equal(t, key, l.Key)
			require.Equal(t, shard+1, l.Shard)
		}
	}
	stop()
	require.NoError(t, <-ended)
}
