package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
	"lockserver/server/cluster"
)

// shardWith is the shard of a key, of n.
func shardWith(key string, n int) int {
	for i, slots := range cluster.Split(n) {
		if slots.Has(keyslot.Of([]byte(key))) {
			return i
		}
	}
	panic("a slot has no shard")
}

// reshardedKeys is how many values fillShards writes.
const reshardedKeys = 60

// fillShards writes values of several types, locks and a library to a cluster, and returns the highest token.
func fillShards(t *testing.T, o Options, n int) (token int64) {
	t.Helper()
	c, shards := shardsOf(t, o, n)
	require.Equal(t, `"l"`, shards[0].Do("FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', function() return 7 end)").String())
	for i := range reshardedKeys {
		key := fmt.Sprint("{k", i, "}")
		conn := shards[shardWith(key, n)]
		for _, line := range []string{"SET " + key + " v" + key, "HSET " + key + "h f " + key, "ZADD " + key + "z 1 " + key, "PEXPIRE " + key + "h 1000000000",
			"SECKILL.CREATE " + key + " STOCK 5 STREAM orders:" + key, "SECKILL " + key + " ann 1", "DELAY.ADD d" + key[1:len(key)-1] + " PX 100000000 ID 1 a b"} {
			got := conn.Do(strings.Fields(line)...).String()
			require.True(t, !strings.HasPrefix(got, "-") || strings.Contains(got, "MOVED"), "%s: %s", line, got)
		}
		token = max(token, conn.Do("LOCK", key+"l", "me", "PX", "1000000000").Int)
	}
	require.NoError(t, c.Shutdown(ShutdownOptions{Save: !o.AppendOnly}))
	<-c.Done()
	return token
}

// checkShards sees that a cluster of n shards has what fillShards wrote, each key where its slot is, and that
// the tokens of a lock go on rising.
func checkShards(t *testing.T, o Options, n int, token int64) {
	t.Helper()
	c, shards := shardsOf(t, o, n)
	for i := range reshardedKeys {
		key := fmt.Sprint("{k", i, "}")
		conn := shards[shardWith(key, n)]
		require.Equal(t, `"v`+key+`"`, conn.Do("GET", key).String())
		require.Equal(t, `"`+key+`"`, conn.Do("HGET", key+"h", "f").String())
		require.Positive(t, conn.Do("PTTL", key+"h").Int)
		require.Equal(t, "1", conn.Do("ZCARD", key+"z").String())
		require.Equal(t, "1", conn.Do("XLEN", "orders:"+key).String())
		require.Equal(t, "2", conn.Do("SECKILL", key, "ann", "2").String(), "ann has bought")
		require.Equal(t, "1", conn.Do("UNLOCK", key+"l", "me").String())
		require.Greater(t, conn.Do("LOCK", key+"l", "me", "PX", "1000000000").Int, token)
	}
	for _, conn := range shards {
		require.Equal(t, "7", conn.Do("FCALL", "f", "0").String())
	}
	require.NoError(t, c.Close())
	<-c.Done()
}

// A cluster is split and joined, with a log and with snapshots. The old data stays beside the new data.
func TestReshard(t *testing.T) {
	for _, log := range []bool{false, true} {
		o := Options{Dir: t.TempDir(), AppendOnly: log, AppendFsync: "always"}
		token := fillShards(t, o, 3)
		if log {
			_, err := Reshard(Options{Dir: o.Dir}, 4)
			require.ErrorContains(t, err, "say appendonly yes")
		}
		for _, n := range []int{5, 2} {
			got, err := Reshard(o, n)
			require.NoError(t, err)
			require.Equal(t, n, got.To)
			require.Greater(t, got.Keys, 5*reshardedKeys)
			require.DirExists(t, filepath.Join(got.Kept, "shard-1"))
			_, err = NewCluster(o, 3)
			require.ErrorContains(t, err, "lockserver reshard")
		}
		_, err := New(o)
		require.ErrorContains(t, err, "has the data of 2 shards: start with shards 2")
		checkShards(t, o, 2, token)
	}
	busy := Options{Dir: t.TempDir()}
	shardsOf(t, busy, 2)
	_, err := Reshard(busy, 3)
	require.ErrorContains(t, err, "another server writes to the directory")
	_, err = Reshard(Options{Dir: t.TempDir()}, 2)
	require.ErrorContains(t, err, "has no data of shards")
	_, err = Reshard(Options{}, 1)
	require.ErrorContains(t, err, "2 to 64 shards")
}

// errCut ends a reshard as a crash would.
var errCut = errors.New("cut off")

// A reshard that ends after any change of the file system leaves the old data or the new data, and no start
// takes one for the other. Run again, it ends well.
func TestReshardIsCutOff(t *testing.T) {
	o := Options{Dir: t.TempDir(), AppendOnly: true, AppendFsync: "always"}
	token := fillShards(t, o, 3)
	for cut, whole := 1, false; !whole; cut++ {
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS(o.Dir)))
		at := o
		at.Dir = dir
		steps := 0
		_, err := reshard(at, 4, func() error {
			if steps++; steps == cut {
				return errCut
			}
			return nil
		})
		if whole = err == nil; !whole {
			require.ErrorIs(t, err, errCut)
			if c, err := NewCluster(at, 3); err == nil {
				require.NoError(t, c.Start(), "the old data is whole, cut %d", cut)
				keys := int64(0)
				for _, conn := range dialAll(t, c) {
					keys += conn.Do("DBSIZE").Int
				}
				require.Greater(t, keys, int64(5*reshardedKeys))
				require.NoError(t, c.Close())
				<-c.Done()
			} else {
				require.ErrorContains(t, err, "lockserver reshard --dir", "cut %d", cut)
			}
			_, err = Reshard(at, 4)
			require.NoError(t, err, "cut %d", cut)
		}
		if cut%4 == 0 || whole {
			checkShards(t, at, 4, token)
		} else {
			record, ok, err := cluster.ReadRecord(dir)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, 4, record.Shards)
			require.NoError(t, cluster.Unfinished(dir))
			require.NoDirExists(t, cluster.FreshDir(dir))
		}
	}
}
