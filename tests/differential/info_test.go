//go:build oracle

package differential

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// withoutMeaning lists the fields of Redis' INFO that are left out, with the reason (D21).
var withoutMeaning = map[string]string{
	"atomicvar_api": "Go's own",
}

// ourFields lists the fields that Redis does not have.
var ourFields = []string{"lockserver_release", "go_release", "acl_access_denied_db", "longest_turn_usec"}

// TestInfoFields compares the names of INFO's fields, and their order.
func TestInfoFields(t *testing.T) {
	p := startPair(t, "")
	p.begin(2)
	for _, args := range [][]string{{"SET", "k", "v"}, {"SELECT", "3"}, {"SET", "k", "v"}} {
		p.do(args...)
	}
	for _, section := range []string{"server", "clients", "persistence", "stats", "replication", "cpu", "modules", "module_list",
		"errorstats", "cluster", "keyspace", "nosuch"} {
		ours, redis := p.do("INFO", section)
		a, b := fieldNames(ours.Str), fieldNames(redis.Str)
		a = slices.DeleteFunc(a, func(name string) bool {
			return slices.Contains(ourFields, name) || strings.HasPrefix(name, "listener")
		})
		b = slices.DeleteFunc(b, func(name string) bool { return withoutMeaning[name] != "" || strings.HasPrefix(name, "listener") })
		require.Equal(t, b, a, section)
	}
	headlines := func(text string) (lines []string) {
		for _, name := range fieldNames(text) {
			if strings.HasPrefix(name, "# ") && name != "# Locks" && name != "# Delays" {
				lines = append(lines, name)
			}
		}
		return lines
	}
	for _, words := range [][]string{{}, {"default"}, {"all"}, {"everything"}, {"cpu", "server"}} {
		ours, redis := p.do(append([]string{"INFO"}, words...)...)
		require.Equal(t, headlines(redis.Str), headlines(ours.Str), words)
	}
}

// fieldNames returns the names of INFO's fields, and its headings.
func fieldNames(text string) (names []string) {
	for _, line := range strings.Split(strings.TrimSuffix(text, "\r\n"), "\r\n") {
		name, _, _ := strings.Cut(line, ":")
		names = append(names, name)
	}
	return names
}

// sameFigures lists the fields that have the same value after the same events.
var sameFigures = []string{"arch_bits", "redis_mode", "process_supervised", "connected_clients", "cluster_connections",
	"maxclients", "blocked_clients", "tracking_clients", "pubsub_clients", "watching_clients", "clients_in_timeout_table",
	"total_watched_keys", "total_blocking_keys", "total_blocking_keys_on_nokey", "loading", "async_loading",
	"rdb_bgsave_in_progress", "rdb_last_bgsave_status", "rdb_last_bgsave_time_sec",
	"rdb_current_bgsave_time_sec", "rdb_saves", "rdb_last_load_keys_expired", "rdb_last_load_keys_loaded", "aof_enabled",
	"total_connections_received", "rejected_connections", "expired_subkeys", "expired_keys", "evicted_keys", "evicted_clients",
	"evicted_scripts", "pubsub_channels", "pubsub_patterns", "pubsubshard_channels",
	"latest_fork_usec", "total_forks", "tracking_total_keys", "tracking_total_items", "tracking_total_prefixes",
	"unexpected_error_replies", "total_error_replies", "dump_payload_sanitizations", "io_threaded_reads_processed", "client_query_buffer_limit_disconnections",
	"client_output_buffer_limit_disconnections", "acl_access_denied_auth", "acl_access_denied_cmd", "role",
	"connected_slaves", "master_failover_state", "master_replid2", "second_repl_offset",
	"repl_backlog_active", "repl_backlog_size", "used_cpu_sys_children", "cluster_enabled", "db0", "db2"}

// trafficFigures lists fields that are compared only if the test has not asked either server for INFO, or
// whether a client waits.
var trafficFigures = []string{"total_net_input_bytes", "total_net_output_bytes", "total_reads_processed", "total_writes_processed",
	"total_commands_processed"}

// TestInfoFigures compares the counters after the same events.
func TestInfoFigures(t *testing.T) {
	const first = `
		A SET k v
		A GET k
		A GET none
		A EXISTS k k none
		A NOSUCH
		A GET
		A HSET k f v
		A AUTH wrong user
		A AUTH x
		A MULTI
		A SET k v
		A LPUSH k v
		A NOSUCH
		A EXEC
		A MULTI
		A SET k v
		A LPUSH k v
		A EXEC
		A MULTI
		A GET k
		A DISCARD
		A EVAL "redis.call('set', KEYS[1], 1) return redis.pcall('lpush', KEYS[1], 1)" 1 s
		A EVAL "return redis.call('lpush', KEYS[1], 1)" 1 s
		A EVAL "return redis.call('nosuch')" 0
		A WATCH k l none
		B WATCH k
		G SUBSCRIBE c
		H PSUBSCRIBE p*
		I CLIENT TRACKING ON
		I GET k
		A SELECT 2
		A SET x y PX 1000000
		A HSET h f v g w
		A HPEXPIRE h 1000000 FIELDS 1 f
		A SET gone y PX 1
		sleep 30
		A GET gone
		A PUBLISH c m
	`
	t.Run("each", func(t *testing.T) {
		playFigures(t, first, true, sameFigures)
	})
	t.Run("traffic", func(t *testing.T) {
		playFigures(t, first, false, trafficFigures)
	})
	t.Run("waiting", func(t *testing.T) {
		playFigures(t, `
			B* BLPOP l m 0
			C* BRPOP l 100
			D* XREAD BLOCK 1000000 STREAMS s1 s2 $ $
			A XGROUP CREATE g1 g $ MKSTREAM
			E* XREADGROUP GROUP g c BLOCK 0 STREAMS g1 >
			A RPUSH l 1 2 3
			B<
			C<
			A XADD g1 1-1 f v
			E<
			D-
			A RESET
		`, true, sameFigures)
	})
}

