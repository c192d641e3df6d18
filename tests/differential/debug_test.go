//go:build oracle

package differential

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// reloads lists commands that must have the same replies, with changes of the data in between.
const reloads = `
	SET a 1
	SET b 2 EX 1000
	SET gone 1 PX 1
	RPUSH l 1 2 3
	SADD s a b c
	ZADD z 1 a 2 b
	HSET h f v
	HEXPIRE h 1000 FIELDS 1 f
	XADD x 1-1 f v
	XGROUP CREATE x g 0
	FUNCTION LOAD "#!lua name=lib\nredis.register_function('f', function() return 1 end)"
	SCRIPT LOAD "return 1"
	DEBUG RELOAD
	DEBUG DIGEST
	DBSIZE
	FCALL f 0
	SET a 2
	SELECT 3
	SET a 3
	DEBUG RELOAD NOSAVE
	DEBUG DIGEST
	GET a
	SELECT 0
	GET a
	SET new 1
	DEBUG RELOAD NOSAVE NOFLUSH MERGE
	DEBUG DIGEST
	FUNCTION DELETE lib
	DEBUG RELOAD merge
	FUNCTION LIST
	MULTI
	SET q 1
	DEBUG RELOAD
	SET q 2
	EXEC
	DEBUG DIGEST
	DEBUG RELOAD foo
	DEBUG CHANGE-REPL-ID
	DEBUG CHANGE-REPL-ID x
	DEBUG REPLYBUFFER peak-reset-time never
	DEBUG REPLYBUFFER peak-reset-time 12
	DEBUG REPLYBUFFER peak-reset-time xx
	DEBUG REPLYBUFFER resizing 0
	DEBUG REPLYBUFFER foo 0
	DEBUG QUICKLIST-PACKED-THRESHOLD 100b
	DEBUG QUICKLIST-PACKED-THRESHOLD -1
	DEBUG QUICKLIST-PACKED-THRESHOLD 5gb
	DEBUG AOF-FLUSH-SLEEP 0
	DEBUG PAUSE-CRON 0
	DEBUG SCRIPT list
	DEBUG SCRIPT foo
	DEBUG SCRIPT 0000000000000000000000000000000000000000
	DEBUG SCRIPT E0E1f9fabfc9d4800c877a703b823ac0578ff8db
	DEBUG SCRIPT
	DEBUG JMAP
	DEBUG STRINGMATCH-LEN 10 a
	DEBUG SET-SKIP-CHECKSUM-VALIDATION 1
	RESTORE r 0 "\x00\x01v\x0b\x00........"
	GET r
	DEBUG SET-SKIP-CHECKSUM-VALIDATION 0
	RESTORE r2 0 "\x00\x01v\x0b\x00........"
	DEBUG LEAK x
	DEBUG DICT-RESIZING 1
	DEBUG DROP-CLUSTER-PACKET-FILTER 1
	DEBUG DROP-CLUSTER-PACKET-FILTER x
	DEBUG REPLICATE foo bar
	DEBUG REPLICATE
	DEBUG STRUCTSIZE
	DEBUG CONFIG-REWRITE-FORCE-ALL
	DEBUG OBJECT l fast
	DEBUG QUICKLIST l
	DEBUG QUICKLIST nokey
	DEBUG HTSTATS 7 full x
	DEBUG HTSTATS-KEY nokey
	CONFIG GET key-load-delay
	CONFIG SET key-load-delay 10 rdb-key-save-delay -10
	CONFIG GET rdb-key-save-delay
	DEBUG RELOAD
	DEBUG DIGEST
	CONFIG SET key-load-delay x
`

// TestDebug: DEBUG has the same replies and effects on both servers. It is tested without a log, and with a
// log, which is read again.
func TestDebug(t *testing.T) {
	for _, appendonly := range []string{"no", "yes"} {
		t.Run("appendonly "+appendonly, func(t *testing.T) {
			srv, err := server.New(server.Options{Dir: t.TempDir(), Directives: map[string]string{"enable-debug-command": "yes", "appendonly": appendonly}})
			require.NoError(t, err)
			require.NoError(t, srv.Start())
			t.Cleanup(func() { require.NoError(t, srv.Close()) })
			ours := testkit.Dial(t, srv.Dial)
			redis := testkit.StartRedis(t, "--enable-debug-command", "yes", "--appendonly", appendonly).Client(t)
			lines := reloads
			if appendonly == "no" {
				lines += "DEBUG LOADAOF\nDBSIZE\n" // there is no log, so no data is left
			} else {
				lines += "DEBUG LOADAOF\n"
			}
			for _, line := range strings.Split(lines, "\n") {
				words, ok := resp.SplitWords(nil, []byte(strings.TrimSpace(line)))
				require.True(t, ok, line)
				// D21: NOSAVE is not in Redis' log, and the log has a payload that Redis does not accept when
				// it reads it again.
				if len(words) == 0 || appendonly == "yes" && (strings.Contains(line, "NOSAVE") || strings.Contains(line, "RESTORE")) {
					continue
				}
				var args []string
				for _, w := range words {
					args = append(args, string(w))
				}
				require.Equal(t, redis.Do(args...).String(), ours.Do(args...).String(), line)
			}
			require.Empty(t, testkit.ReadDataset(ours).Diff(testkit.ReadDataset(redis), 5000))
		})
	}
}

// TestScriptsDebug: with SET-DISABLE-DENY-SCRIPTS scripts read replies of every type, in both versions of the
// protocol.
func TestScriptsDebug(t *testing.T) {
	srv, err := server.New(server.Options{Directives: map[string]string{"enable-debug-command": "yes"}})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	ours := testkit.Dial(t, srv.Dial)
	redis := testkit.StartRedis(t, "--enable-debug-command", "yes").Client(t)
	same := func(args ...string) {
		t.Helper()
		require.Equal(t, redis.Do(args...).String(), ours.Do(args...).String(), "%q", args)
	}
	call := func(version, what string) {
		same("EVAL", "redis.setresp("+version+"); return redis.call('debug', 'protocol', '"+what+"')", "0")
	}
	call("2", "string")
	for _, on := range []string{"1", "0", "x", "2"} {
		same("DEBUG", "SET-DISABLE-DENY-SCRIPTS", on)
		for _, client := range []string{"2", "3"} {
			require.False(t, redis.Do("HELLO", client).IsError() || ours.Do("HELLO", client).IsError())
			for _, version := range []string{"2", "3"} {
				for _, what := range strings.Fields("string integer double bignum null array set map attrib verbatim true false nosuch") {
					call(version, what)
				}
			}
		}
		same("EVAL", "return redis.call('debug', 'sleep', '0')", "0")
		same("EVAL", "return redis.pcall('debug', 'sleep').err", "0")
	}
	same("DEBUG", "SET-DISABLE-DENY-SCRIPTS")
	same("DEBUG", "CLIENT-EVICTION")
	same("DEBUG", "CLIENT-EVICTION", "x")
	same("CONFIG", "SET", "maxmemory-clients", "100mb")
	figure := regexp.MustCompile(`tot-mem: *\d+`)
	require.Equal(t, figure.ReplaceAllString(redis.Do("DEBUG", "CLIENT-EVICTION").String(), ""),
		figure.ReplaceAllString(ours.Do("DEBUG", "CLIENT-EVICTION").String(), ""))
	same("DEBUG", "MALLCTL")
}
