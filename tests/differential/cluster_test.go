//go:build oracle

package differential

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// aloneQuestions lists the commands for a cluster of one server with all slots; %s is its id.
var aloneQuestions = []string{
	"CLUSTER SLOTS", "CLUSTER SHARDS", "CLUSTER NODES", "CLUSTER INFO", "CLUSTER MYID", "CLUSTER REPLICAS %s", "CLUSTER REPLICAS abc", "CLUSTER LINKS",
	"CLUSTER COUNT-FAILURE-REPORTS %s", "CLUSTER KEYSLOT foo", "CLUSTER KEYSLOT {x}foo", "CLUSTER KEYSLOT a{}b", "CLUSTER COUNTKEYSINSLOT 12182",
	"CLUSTER COUNTKEYSINSLOT 16384", "CLUSTER GETKEYSINSLOT 12182 10", "CLUSTER GETKEYSINSLOT 0 -1", "CLUSTER ADDSLOTS 5", "CLUSTER ADDSLOTSRANGE 0 16383",
	"READONLY", "READWRITE", "ASKING", "SELECT 0", "SELECT 1", "SELECT x", "SWAPDB 0 1", "MOVE foo 1", "COPY {a}1 {a}2 DB 1", "COPY {a}1 {a}2 DB 0",
	"REPLICAOF NO ONE", "REPLICAOF 127.0.0.1 1", "ROLE", "INFO cluster", "CONFIG GET cluster-enabled", "CONFIG GET databases", "INFO nosuch",
	"MSET {a}1 x {a}2 y", "MSET a 1 b 2", "MGET {a}1 {a}2", "MGET a b", "MGET a a", "DEL a b", "EXISTS {a}1 {a}2", "RENAME a b", "RENAME {a}1 {a}3", "TOUCH a b",
	"SUNIONSTORE d s t", "ZUNION 2 a b", "ZUNION 2 {a}z {a}y", "ZUNION x a b", "LMPOP 2 a b LEFT", "BLPOP a b 1", "SINTERCARD 2 a b", "XREAD STREAMS a b 0 0", "OBJECT ENCODING a",
	"PFCOUNT a b", "BITOP AND a b c", "GEORADIUS a 1 1 1 km STORE b", "SORT {l}1 BY w_*", "SORT {l}1 BY {l}w_*", "SORT {l}1 BY nosort GET #", "SORT {l}1 GET {l}*", "SORT l BY nosort GET l", "SORT {l}1 STORE b",
	"WATCH a b", "WATCH {a}1 {a}2", "UNWATCH", "KEYS {a}2*", "SCAN 0 MATCH {a}2* COUNT 100",
	"MULTI", "SET a 1", "SET b 1", "EXEC", "MULTI", "MSET a 1 b 2", "EXEC", "MULTI", "SET {t}1 1", "SET {t}2 2", "EXEC", "MULTI", "PING", "EXEC", "MULTI", "SET a 1", "DISCARD", "EXEC",
	"EVAL return(redis.call('get',KEYS[1])) 1 {a}1", "EVAL return(1) 2 a b", "EVAL return(redis.call('mget','a','b')) 0", "EVAL return(redis.pcall('mget','a','b')) 0",
	"EVAL redis.call('get','a')return(redis.call('get','b')) 0", "EVAL return(redis.call('get','b')) 1 a", "EVAL x 5 a", "FCALL f 2 a b", "EVALSHA 1 2 a b",
	"SCRIPT KILL", "SPUBLISH ch x", "PUBLISH ch x", "PUBSUB SHARDCHANNELS", "COMMAND GETKEYS SPUBLISH a b", "COMMAND GETKEYS MGET a b",
	"SUNSUBSCRIBE a b", "SSUBSCRIBE a b", "RESTORE-ASKING k 0 x", "WAIT 0 0", "FLUSHALL", "DBSIZE", "TYPE foo", "RESET", "HELLO",
}

