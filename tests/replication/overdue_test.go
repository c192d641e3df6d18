//go:build oracle

package replication

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// overdueKinds lists the values that the tests of overdue keys and fields create under the name %. The
// commands in dies give the key, or some fields, one more millisecond. Fields a and z become overdue, b and c
// do not.
var overdueKinds = []struct{ name, made, dies string }{
	{"string", "", "SET % 7 PX 1"},
	{"list", "RPUSH % 3 1 2", "PEXPIRE % 1"},
	{"hash", "HSET % a 5 b 7", "PEXPIRE % 1"},
	{"some", "HSET % a 5 b 7 c 9", "HPEXPIRE % 1 FIELDS 1 a"},
	{"all", "HSET % a 5 z 7", "HPEXPIRE % 1 FIELDS 2 a z"},
	{"bigsome", "HSET % a 5 b 7 c " + strings.Repeat("x", 70), "HPEXPIRE % 1 FIELDS 1 a"},
	{"bigall", "HSET % a 5 z " + strings.Repeat("x", 70), "HPEXPIRE % 1 FIELDS 2 a z"},
}

// overdueCommands lists the commands for overdue keys and fields. % is the overdue key, and % with a suffix
// is another key.
var overdueCommands = []string{
	"GET %", "SET % 1", "SET % 1 NX", "SET % 1 XX", "SET % 1 NX GET", "SET % 1 KEEPTTL", "SET % 1 PXAT 1", "SETNX % 1", "SETEX % 100000 1", "GETSET % 1", "GETDEL %", "GETEX %", "GETEX % PERSIST",
	"GETEX % PXAT 1", "APPEND % x", "INCR %", "INCRBY % x", "INCRBYFLOAT % 1.5", "SETRANGE % 2 x", "SETBIT % 1 1", "BITFIELD % SET u8 0 1", "BITFIELD_RO % GET u8 0", "STRLEN %",
	"MSET % 1 %o 2", "MSETNX % 1 %o 2", "BITOP OR %o % %", "BITOP OR % %o %o", "LCS % %o", "PFADD % x", "PFMERGE %o %", "PFCOUNT %",
	"TTL %", "PTTL %", "EXPIRETIME %", "EXPIRE % 100000", "EXPIRE % 100000 NX", "PEXPIREAT % 1", "PEXPIREAT %live 1", "SET %live 1 PXAT 1", "GETEX %live PXAT 1", "MOVE %live 1", "PERSIST %", "TYPE %", "EXISTS %", "TOUCH %", "OBJECT ENCODING %", "DEL %", "UNLINK %",
	"RENAME % %o", "RENAME %live %", "RENAMENX %live %", "COPY % %o", "COPY %live %", "COPY %live % REPLACE", "MOVE % 1", "DUMP %", "RPUSH % x", "RPUSHX % x", "LPOP %", "LRANGE % 0 -1",
	"LMOVE % %o LEFT LEFT", "LSET % 0 x", "LREM % 0 x", "LTRIM % 0 1", "LINSERT % BEFORE 1 x", "SADD % x", "SPOP %", "SMOVE % %o x", "SREM % x", "SUNIONSTORE % %o", "SUNIONSTORE %o %", "SINTERSTORE %o % %",
	"ZADD % 1 x", "ZADD % XX 1 x", "ZINCRBY % 1 x", "ZPOPMIN %", "ZREM % x", "ZUNIONSTORE % 1 %o", "ZUNIONSTORE %o 1 %", "ZRANGESTORE %o % 0 -1", "ZMPOP 1 % MIN", "LMPOP 1 % LEFT",
	"XADD % * a b", "XADD % NOMKSTREAM * a b", "XTRIM % MAXLEN 0", "XDEL % 1-1", "XGROUP CREATE % g $ MKSTREAM", "XGROUP CREATE % g $", "GEOADD % 1 1 x", "SORT %", "SORT % STORE %o", "SORT %o STORE %",
	"HGET % a", "HMGET % a b", "HEXISTS % a", "HSTRLEN % a", "HLEN %", "HGETALL %", "HKEYS %", "HVALS %", "HSCAN % 0", "HRANDFIELD % 10 WITHVALUES", "HTTL % FIELDS 2 a b", "HPTTL % FIELDS 1 a",
	"HEXPIRETIME % FIELDS 1 a", "HPEXPIRETIME % FIELDS 1 a", "HSET % a 1", "HSET % n 1", "HSET % a 1 b 2 n 3", "HMSET % a 1", "HSETNX % a 1", "HSETNX % b 1", "HSETNX % n 1", "HINCRBY % a 1", "HINCRBY % b 1", "HINCRBYFLOAT % a 1.5",
	"HINCRBY % n 1", "HDEL % a", "HDEL % a b c z", "HDEL % a z", "HDEL % n", "HEXPIRE % 100000 FIELDS 2 a b", "HEXPIRE % 100000 NX FIELDS 2 a b", "HEXPIRE % 100000 XX FIELDS 2 a b", "HEXPIRE % 100000 GT FIELDS 2 a b",
	"HEXPIRE % 100000 LT FIELDS 2 a b", "HEXPIREAT % 1 FIELDS 2 a b", "HPEXPIREAT % 1 XX FIELDS 2 a b", "HPEXPIREAT % 1 FIELDS 2 b n", "HPEXPIREAT % 1 LT FIELDS 2 a b", "HPERSIST % FIELDS 2 a b", "HPERSIST % FIELDS 1 z",
	"SORT %names BY nosort GET *->a GET *->b", "SORT %names BY *->a ALPHA", "SORT %names BY nosort GET *->a STORE %o", "SORT %names BY nosort GET *",
	"EVAL return{redis.call('HGET',KEYS[1],'a'),redis.call('HLEN',KEYS[1])} 1 %", "EVAL return{redis.call('HSETNX',KEYS[1],'a','1'),redis.call('HGETALL',KEYS[1])} 1 %",
	"EVAL return{redis.call('HINCRBY',KEYS[1],'a','1'),redis.call('HEXISTS',KEYS[1],'a')} 1 %", "EVAL return{redis.call('SET',KEYS[1],'1','NX'),redis.call('DEL',KEYS[1])} 1 %", "EVAL return{redis.call('EXISTS',KEYS[1])} 1 %",
	"EVAL_RO return{redis.call('HGET',KEYS[1],'a'),redis.call('HLEN',KEYS[1])} 1 %", "SORT_RO %", "SORT_RO %names BY nosort GET *->a", "HSTRLEN % b", "SINTERCARD 1 %", "OBJECT FREQ %", "SCAN 0 MATCH % COUNT 10000", "KEYS %",
}

