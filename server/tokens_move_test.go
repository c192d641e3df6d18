package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/persistence"
	"lockserver/store"
)

// mover moves locks between two servers. Their clocks stand still and differ, so that no clock hides a token
// that falls.
type mover struct {
	t       *testing.T
	rng     *rand.Rand
	at      time.Time
	servers [2]*instance
	ahead   [2]time.Duration // of each server's clock
	highest int64            // token that any server has given out, or that a lock had that was moved
}

// tokenWay brings the lock at a key from one server to another. The lock may end at once there: the test
// wants the tokens that come after it.
type tokenWay struct {
	name string
	run  func(m *mover, from, to int, key string)
}

func (m *mover) do(i int, args ...string) resp.Value {
	m.t.Helper()
	c := client(m.t, m.servers[i])
	defer c.Close()
	r := c.Do(args...)
	require.False(m.t, r.IsError(), "%q: %s", args, r.String())
	return r
}

// replace starts another server in the place of one.
func (m *mover) replace(i int, c *config.Config) {
	m.t.Helper()
	if srv := m.servers[i]; srv != nil {
		require.NoError(m.t, srv.Close())
	}
	directives := c.Directives()
	directives["repl-diskless-sync-delay"] = "0"
	m.servers[i] = start(m.t, Options{Directives: directives, Clock: NewManualClock(m.at.Add(m.ahead[i]))})
}

// token reads a moved lock's token.
func (m *mover) token(i int, key string) string { return m.do(i, "HGET", key, "$token").Str }

// written is a way on which one command writes the token, followed by others.
func written(name string, commands func(key, token string) [][]string) tokenWay {
	return tokenWay{name, func(m *mover, from, to int, key string) {
		token := m.token(from, key)
		m.do(to, "DEL", key)
		for _, args := range commands(key, token) {
			m.do(to, args...)
		}
	}}
}

// startOnLog starts a server on a log of these commands.
func startOnLog(m *mover, to int, commands [][]string) {
	var log bytes.Buffer
	for _, args := range commands {
		fmt.Fprintf(&log, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(&log, "$%d\r\n%s\r\n", len(a), a)
		}
	}
	dir := m.t.TempDir()
	require.NoError(m.t, os.WriteFile(filepath.Join(dir, "appendonly.aof"), log.Bytes(), 0o644))
	m.replace(to, logged(dir, "always"))
}

// snapshotOf starts a server on a snapshot with a lock, as a Redis writes it: it states no limit of tokens.
func snapshotOf(m *mover, to int, key, token string, deadlineMS int64) {
	s := store.New(16, store.Limits{})
	edit := s.DB(0).EditHash([]byte(key))
	edit.Set([]byte("alice"), []byte("1"))
	edit.Set([]byte("$token"), []byte(token))
	edit.Expire(deadlineMS)
	cut := s.Cut()
	defer cut.Release()
	dir := m.t.TempDir()
	var file bytes.Buffer
	_, err := persistence.Save(&file, cut, persistence.SaveOptions{Checksum: true})
	require.NoError(m.t, err)
	require.NoError(m.t, os.WriteFile(filepath.Join(dir, "dump.rdb"), file.Bytes(), 0o644))
	m.replace(to, inDir(dir))
}

