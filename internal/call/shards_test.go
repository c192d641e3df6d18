package call_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/call"
	"lockserver/internal/keyslot"
	"lockserver/internal/resp"
	"lockserver/server"
)

// joined returns a connection to a cluster of three shards, and a key of each shard.
func joined(t *testing.T) (c *call.Conn, keys []string) {
	t.Helper()
	of, err := server.NewCluster(server.Options{}, 3)
	require.NoError(t, err)
	require.NoError(t, of.Start())
	t.Cleanup(func() { _ = of.Close() })
	var parts []*call.Conn
	for _, srv := range of.Shards() {
		nc, err := srv.Dial()
		require.NoError(t, err)
		parts = append(parts, call.New(nc, 20*time.Second))
	}
	c = call.Join(parts, func(slot int) int { return slot * 3 / keyslot.Count })
	t.Cleanup(c.Close)
	for shard := range parts {
		for i := 0; len(keys) == shard; i++ {
			if key := fmt.Sprint("k", i); c.ShardOf(key) == shard+1 {
				keys = append(keys, key)
			}
		}
	}
	_, err = c.Do("HELLO", "3")
	require.NoError(t, err)
	return c, keys
}

// TestJoin: commands with a key go to the key's shard, listings to all, in one batch.
func TestJoin(t *testing.T) {
	c, keys := joined(t)
	locks := slices.Clone(keys)
	for i, key := range keys {
		replies, err := c.All([]string{"SELECT", "0"}, []string{"LOCK", key, "me", "PX", "60000"},
			[]string{"SECKILL.CREATE", "{" + key + "}", "STOCK", fmt.Sprint(i), "STREAM", "o{" + key + "}"}, []string{"LOCK.HISTORY", "COUNT", "9", "KEY", key}, []string{"GET", "none"})
		require.NoError(t, err)
		require.NoError(t, call.Failure(replies...))
		require.Len(t, call.FieldsOf(replies[3]).List("events"), 1)
		require.Positive(t, replies[1].Int)
		for n := range 5 {
			_, err = c.Do("LOCK", fmt.Sprint("{", key, "}", n), "me", "PX", "60000")
			require.NoError(t, err)
			locks = append(locks, fmt.Sprint("{", key, "}", n))
		}
	}
	var found []string
	next := "0"
	for pages := 0; ; pages++ {
		v, err := c.Do("LOCK.LIST", "CURSOR", next, "COUNT", "3")
		require.NoError(t, err)
		var list []resp.Value
		next, list = call.Piece(v)
		for _, l := range list {
			found = append(found, call.FieldsOf(l).Text("key"))
		}
		if next == "0" {
			require.Positive(t, pages)
			break
		}
	}
	require.ElementsMatch(t, locks, found)
	v, err := c.Do("SECKILL.LIST", "0", "COUNT", "100")
	require.NoError(t, err)
	_, list := call.Piece(v)
	require.Len(t, list, 3)
	for _, bad := range []string{"1,2", "0,0,0,0", "x"} {
		_, err = c.Do("LOCK.LIST", "CURSOR", bad)
		require.ErrorContains(t, err, "ERR invalid cursor")
	}
	v, err = c.Do("LOCK.STATS")
	require.NoError(t, err)
	require.EqualValues(t, len(locks), call.FieldsOf(v).Int("held"))
	require.EqualValues(t, len(locks), call.FieldsOf(call.FieldsOf(call.FieldsOf(v)["databases"])["0"]).Int("held"))
	v, err = c.Do("INFO", "everything")
	require.NoError(t, err)
	for _, line := range []string{"connected_clients:3\r\n", "db0:keys=24,expires=18,", "cmdstat_seckill.create:calls=3,"} {
		require.Contains(t, v.Str, line)
	}
	require.Equal(t, 1, strings.Count(v.Str, "redis_version:"))
	v, err = c.Do("CLIENT", "LIST")
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(v.Str, " addr="))
	_, err = c.Do("HELLO", "3", "AUTH", "nobody", "x")
	require.ErrorContains(t, err, "WRONGPASS")
}

// TestJoinedReplies: figures are added up, durations are those of the slowest shard, lists have the order and
// the length of one, and a failure of any shard is seen.
func TestJoinedReplies(t *testing.T) {
	text := func(s string) resp.Value { return resp.Value{Kind: resp.Bulk, Str: s} }
	number := func(n int64) resp.Value { return resp.Value{Kind: resp.Integer, Int: n} }
	double := func(f float64) resp.Value { return resp.Value{Kind: resp.Double, Float: f, Str: fmt.Sprint(f)} }
	mapOf := func(of ...resp.Value) resp.Value { return resp.Value{Kind: resp.Map, Elems: of} }
	list := func(of ...resp.Value) resp.Value { return resp.Value{Kind: resp.Array, Elems: of} }
	sum := call.JoinFigures(nil, []resp.Value{
		mapOf(text("held"), number(1), text("p99"), double(2), text("classes"), mapOf(text("a"), number(1))),
		mapOf(text("held"), number(4), text("p99"), double(1), text("classes"), mapOf(text("b"), number(7), text("a"), number(2))),
		mapOf(text("held"), number(0), text("p99"), double(3.5), text("classes"), mapOf()),
	})
	require.Equal(t, mapOf(text("held"), number(5), text("p99"), double(3.5), text("classes"), mapOf(text("a"), number(3), text("b"), number(7))), sum)
	at := func(ms int64) resp.Value { return mapOf(text("time"), number(ms)) }
	words := []string{"LOCK.DEADLOCKS", "COUNT", "3"}
	require.Equal(t, list(at(9), at(7), at(5)), call.Listings["lock.deadlocks"](words, []resp.Value{list(at(7), at(2)), list(), list(at(9), at(5))}))
	key := func(name string, most float64) resp.Value {
		return mapOf(text("key"), text(name), text("most"), double(most))
	}
	hot := call.JoinHot([]string{"LOCK.HOT", "COUNT", "2"}, []resp.Value{
		mapOf(text("total"), double(3), text("keys"), list(key("a", 2), key("b", 1))), mapOf(text("total"), double(2.5), text("keys"), list(key("c", 2.5)))})
	require.EqualValues(t, 5.5, call.FieldsOf(hot).Number("total"))
	require.Equal(t, list(key("c", 2.5), key("a", 2)), call.FieldsOf(hot)["keys"])
	info := call.JoinInfo(nil, []resp.Value{text("# Persistence\r\nloading:0\r\nrdb_last_bgsave_status:ok\r\ncmdstat_get:calls=1,usec=10,usec_per_call=10.00\r\nrun_id:x\r\nused_memory:5\r\n"),
		text("loading:1\r\nrdb_last_bgsave_status:err\r\ncmdstat_get:calls=3,usec=20,usec_per_call=6.67\r\nrun_id:y\r\nused_memory:7\r\ncmdstat_set:calls=2\r\n")})
	require.Equal(t, "loading:1\r\nrdb_last_bgsave_status:err\r\ncmdstat_get:calls=4,usec=30,usec_per_call=7.50\r\nrun_id:x\r\nused_memory:12\r\ncmdstat_set:calls=2\r\n", info.Str)
}

// TestJoinLost: a shard that is gone ends the call, and says so.
func TestJoinLost(t *testing.T) {
	c, keys := joined(t)
	c.Parts()[1].Close()
	_, err := c.Do("LOCK.LIST", "CURSOR", "0")
	require.ErrorIs(t, err, call.ErrLost)
	_, err = c.Do("GET", keys[0])
	require.NoError(t, err, "the other shards are there")
}
