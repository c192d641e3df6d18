//go:build oracle

package differential

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// refusals plays commands on servers that cannot save and, at the end, have no memory left. If there are
// several reasons against a command, both servers must report the same one.
const refusals play = `
	A SET k v
	A PING
	A DEL k
	A GET k
	A GET
	A NOSUCH k
	T EXEC
	T GET k
	P EXEC
	W CONFIG SET maxmemory 1
	A SET k v
	A SET k
	A DEL k
	A PING
	A GET k
	A MULTI
	A PING
	A SAVE
	A MONITOR
	A GET k
	A NOSUCH
	A EXEC
	A MULTI
	A DEL k
	A DISCARD
	A MULTI
	A RESET
	S SUBSCRIBE c
	S SET k v
	S DEL k
	S PING
	S GET k
	S SAVE
	S NOSUCH
	M MONITOR
	M SET k v
	M DEL k
	M PING
	M GET k
	M NOSUCH
	R EXEC
	W CONFIG SET maxmemory 0
	A MULTI
	A GET k
	A SAVE
	A EXEC
	A EVAL "return redis.call('SET', KEYS[1], 'v')" 1 k
	A EVAL "return redis.call('GET', KEYS[1])" 1 k
`

// TestOrderOfRefusals makes saving fail: there is a directory with the snapshot's name.
func TestOrderOfRefusals(t *testing.T) {
	conf, dir := configOf(""), t.TempDir()
	conf.Dir, conf.DBFilename, conf.Save = dir, "dump.rdb", []config.SavePoint{{PeriodMS: 3_600_000, Changes: 100_000}}
	srv, err := server.New(server.Options{Directives: conf.Directives(), Seed: 1})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	redis := testkit.StartRedis(t, "--save", "3600 100000")
	p := &pair{t: t, server: srv}
	p.ours.dial, p.redis.dial = srv.Dial, redis.Dial
	for _, version := range []string{"2", "3"} {
		p.begin(2)
		s := &stage{pair: p, version: version, ours: map[string]*actor{}, redis: map[string]*actor{}}
		for _, l := range []string{"A SET k w", "T MULTI", "T SET k x", "P MULTI", "P PING", "R MULTI", "R GET k"} {
			s.step(l)
		}
		for _, d := range []string{dir, redis.Dir} {
			require.NoError(t, os.RemoveAll(filepath.Join(d, "dump.rdb")))
			require.NoError(t, os.MkdirAll(filepath.Join(d, "dump.rdb", "not empty"), 0o755))
		}
		for _, s := range p.sides() {
			require.Equal(t, "+Background saving started", s.watch.Do("BGSAVE").String())
			awaitStatus(t, s.watch, "err")
		}
		for _, l := range strings.Split(string(refusals), "\n") {
			if l = strings.TrimSpace(l); l != "" {
				s.step(l)
			}
		}
		for i, d := range []string{dir, redis.Dir} {
			require.NoError(t, os.RemoveAll(filepath.Join(d, "dump.rdb")))
			watch := p.sides()[i].watch
			require.Equal(t, "+Background saving started", watch.Do("BGSAVE").String())
			awaitStatus(t, watch, "ok")
		}
		require.Empty(t, p.diff())
	}
}

// awaitStatus waits until a background save has ended with a status.
func awaitStatus(t *testing.T, c *testkit.Client, status string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		info := c.Do("INFO", "persistence").Str
		if strings.Contains(info, "rdb_bgsave_in_progress:0\r\n") && strings.Contains(info, "rdb_last_bgsave_status:"+status+"\r\n") {
			return
		}
		require.True(t, time.Now().Before(end), info)
	}
}