// tokenWays are all ways on which a token comes to a server.
func tokenWays() []tokenWay {
	return []tokenWay{
		{"RESTORE", func(m *mover, from, to int, key string) {
			m.do(to, "RESTORE", key, "0", m.do(from, "DUMP", key).Str, "REPLACE")
		}},
		{"RESTORE-ASKING", func(m *mover, from, to int, key string) {
			m.do(to, "RESTORE-ASKING", key, "0", m.do(from, "DUMP", key).Str, "REPLACE")
		}},
		{"MIGRATE", func(m *mover, from, to int, key string) {
			_, port, err := net.SplitHostPort(m.servers[to].Addr().String())
			require.NoError(m.t, err)
			m.do(from, "MIGRATE", "127.0.0.1", port, key, "0", "60000", "COPY", "REPLACE")
		}},
		{"RESTORE of what is over", func(m *mover, from, to int, key string) {
			m.do(to, "RESTORE", key, "1", m.do(from, "DUMP", key).Str, "REPLACE", "ABSTTL")
		}},
		{"RESTORE, COPY, MOVE, RENAME, SWAPDB", func(m *mover, from, to int, key string) {
			m.do(to, "RESTORE", "x", "0", m.do(from, "DUMP", key).Str, "REPLACE")
			m.do(to, "COPY", "x", "y", "REPLACE")
			m.do(to, "RENAME", "y", "z")
			m.do(to, "DEL", "x")
			m.do(to, "MOVE", "z", "9")
			m.do(to, "SWAPDB", "9", "8")
			m.do(to, "FLUSHALL")
		}},
		written("HSET", func(key, token string) [][]string { return [][]string{{"HSET", key, "alice", "1", "$token", token}} }),
		written("HMSET", func(key, token string) [][]string { return [][]string{{"HMSET", key, "$token", token, "alice", "1"}} }),
		written("HSETNX", func(key, token string) [][]string { return [][]string{{"HSETNX", key, "$token", token}} }),
		written("HINCRBY", func(key, token string) [][]string { return [][]string{{"HINCRBY", key, "$token", token}} }),
		written("HSETEX", func(key, token string) [][]string {
			return [][]string{{"HSETEX", key, "PX", "60000", "FIELDS", "1", "$token", token}}
		}),
		written("EVAL", func(key, token string) [][]string {
			return [][]string{{"EVAL", "redis.call('HSET', KEYS[1], '$token', ARGV[1]) redis.call('DEL', KEYS[1])", "1", key, token}}
		}),
		{"MULTI", moveInTransaction},
		written("a shared holder", func(key, token string) [][]string {
			return [][]string{{"HSET", key, "bob", "$" + token + ":1:0", "$mode", "read"}}
		}),
		{"a log", func(m *mover, from, to int, key string) {
			startOnLog(m, to, [][]string{{"HSET", key, "alice", "1", "$token", m.token(from, key)}, {"DEL", key}})
		}},
		{"a log with RESTORE", func(m *mover, from, to int, key string) {
			startOnLog(m, to, [][]string{{"RESTORE", key, "0", m.do(from, "DUMP", key).Str}, {"DEL", key}})
		}},
		{"a snapshot", func(m *mover, from, to int, key string) {
			snapshotOf(m, to, key, m.token(from, key), m.at.Add(1000*time.Hour).UnixMilli())
		}},
		{"a snapshot of what is over", func(m *mover, from, to int, key string) {
			snapshotOf(m, to, key, m.token(from, key), 1)
		}},
		{"replication", func(m *mover, from, to int, key string) {
			host, port, err := net.SplitHostPort(m.servers[from].Addr().String())
			require.NoError(m.t, err)
			m.do(to, "REPLICAOF", host, port)
			replica := client(m.t, m.servers[to])
			eventually(m.t, func() bool { return strings.Contains(replica.Do("INFO", "replication").Str, "master_link_status:up") }, "it follows")
			m.do(from, "LOCK", "on the link", "alice", "PX", "1000000")
			m.highest = max(m.highest, m.tokenNumber(from, "on the link"))
			m.do(from, "UNLOCK", "on the link", "alice")
			offset := infoField(m.t, client(m.t, m.servers[from]), "master_repl_offset")
			eventually(m.t, func() bool { return infoField(m.t, client(m.t, m.servers[to]), "master_repl_offset") == offset }, "all has come")
			m.do(to, "REPLICAOF", "NO", "ONE")
		}},
	}
}

// moveInTransaction writes the token between MULTI and EXEC.
func moveInTransaction(m *mover, from, to int, key string) {
	token := m.token(from, key)
	c := client(m.t, m.servers[to])
	defer c.Close()
	for _, args := range [][]string{{"MULTI"}, {"HSET", key, "$token", token}, {"HDEL", key, "$token"}, {"EXEC"}} {
		require.False(m.t, c.Do(args...).IsError())
	}
}