// TestChangesOfThoseWhoWait compares how many changes count when commands wait, when keys expire, and in
// transactions and scripts. TestCases and TestGenerated compare the changes of other commands.
func TestChangesOfThoseWhoWait(t *testing.T) {
	playFigures(t, `
		B* BLPOP l m 0
		A RPUSH l 1 2 3
		B<
		B* BLMPOP 0 1 k LEFT COUNT 2
		A RPUSH k 1 2 3
		B<
		B* BLMOVE x l LEFT LEFT 0
		A RPUSH x 1 2
		B<
		B* BRPOPLPUSH y y 0
		A RPUSH y 1 2
		B<
		B* BZPOPMIN z 0
		A ZADD z 1 a 2 b 3 c
		B<
		B* BZMPOP 0 1 zz MIN COUNT 2
		A ZADD zz 1 a 2 b 3 c
		B<
		A XGROUP CREATE s g $ MKSTREAM
		B* XREADGROUP GROUP g c BLOCK 0 STREAMS s >
		A XADD s 1-1 f v
		B<
		B* XREAD BLOCK 0 STREAMS s $
		A XADD s 2-1 f v
		B<
		A SET gone y PX 1
		sleep 30
		A GET gone
		A HSET h f v g w
		A HPEXPIRE h 1 FIELDS 1 f
		sleep 30
		A HGETALL h
		A MULTI
		A SET k v
		A LPUSH x 1 2 3
		A NOSUCH
		A EXEC
		A MULTI
		A SET k v
		A LPUSH x 1 2 3
		A LPUSH k 1
		A EXEC
		A EVAL "redis.call('set', KEYS[1], 1) redis.call('rpush', KEYS[2], 1, 2) return redis.pcall('lpush', KEYS[1], 1)" 2 k l
		A FUNCTION LOAD "#!lua name=x\nredis.register_function('f', function() return 1 end)"
		A FUNCTION DELETE x
		A FLUSHDB
		A FLUSHALL
		A CONFIG SET maxmemory-policy allkeys-random
		A SET k v
		A CONFIG SET maxmemory 1
		A CONFIG SET maxmemory 0
		A SET k v
		A SWAPDB 0 1
		A SWAPDB 1 1
	`, true, []string{"rdb_changes_since_last_save"})
}

// playFigures plays lines on new servers, and compares figures after each line, or at the end.
func playFigures(t *testing.T, lines string, each bool, figures []string) {
	p := startPair(t, "")
	p.begin(2)
	for _, s := range p.sides() {
		for !each && testkit.Dial(t, s.dial).Do("CLIENT", "ID").Int < 20 { // from now on all ids have the same number of digits
		}
		require.Equal(t, "+OK", s.Do("CONFIG", "SET", "maxclients", "100").String())
		require.Equal(t, "+OK", s.Do("CONFIG", "RESETSTAT").String())
	}
	s := &stage{pair: p, version: "2", ours: map[string]*actor{}, redis: map[string]*actor{}}
	last := [2]map[string]string{}
	for _, l := range strings.Split(lines, "\n") {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		s.step(l)
		if each {
			compareFigures(p, figures, l, &last, 1000)
		}
	}
	if !each { // the question itself is traffic, so it comes once, at the end
		time.Sleep(time.Second)
	}
	compareFigures(p, figures, "the end", &last, 0)
}

// compareFigures compares the fields that must be equal, and reports those that were equal the last time. A
// message to another client, or a deadline, may be counted late on either server, so it asks up to most
// times.
func compareFigures(p *pair, figures []string, after string, last *[2]map[string]string, most int) {
	p.t.Helper()
	for tries := 0; ; tries++ {
		now, wrong := differingFigures(p, figures, last)
		if len(wrong) == 0 || tries == most {
			for _, text := range wrong {
				p.t.Errorf("after %s: %s", after, text)
			}
			*last = now
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// differingFigures asks both servers, and returns the fields that differ.
func differingFigures(p *pair, figures []string, last *[2]map[string]string) (now [2]map[string]string, wrong []string) {
	ours, redis := p.do("INFO")
	a, b := infoFields(ours.Str), infoFields(redis.Str)
	for _, name := range figures {
		if mean := "avg_ttl="; strings.HasPrefix(name, "db") { // an estimate in Redis
			a[name], _, _ = strings.Cut(a[name], mean)
			b[name], _, _ = strings.Cut(b[name], mean)
		}
		if a[name] != b[name] && (a[name] != last[0][name] || b[name] != last[1][name]) {
			wrong = append(wrong, fmt.Sprintf("%s is %q, of Redis %q", name, a[name], b[name]))
		}
	}
	return [2]map[string]string{a, b}, wrong
}

// infoFields returns INFO's fields by name.
func infoFields(text string) map[string]string {
	fields := map[string]string{}
	for _, line := range strings.Split(text, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = value
		}
	}
	return fields
}
