//go:build oracle

package replication

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/internal/testkit"
	"lockserver/server"
)

// TestOverdueFields: what a replica tells of fields that have had their time, which only its master removes,
// is what Redis tells, of a small hash and of a large one. The masters do not look for them.
func TestOverdueFields(t *testing.T) {
	redis := testkit.Oracle(t)
	replicas := []*node{startRedis(t, redis), start(t, server.Options{EventLoops: true})}
	for _, replica := range replicas {
		master := startRedis(t, redis)
		require.Equal(t, "+OK", master.do("DEBUG SET-ACTIVE-EXPIRE 0"))
		for _, line := range []string{"HSET some a 1 b 2 c 3", "HSET all a 1", "HSET big a 1 b 2", "RPUSH names some all big"} {
			master.do(line)
		}
		for i := range 600 {
			master.do(fmt.Sprintf("HSET big f%d %d", i, i))
		}
		for _, key := range []string{"some", "all", "big"} {
			require.Equal(t, "[1]", master.do("HPEXPIRE "+key+" 500 FIELDS 1 a"))
		}
		replica.follow(master.addr)
		inStep(t, master, replica)
	}
	for _, replica := range replicas {
		eventually(t, "a field is overdue", func() bool { return replica.do("HGET big a") == "$nil" })
	}
	for _, key := range []string{"some", "all", "big"} {
		for _, command := range []string{"HGET % a", "HMGET % a b", "HEXISTS % a", "HSTRLEN % a", "HGETALL %", "HKEYS %", "HVALS %", "HSCAN % 0 COUNT 1000", "HLEN %",
			"HRANDFIELD % 1000", "HRANDFIELD % 1000 WITHVALUES", "HTTL % FIELDS 2 a b", "HPTTL % FIELDS 1 a", "HEXPIRETIME % FIELDS 1 a", "HPEXPIRETIME % FIELDS 1 a", "EXISTS %", "TYPE %",
			"SORT_RO names BY nosort GET *->a", "EVAL_RO return{redis.call('HGET',KEYS[1],'a'),redis.call('HLEN',KEYS[1])} 1 %", "OBJECT ENCODING %", "DBSIZE"} {
			line := strings.ReplaceAll(command, "%", key)
			require.Equal(t, inOrder(replicas[0].Do(strings.Fields(line)...)), inOrder(replicas[1].Do(strings.Fields(line)...)), line)
		}
	}
}

// TestOverdueKeysAreDeleted: DEL of a key that has had its time, on a writable replica, removes and counts it
// as in Redis. The masters do not look for such keys.
func TestOverdueKeysAreDeleted(t *testing.T) {
	redis := testkit.Oracle(t)
	var replies []string
	for _, replica := range []*node{startRedis(t, redis), start(t, server.Options{EventLoops: true})} {
		require.Equal(t, "+OK", replica.do("CONFIG SET replica-read-only no"))
		master := startRedis(t, redis)
		require.Equal(t, "+OK", master.do("DEBUG SET-ACTIVE-EXPIRE 0"))
		for _, key := range []string{"a", "b", "c", "d", "e"} {
			require.Equal(t, "+OK", master.do("SET "+key+" v PX 300"))
		}
		replica.follow(master.addr)
		inStep(t, master, replica)
		require.Equal(t, "5", replica.do("DBSIZE"))
		eventually(t, "the keys are overdue", func() bool { return replica.do("EXISTS a b c d e") == "0" })
		all := ""
		for _, line := range []string{"DEL a none", "DEL a", "UNLINK b c b", "SDIFFSTORE d none", "GETDEL e", "DBSIZE", "EXISTS a b c d e"} {
			all += line + ": " + replica.do(line) + "\n"
		}
		replies = append(replies, all)
	}
	require.Equal(t, replies[0], replies[1])
}

// inOrder is a reply with its elements in order.
func inOrder(v resp.Value) string {
	if v.Elems == nil {
		return v.String()
	}
	var all []string
	for _, e := range v.Elems {
		all = append(all, inOrder(e))
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}