// overdueStates lists the commands that show the state after a command.
var overdueStates = []string{
	"EXISTS % %o %live", "TYPE %", "TYPE %o", "GET %", "HLEN %", "HLEN %o", "HGETALL %", "HGETALL %o", "HTTL % FIELDS 5 a b c n z", "HTTL %o FIELDS 5 a b c n z", "HRANDFIELD % 10", "HEXISTS % a",
	"OBJECT ENCODING %", "TTL %", "LRANGE %o 0 -1",
}

// onOverdue runs a command on a server. It returns the reply, the change in the number of keys, and the
// state.
func onOverdue(n *node, key, line string) []string {
	before := n.Do("DBSIZE").Int
	words := strings.Fields(strings.ReplaceAll(line, "%", key))
	reply := timeless(words, n.Do(words...))
	return append([]string{reply, fmt.Sprint("keys that came: ", n.Do("DBSIZE").Int-before)}, stateOf(n, key)...)
}

// stateOf returns the replies to overdueStates for a key.
func stateOf(n *node, key string) (all []string) {
	for _, line := range overdueStates {
		words := strings.Fields(strings.ReplaceAll(line, "%", key))
		all = append(all, timeless(words, n.Do(words...)))
	}
	return all
}

// timeless returns a command with its reply, without parts that depend on the time of the call or on chance.
func timeless(words []string, reply resp.Value) string {
	text := inOrder(reply)
	if words[0] == "DUMP" && !reply.IsNull() {
		text = "a dump"
	}
	return strings.Join(words, " ") + ": " + timeDependent.ReplaceAllString(text, "#")
}

// timeDependent matches the IDs of messages, times in milliseconds or seconds since 1970, and rests of
// 100,000 seconds.
var timeDependent = regexp.MustCompile(`1\d{12}-\d+|\b(100000|99\d{3})\b|\b[12]\d{12}\b|\b[12]\d{9}\b`)

// overdueKey returns the name of the key for a command and a kind.
func overdueKey(command, kind int) string {
	return fmt.Sprintf("k%d.%s.", command, overdueKinds[kind].name)
}

// overdueLines returns the commands that create the key for a command and a kind.
func overdueLines(command, kind int) (lines []string) {
	for _, line := range []string{overdueKinds[kind].made, overdueKinds[kind].dies, "SET %live 3", "RPUSH %names %"} {
		if i := strings.IndexByte(line, '%'); i < 0 || line[i+1] != ' ' && !strings.Contains(overdueCommands[command], line[i:i+5]) {
			continue
		}
		lines = append(lines, strings.ReplaceAll(line, "%", overdueKey(command, kind)))
	}
	return lines
}

// eachOverdue visits each command with each kind.
func eachOverdue(visit func(command, kind int, key, line string)) {
	for command, line := range overdueCommands {
		for kind := range overdueKinds {
			visit(command, kind, overdueKey(command, kind), line)
		}
	}
}