func (m *mover) tokenNumber(i int, key string) int64 {
	n, err := strconv.ParseInt(m.token(i, key), 10, 64)
	require.NoError(m.t, err)
	return n
}

// newMover starts two servers, one of them with a clock that is 50 minutes ahead. Their files are in
// directories, so that a server that is killed finds how high tokens were.
func newMover(t *testing.T, seed uint64) *mover {
	m := &mover{t: t, rng: rand.New(rand.NewPCG(seed, 1)), at: time.UnixMilli(1_750_000_000_000)}
	m.ahead = [2]time.Duration{50 * time.Minute, 0}
	for i := range m.servers {
		m.replace(i, inDir(t.TempDir()))
	}
	return m
}

// take gives a lock to an owner, and checks that its token is above all that were.
func (m *mover) take(i int, key, way string) {
	m.t.Helper()
	m.do(i, "DEL", key)
	token := m.do(i, "LOCK", key, "alice", "PX", "100000000").Int
	require.Greater(m.t, token, m.highest, "the token fell: %s", way)
	m.highest = token
}

// TestNoTokenFallsWhateverWayItCame: each way once, from the server that is ahead.
func TestNoTokenFallsWhateverWayItCame(t *testing.T) {
	for _, way := range tokenWays() {
		t.Run(way.name, func(t *testing.T) {
			m := newMover(t, 1)
			m.take(0, "door", "a first token")
			way.run(m, 0, 1, "door")
			m.take(1, "another door", way.name)
			m.take(1, "door", way.name)
		})
	}
}

// TestLocksMovedAtRandom moves locks to and fro on random ways, and kills a server now and then: it starts
// again from a copy of its directory.
func TestLocksMovedAtRandom(t *testing.T) {
	seed := rand.Uint64()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	m := newMover(t, seed)
	ways := tokenWays()
	from := 0
	for range 40 {
		key := "door:" + strconv.Itoa(m.rng.IntN(3))
		m.take(from, key, "on the server that has all of them")
		to := 1 - from
		way := ways[m.rng.IntN(len(ways))]
		way.run(m, from, to, key)
		if dir := m.servers[to].executor.config.Dir; m.rng.IntN(4) == 0 {
			m.do(to, "FLUSHALL")
			left := m.t.TempDir()
			require.NoError(m.t, os.CopyFS(left, os.DirFS(dir)))
			m.replace(to, inDir(left))
			way.name += ", and killed"
		}
		m.take(to, "door:"+strconv.Itoa(m.rng.IntN(3)), way.name)
		from = to
	}
}

// TestAbsurdTokens: what is beyond a hundred years from now, or negative, raises nothing and overflows
// nothing.
func TestAbsurdTokens(t *testing.T) {
	at := time.UnixMilli(1_750_000_000_000)
	srv := startWith(t, Options{Clock: NewManualClock(at)}, nil)
	c := client(t, srv)
	last := takeToken(t, srv, "k")
	for _, token := range []string{"9223372036854775807", "9223372036854775806", "-9223372036854775808", "9007199254740991", "9007199254740990",
		strconv.FormatInt(at.Add(37000*24*time.Hour).UnixMicro(), 10), "99999999999999999999", "x", ""} {
		require.False(t, c.Do("HSET", "h", "$token", token).IsError())
		require.False(t, c.Do("HSET", "s", "a", "$"+token+":1:0").IsError())
		require.False(t, c.Do("RESTORE", "r", "0", c.Do("DUMP", "h").Str, "REPLACE").IsError())
		next := takeToken(t, srv, "k")
		require.Equal(t, last+1, next, "%q", token)
		last = next
	}
	furthest := at.Add(36000 * 24 * time.Hour).UnixMicro()
	require.False(t, c.Do("HSET", "h", "$token", strconv.FormatInt(furthest, 10)).IsError())
	require.Equal(t, furthest+1, takeToken(t, srv, "k"))
}