// aloneScripts lists scripts with a shebang line with flags.
var aloneScripts = [][]string{
	{"EVAL", "#!lua\nredis.call('get','a') return redis.call('get','b')", "0"},
	{"EVAL", "#!lua\nreturn redis.call('get','b')", "1", "a"},
	{"EVAL", "#!lua\nreturn redis.call('get','{a}b')", "1", "a"},
	{"EVAL", "#!lua\nreturn redis.call('mget','a','b')", "1", "a"},
	{"EVAL", "#!lua\nredis.pcall('get','a') redis.pcall('get','b') return redis.pcall('get', 'a')", "0"},
	{"EVAL", "#!lua flags=allow-cross-slot-keys\nredis.call('get','a') return redis.call('get','b')", "0"},
	{"EVAL", "#!lua flags=allow-cross-slot-keys\nreturn redis.call('mget','a','b')", "0"},
	{"EVAL", "#!lua flags=allow-cross-slot-keys\nreturn 1", "2", "a", "b"},
	{"EVAL", "#!lua flags=no-cluster\nreturn 1", "0"},
	{"EVAL", "#!lua flags=no-writes\nreturn redis.call('spublish','b','x')", "0"},
	{"FUNCTION", "LOAD", "#!lua name=l\nredis.register_function{function_name='cross', callback=function(k) redis.call('get','a') return redis.call('get','b') end, flags={'allow-cross-slot-keys'}}\n" +
		"redis.register_function('one', function(k) redis.call('get','a') return redis.call('get','b') end)\nredis.register_function{function_name='never', callback=function() return 1 end, flags={'no-cluster'}}"},
	{"FCALL", "cross", "0"}, {"FCALL", "one", "0"}, {"FCALL", "one", "1", "b"}, {"FCALL", "never", "0"}, {"FUNCTION", "FLUSH"},
}

// TestClusterOfOneServer: a server with cluster-enabled (D175) replies like a Redis that has it and all
// slots, in both versions of the protocol.
func TestClusterOfOneServer(t *testing.T) {
	port := strconv.Itoa(testkit.ClusterPort(t))
	redis := testkit.StartRedis(t, "--cluster-enabled", "yes", "--port", port, "--bind", "127.0.0.1")
	theirs := redis.Client(t)
	require.Equal(t, "+OK", theirs.Do("CLUSTER", "ADDSLOTSRANGE", "0", "16383").String())
	await(t, "the cluster is up", func() bool { return strings.Contains(theirs.Do("CLUSTER", "INFO").Str, "cluster_state:ok") })
	srv, err := server.New(server.Options{Directives: map[string]string{"cluster-enabled": "yes"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	require.NoError(t, srv.Start())
	ids := [2]string{theirs.Do("CLUSTER", "MYID").Str, ""}
	for proto := 2; proto <= 3; proto++ {
		a, b := redis.Client(t), testkit.Dial(t, srv.Dial)
		ids[1] = b.Do("CLUSTER", "MYID").Str
		require.Len(t, ids[1], 40)
		a.Hello(proto)
		b.Hello(proto)
		_, at, _ := strings.Cut(srv.Addr().String(), ":")
		ask := func(words ...string) {
			t.Helper()
			mine := strings.Split(strings.ReplaceAll(strings.Join(words, "\x00"), "%s", ids[1]), "\x00")
			its := strings.Split(strings.ReplaceAll(strings.Join(words, "\x00"), "%s", ids[0]), "\x00")
			require.Equal(t, aloneStable(a.Do(its...), ids[0], port), aloneStable(b.Do(mine...), ids[1], at), "version %d: %q", proto, words)
		}
		for _, script := range aloneScripts {
			ask(script...)
		}
		for _, line := range aloneQuestions {
			ask(strings.Fields(line)...)
		}
		require.Len(t, b.Do("CLUSTER", "MYSHARDID").Str, 40)
	}
}

// aloneStable returns a reply without ids, ports and addresses. A Redis that never met another node does not
// know its address.
func aloneStable(v resp.Value, id, port string) string {
	text := strings.ReplaceAll(stable(v), id, "ID")
	number, _ := strconv.Atoi(port)
	text = strings.ReplaceAll(text, "@"+strconv.Itoa(number+10000), "@BUS")
	return strings.ReplaceAll(strings.ReplaceAll(text, port, "PORT"), "127.0.0.1", "")
}