// differs adds the replies that differ from Redis' replies, in want, to wrong.
func differs(wrong []string, line, key string, want, got []string) []string {
	for i := range want {
		if want[i] != got[i] {
			wrong = append(wrong, fmt.Sprintf("%s after %s | here: %s", want[i], strings.ReplaceAll(line, "%", key), got[i]))
		}
	}
	return wrong
}

// TestCommandsOnOverdue: on a replica each command on an overdue key, or on a hash with overdue fields,
// replies as in Redis, and leaves the same state. On a writable replica a write removes an overdue key, but
// never an overdue field. The masters do not remove overdue data by themselves.
func TestCommandsOnOverdue(t *testing.T) {
	redis := testkit.Oracle(t)
	for _, readOnly := range []string{"no", "yes"} {
		t.Run("read-only "+readOnly, func(t *testing.T) {
			replicas := []*node{startRedis(t, redis), start(t, server.Options{EventLoops: true})}
			for _, replica := range replicas {
				require.Equal(t, "+OK", replica.do("CONFIG SET replica-read-only "+readOnly))
				require.Equal(t, "+OK", replica.do("DEBUG SET-ACTIVE-EXPIRE 0")) // otherwise it removes keys with a deadline of its own clients
				master := startRedis(t, redis)
				require.Equal(t, "+OK", master.do("DEBUG SET-ACTIVE-EXPIRE 0"))
				replica.follow(master.addr)
				inStep(t, master, replica)
				eachOverdue(func(command, kind int, _, _ string) {
					for _, line := range overdueLines(command, kind) {
						master.do(line)
					}
				})
				inStep(t, master, replica)
				last := overdueKey(len(overdueCommands)-1, len(overdueKinds)-1)
				eventually(t, "all is overdue", func() bool { return replica.do("HEXISTS "+last+" z") == "0" })
			}
			var wrong []string
			eachOverdue(func(_, _ int, key, line string) {
				wrong = differs(wrong, line, key, onOverdue(replicas[0], key, line), onOverdue(replicas[1], key, line))
			})
			require.Empty(t, wrong, strings.Join(wrong, "\n"))
		})
	}
}

// TestCommandsOnOverdueUnderPause: during CLIENT PAUSE ... WRITE, commands that read reply as in Redis.
// Writes are delayed. They run after the pause, and do not find overdue keys and fields, as on any master.
func TestCommandsOnOverdueUnderPause(t *testing.T) {
	redis := testkit.Oracle(t)
	paused, expired, ours := startRedis(t, redis), startRedis(t, redis), start(t, server.Options{EventLoops: true})
	for _, n := range []*node{paused, expired, ours} {
		require.Equal(t, "+OK", n.do("MULTI"))
		eachOverdue(func(command, kind int, _, _ string) {
			for _, line := range overdueLines(command, kind) {
				require.Equal(t, "+QUEUED", n.do(line))
			}
		})
		if n != expired {
			require.Equal(t, "+QUEUED", n.do("CLIENT PAUSE 100000000 WRITE"))
		}
		require.NotEmpty(t, n.Do("EXEC").Elems)
		last := overdueKey(len(overdueCommands)-1, len(overdueKinds)-1)
		eventually(t, "all is overdue", func() bool { return n.do("HEXISTS "+last+" z") == "0" })
	}
	held := map[string]bool{}
	for _, line := range overdueCommands {
		name := strings.Fields(line)[0]
		flags := paused.Do("COMMAND", "INFO", name).Elems[0].Elems[2].String()
		held[line] = strings.Contains(flags, "write") || slices.Contains([]string{"PFCOUNT", "EVAL", "XGROUP"}, name)
	}
	var wrong []string
	writer, writes := reach(t, ours.addr), 0
	eachOverdue(func(_, _ int, key, line string) {
		if held[line] {
			writer.Send(strings.Fields(strings.ReplaceAll(line, "%", key))...)
			writes++
		} else {
			wrong = differs(wrong, line, key, onOverdue(paused, key, line), onOverdue(ours, key, line))
		}
	})
	require.Empty(t, wrong, strings.Join(wrong, "\n"))
	require.Greater(t, writes, 500)

	eventually(t, "the writes are held", func() bool { return ours.number("blocked_clients") == 1 })
	require.Equal(t, "+OK", ours.do("CLIENT UNPAUSE"))
	eachOverdue(func(_, kind int, key, line string) {
		if !held[line] {
			return
		}
		left := map[string]int64{"some": 2, "bigsome": 2}[overdueKinds[kind].name]
		eventually(t, "what is overdue is gone", func() bool { return expired.Do("HLEN", key).Int == left })
		words := strings.Fields(strings.ReplaceAll(line, "%", key))
		want, got := timeless(words, expired.Do(words...)), timeless(words, writer.Receive())
		wrong = differs(wrong, line, key, append(stateOf(expired, key), want), append(stateOf(ours, key), got))
	})
	require.Empty(t, wrong, strings.Join(wrong, "\n"))
}

// inOrder returns a reply with its elements sorted.
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
