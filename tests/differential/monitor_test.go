//go:build oracle

package differential

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// momentAndPlace matches the parts of MONITOR's lines that differ between servers.
var momentAndPlace = regexp.MustCompile(`^\d+\.\d{6} \[(\d+) (lua|[^]]+)\]`)

// TestMonitor compares how MONITOR shows all kinds of commands.
func TestMonitor(t *testing.T) {
	p := startPair(t, "")
	p.begin(2)
	watch := map[*side]*testkit.Client{}
	for _, s := range p.sides() {
		watch[s] = testkit.Dial(t, s.dial)
		require.Equal(t, "+OK", watch[s].Do("MONITOR").String())
	}
	// shown returns the lines up to the one that shows ECHO end.
	shown := func(s *side) (lines []string) {
		s.watch.Do("ECHO", "end")
		for {
			v := watch[s].Receive()
			require.Equal(t, resp.Simple, v.Kind, "%s", v)
			l := momentAndPlace.ReplaceAllStringFunc(v.Str, func(m string) string {
				parts := momentAndPlace.FindStringSubmatch(m)
				if parts[2] != "lua" {
					parts[2] = "client"
				}
				return "[" + parts[1] + " " + parts[2] + "]"
			})
			require.NotEqual(t, v.Str, l, "a moment and a place")
			if strings.HasSuffix(l, `"ECHO" "end"`) {
				return lines
			}
			lines = append(lines, l)
		}
	}
	for _, l := range strings.Split(`
		SET k v
		get k
		GET
		NOSUCH
		HSET k f v
		SET "a\r\n\t\a\b\x00\xff\"\\" "it's"
		SET empty ""
		CONFIG GET maxmemory
		CLIENT ID
		CLIENT LIST
		AUTH x
		AUTH default x
		HELLO 2 AUTH default x SETNAME me
		HELLO 2 SETNAME you
		SELECT 3
		GET k
		SELECT 0
		MULTI
		GET k
		SET k w
		CONFIG GET x
		EXEC
		MULTI
		NOSUCH
		EXEC
		MULTI
		SET k v
		DISCARD
		EXEC
		MULTI
		EXEC x
		PUBLISH a x
		XREAD BLOCK 1 STREAMS s $
		DEBUG SLEEP 0
		EVAL "redis.call('select', 2) redis.pcall('nosuch') return redis.call('SET', KEYS[1], 1.5)" 1 k
		EVAL "return (" 0
		EVALSHA 0123456789012345678901234567890123456789 0
		SCRIPT LOAD "return 1"
		FCALL nosuch 0
		EVAL_RO "return redis.call('get', 'k')" 0
		EVAL "#!lua flags=no-writes\nreturn redis.call('get', 'k')" 0
		EVAL "#!lua flags=nosuch\nreturn 1" 0
		EVAL "return redis.call('set', 'k', 'a\r\n\"\\\\b')" 0
		EVAL "return redis.call('blpop', 'nosuch', 0)" 0
		EVAL "return redis.call('config', 'get', 'x')" 0
		FUNCTION LOAD "#!lua name=l\nredis.register_function('f', function(k, a) return redis.call('set', k[1], a[1]) end)"
		FCALL f 1 k v
		FCALL_RO f 1 k v
		FUNCTION FLUSH
		MULTI
		EVAL "return redis.call('get', 'k')" 0
		SUBSCRIBE c
		UNSUBSCRIBE c
		EXEC
		CLIENT SETINFO LIB-NAME x
		CLIENT SETNAME me
		CLIENT SETNAME "a b"
		CLIENT NO-TOUCH ON
		CLIENT TRACKING ON
		CLIENT CACHING YES
		CLIENT TRACKING OFF
		ACL SETUSER u on >secret ~* +@all
		ACL WHOAMI
		AUTH u wrong
		AUTH u secret
		ACL GETUSER u
		HELLO 2 AUTH u secret
		HELLO 2 AUTH u
		HELLO 2 AUTH u secret NOSUCH AUTH u
		HELLO 2 AUTH u secret AUTH u secret
		HELLO 2 SETNAME AUTH AUTH u secret
		AUTH default x
		ACL DELUSER u
		WATCH k
		UNWATCH
		"" x
		ECHO "\x7f\x80\xc3\xa9 \x1b"
		OBJECT ENCODING k
		COMMAND COUNT
		LATENCY LATEST
		SLOWLOG LEN
		SCRIPT EXISTS x
		PUBSUB NUMPAT
		RESTORE k 0 x
		MIGRATE
		FLUSHALL
	`, "\n") {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		p.do(words(t, l)...)
		require.Equal(t, shown(&p.redis), shown(&p.ours), l)
	}
}

// TestMonitorSession compares what a monitoring client may do, on new connections.
func TestMonitorSession(t *testing.T) {
	p := startPair(t, "")
	for _, version := range []int{2, 3} {
		p.begin(version)
		for _, l := range strings.Split(`
			MONITOR
			GET k
			SET k v
			PUBLISH a x
			FLUSHALL
			RESET
			GET k
			MULTI
			MONITOR
			EXEC
			GET k
			MONITOR x
		`, "\n") {
			if l = strings.TrimSpace(l); l == "" {
				continue
			}
			a, b := p.do(words(t, l)...)
			require.Truef(t, a.Equal(b), "version %d, %s\n  %s", version, l, differ(a, b))
		}
	}
}

// TestSlowlog compares SLOWLOG when every command counts as slow.
func TestSlowlog(t *testing.T) {
	p := startPair(t, "")
	p.begin(2)
	p.do("CONFIG", "SET", "slowlog-log-slower-than", "0")
	p.do("SLOWLOG", "RESET")
	for _, l := range strings.Split(`
		SET k v
		GET
		NOSUCH
		HSET k f v
		SET k {x*128}
		SET k {y*129}
		MGET 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
		MGET 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
		CLIENT SETNAME me
		AUTH x
		HELLO 2 AUTH default x
		CONFIG SET requirepass ""
		MULTI
		GET k
		EXEC
		SLOWLOG GET abc
		SLOWLOG GET -2
		SLOWLOG GET 1 2
		SLOWLOG GET 0
		SLOWLOG LEN
		SLOWLOG LEN x
		SLOWLOG GET -1
		SLOWLOG GET 3
		SLOWLOG GET
		CONFIG SET slowlog-max-len 3
		SLOWLOG GET -1
		SLOWLOG LEN
		CONFIG SET slowlog-max-len 128
		GET k
		SLOWLOG RESET
		SLOWLOG GET
		CONFIG SET slowlog-log-slower-than -1
		GET k
		SLOWLOG LEN
		LATENCY HISTORY x
		LATENCY GRAPH x
		LATENCY LATEST
		LATENCY RESET
		LATENCY RESET x
		LATENCY HISTOGRAM nosuch
		LATENCY BAD
		LATENCY
		SLOWLOG
		SLOWLOG BAD
	`, "\n") {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		a, b := p.do(words(t, expand(l))...)
		if strings.HasPrefix(l, "HELLO") {
			continue
		}
		a, b = entriesOnly(a), entriesOnly(b)
		require.Truef(t, a.Equal(b), "%s\n  %s", l, differ(a, b))
	}
}

// entriesOnly removes the data from SLOWLOG GET's reply that may differ.
func entriesOnly(v resp.Value) resp.Value {
	for i, e := range v.Elems {
		if len(e.Elems) == 6 {
			e.Elems[1], e.Elems[2], e.Elems[4] = resp.Value{}, resp.Value{}, resp.Value{}
			v.Elems[i] = e
		}
	}
	return v
}
