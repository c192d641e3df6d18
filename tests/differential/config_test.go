//go:build oracle

package differential

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// ownConfig holds the directives that are not compared here, with the reason.
var ownConfig = map[string]string{
	"bind": "D11", "dir": "the two have their own", "port": "the same", "unixsocket": "the same", "unixsocketperm": "the same",
	"dbfilename": "the same", "save": "the same", "enable-debug-command": "the same", "enable-protected-configs": "the same",
	"enable-module-command": "the same", "logfile": "the same", "pidfile": "the same",
	"maxclients": "goes by the limit of open files", "appendonly": "D73", "daemonize": "D18", "supervised": "D18", "cluster-enabled": "D18",
	"locale-collate": "D44", "maxmemory-clients": "D18", "aclfile": "D14",
	"cluster-link-sendbuf-limit": "unsigned in Redis", "maxmemory": "unsigned in Redis",
	"oom-score-adj": "Redis may not be allowed to", "notify-keyspace-events": "D29", "requirepass": "locks the tests out",
	"maxmemory-eviction-tenacity": "D18", "acl-pubsub-default": "D14", "acllog-max-len": "D14", "syslog-enabled": "D18",
}

// hiddenConfig are directives that CONFIG GET * does not show.
var hiddenConfig = []string{"aof-disable-auto-gc", "use-exit-on-panic", "rdb-key-save-delay", "key-load-delay", "cluster-ping-interval",
	"loading-process-events-interval-bytes"}

// configValues are set for every directive: valid for some, invalid for most.
var configValues = []string{"", "abc", "-1", "0", "1", "2", "100", "101", "1001", "65535", "65536", "2147483647", "2147483648", "-2147483648", "-2147483649",
	"9223372036854775807", "9223372036854775808", "yes", "no", "YES", "No ", "1kb", "1MB", "1k", "-1mb", "5%", "1.5", "01", "+1", " 1", "a b", "1 2", "1 2 3",
	"10 20 30", "-2001 0 1", "50 99", "50 101", "x 5", "swapdb", "clients", "{title}", "{port}", "{nosuch}", "{title", "a.b", "a_b", "a!b", "absolute", "1gb",
	"1 2 3 4", "everysec", "Debug", "allkeys-lru", "save force", "pubsub 1 2 3", "TLSv1.2"}

// pairsOf returns a reply of CONFIG GET, sorted.
func pairsOf(v resp.Value) []string {
	var pairs []string
	for i := 0; i+1 < len(v.Elems); i += 2 {
		pairs = append(pairs, v.Elems[i].Str+" "+v.Elems[i+1].Str)
	}
	slices.Sort(pairs)
	return pairs
}

// TestEveryDirective reads each directive of Redis and sets it to its default and to many values. It compares
// the replies and the value afterwards.
func TestEveryDirective(t *testing.T) {
	p := startPair(t, "")
	defaults := pairsOf(p.redis.Do("CONFIG", "GET", "*"))
	require.Greater(t, len(defaults), 190)
	for _, h := range hiddenConfig {
		require.NotContains(t, defaults, h+" 0")
		defaults = append(defaults, h+" "+p.redis.Do("CONFIG", "GET", h).Elems[1].Str)
	}
	ours := pairsOf(p.ours.Do("CONFIG", "GET", "*"))
	for _, pair := range defaults {
		name, value, _ := strings.Cut(pair, " ")
		if ownConfig[name] != "" || strings.HasPrefix(name, "tls-") {
			continue
		}
		started := name == "hz" // the tests start Redis with another value
		if !started && !slices.Contains(hiddenConfig, name) && !slices.Contains(ours, pair) {
			t.Errorf("%s is not shown so", pair)
		}
		for _, v := range append(append([]string{value}, configValues...), value) {
			for _, args := range [][]string{{"CONFIG", "SET", name, v}, {"CONFIG", "GET", name}} {
				ours, redis := p.do(args...)
				if !ours.Equal(redis) {
					t.Errorf("%q\n  %s", args, differ(ours, redis))
				}
			}
		}
	}
}

// TestSeveralDirectives sets several directives at once, all or none.
func TestSeveralDirectives(t *testing.T) {
	p := startPair(t, "")
	for _, l := range []string{
		"CONFIG SET hz 10", "CONFIG SET hz 20 timeout x", "CONFIG GET hz timeout", "CONFIG SET hz 20 databases 3", "CONFIG SET databases 3 hz 20",
		"CONFIG SET nosuch 1 hz x", "CONFIG SET hz x nosuch 1", "CONFIG SET hz 30 timeout 7 tcp-keepalive 9", "CONFIG GET hz timeout tcp-keepalive",
		"CONFIG SET hz 30 HZ 40", "CONFIG SET slave-read-only no replica-read-only yes", "CONFIG GET *-read-only", "CONFIG SET slaveof x",
		"CONFIG SET replicaof \"no one\"", "CONFIG SET unixsocket x", "CONFIG SET unixsocketperm 700", "CONFIG SET databases 1 databases 2",
		"CONFIG GET *slave*", "CONFIG GET rdb-key*", "CONFIG GET RDB-KEY-save-delay", "CONFIG GET PORT por? port", "CONFIG GET h[z] HZ hz\\\\",
		"CONFIG GET", "CONFIG SET", "CONFIG SET a", "CONFIG SET hz 10 hz", "CONFIG RESETSTAT x", "CONFIG NOSUCH", "CONFIG REWRITE x",
	} {
		args := words(t, l)
		ours, redis := p.do(args...)
		if strings.Contains(l, "por?") { // each server has its own port
			ours, redis = ours.Elems[0], redis.Elems[0]
		}
		same := ours.Equal(redis)
		if args[1] == "GET" && len(args) > 2 && !strings.Contains(l, "por?") {
			same = slices.Equal(pairsOf(ours), pairsOf(redis))
		}
		if !same {
			t.Errorf("%s\n  %s", l, differ(ours, redis))
		}
	}
}

// TestSecretDirectivesInTheSlowLog sets each common directive to a word, which most refuse, and compares how
// SLOWLOG shows the call.
func TestSecretDirectivesInTheSlowLog(t *testing.T) {
	p := startPair(t, "")
	p.do("CONFIG", "SET", "slowlog-log-slower-than", "0")
	hidden := 0
	for _, pair := range pairsOf(p.redis.Do("CONFIG", "GET", "*")) {
		name, _, _ := strings.Cut(pair, " ")
		p.do("CONFIG", "SET", "maxclients", "1000", name, "hush")
		ours, redis := p.do("SLOWLOG", "GET", "1")
		ours, redis = ours.Elems[0].Elems[3], redis.Elems[0].Elems[3]
		if !ours.Equal(redis) {
			t.Errorf("%s\n  %s", name, differ(ours, redis))
		}
		if strings.Contains(redis.String(), "(redacted)") {
			hidden++
		}
		if name == "requirepass" { // otherwise the next connection is refused
			p.do("CONFIG", "SET", "requirepass", "")
		}
	}
	require.GreaterOrEqual(t, hidden, 3)
}
