//go:build oracle

package rdb

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// storeRefuses lists files that the reader accepts, and package persistence refuses.
var storeRefuses = []handmade{
	{name: "plain set twice", version: 10, body: cat(2, str("s"), 2, str("a"), str("a")), err: ErrCorrupt, reason: `"a" occurs twice`},
	{name: "plain hash twice", version: 10, body: cat(4, str("h"), 2, str("a"), str("1"), str("a"), str("2")), err: ErrCorrupt, reason: `"a" occurs twice`, redisLoads: true},
	{name: "plain zset twice", version: 10, body: cat(5, str("z"), 2, str("a"), double(1), str("a"), double(2)), err: ErrCorrupt, reason: `"a" occurs twice`},
}

// redis is a real redis-server with its own directory.
type redis struct {
	t      *testing.T
	dir    string
	socket string
}

// startRedis starts a server. It loads the snapshot, if it is not nil.
func startRedis(t *testing.T, snapshot []byte, args ...string) *redis {
	r := &redis{t: t, dir: t.TempDir()}
	if snapshot != nil {
		require.NoError(t, os.WriteFile(r.dump(), snapshot, 0o644))
	}
	r.socket = testkit.Installed(t).Start(t, append([]string{"--dir", r.dir, "--enable-debug-command", "yes"}, args...)...).Socket
	return r
}

func (r *redis) dump() string { return filepath.Join(r.dir, "dump.rdb") }

// run passes lines of commands to redis-cli; no command may fail.
func (r *redis) run(lines ...string) string {
	cmd := exec.Command("redis-cli", "-s", r.socket)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err)
	require.NotContains(r.t, string(out), "ERR", "%s", lines)
	return string(out)
}

// save makes the server write its snapshot and returns it.
func (r *redis) save() []byte {
	require.Equal(r.t, "OK\n", r.run("SAVE"))
	b, err := os.ReadFile(r.dump())
	require.NoError(r.t, err)
	return b
}

// checkRDB runs redis-check-rdb.
func checkRDB(t *testing.T, data []byte) {
	path := filepath.Join(t.TempDir(), "x.rdb")
	require.NoError(t, os.WriteFile(path, data, 0o644))
	out, err := exec.Command("redis-check-rdb", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "RDB looks OK")
}

// rewrite reads a snapshot and writes it again.
func rewrite(t *testing.T, data []byte, opts WriterOptions) []byte {
	var out bytes.Buffer
	require.NoError(t, copySnapshot(&out, bytes.NewReader(data), opts))
	return out.Bytes()
}

// justUsed returns a copy of a snapshot in which keys that were idle for less than a minute count as just
// used: Redis counts the seconds since the test began.
func justUsed(s snapshot) snapshot {
	idle := regexp.MustCompile(` idle=[1-5]?[0-9]\b`)
	for key, value := range s {
		s[key] = idle.ReplaceAllString(value, " idle=0")
	}
	return s
}

func TestOracleGolden(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			r := startRedis(t, nil, g.args...)
			if len(g.commands) > 0 {
				r.run(g.commands...)
			}
			data := r.save()
			if os.Getenv("RDB_GOLDEN") == "write" {
				require.NoError(t, os.MkdirAll(filepath.Dir(g.path()), 0o755))
				require.NoError(t, os.WriteFile(g.path(), data, 0o644))
			}
			got, _, err := readAll(bytes.NewReader(data), ReaderOptions{})
			require.NoError(t, err)
			require.Equal(t, g.want, justUsed(got))
			digest := r.run("DEBUG DIGEST")
			for _, opts := range []WriterOptions{{}, {Compress: true}, {NoChecksum: true}} {
				again := rewrite(t, data, opts)
				checkRDB(t, again)
				second := startRedis(t, again, g.args...)
				require.Equal(t, digest, second.run("DEBUG DIGEST"))
				got, _, err := readAll(bytes.NewReader(second.save()), ReaderOptions{})
				require.NoError(t, err)
				require.Equal(t, g.want, justUsed(got))
			}
		})
	}
}

// TestOracleOldEncodings makes redis-server read the handmade files that it knows.
func TestOracleOldEncodings(t *testing.T) {
	for _, h := range handmades {
		if h.version > Version7 || h.err != nil {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			r := startRedis(t, h.data())
			got, _, err := readAll(bytes.NewReader(r.save()), ReaderOptions{})
			require.NoError(t, err)
			want := h.want
			if h.redis != nil {
				want = h.redis
			}
			require.Equal(t, want, got)
		})
	}
}

func TestOracleRandomSnapshot(t *testing.T) {
	for seed := range uint64(4) {
		t.Logf("seed %d", seed)
		data, want := randomSnapshot(t, seed, WriterOptions{Compress: seed%2 == 0})
		checkRDB(t, data)
		r := startRedis(t, data, "--sanitize-dump-payload", "yes")
		got, _, err := readAll(bytes.NewReader(r.save()), ReaderOptions{})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// quoted writes bytes in redis-cli's form.
func quoted(b []byte) string {
	var s strings.Builder
	s.WriteByte('"')
	for _, c := range b {
		fmt.Fprintf(&s, `\x%02x`, c)
	}
	return s.String() + `"`
}

// TestOraclePayloads reads the payloads of DUMP, and passes our payloads to RESTORE.
func TestOraclePayloads(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			data, err := os.ReadFile(g.path())
			require.NoError(t, err)
			r := startRedis(t, data, g.args...)
			rd := NewReader(bytes.NewReader(data), ReaderOptions{})
			for {
				e, err := rd.Next()
				if err == io.EOF {
					break
				}
				require.NoError(t, err)
				if e.DB != 0 {
					continue
				}
				want, err := describeObject(&e.Object)
				require.NoError(t, err)
				key := quoted(e.Key)
				dumped, err := exec.Command("redis-cli", "-s", r.socket, "--no-raw", "DUMP", string(e.Key)).Output()
				require.NoError(t, err)
				raw, err := strconv.Unquote(strings.TrimSpace(string(dumped)))
				require.NoError(t, err)
				p, err := ParsePayload([]byte(raw))
				require.NoError(t, err)
				got, err := describeObject(&p.Object)
				require.NoError(t, err)
				require.NoError(t, p.Finish())
				require.Equal(t, want, got)

				p, err = ParsePayload([]byte(raw))
				require.NoError(t, err)
				again, err := DumpPayload(nil, WriterOptions{Compress: true}, func(w *Writer) { copyObject(w, &p.Object) })
				require.NoError(t, err)
				r.run("RESTORE again 0 "+quoted(again)+" REPLACE", "PERSIST "+key)
				require.Equal(t, r.run("DEBUG DIGEST-VALUE "+key), r.run("DEBUG DIGEST-VALUE again"))
			}
		})
	}
}

// TestOracleRefusals starts redis-server on each file that is refused here. With sanitize-dump-payload yes,
// Redis also refuses most of the files that it loads otherwise.
func TestOracleRefusals(t *testing.T) {
	for _, h := range append(slices.Clone(handmades), storeRefuses...) {
		if h.err == nil {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			require.Equal(t, h.redisLoads, startsOn(t, h.data()), "does Redis load it?")
			require.Equal(t, h.unseen, startsOn(t, h.data(), "--sanitize-dump-payload", "yes"), "does it if it looks?")
		})
	}
}

// startsOn reports whether redis-server starts on a snapshot.
func startsOn(t *testing.T, snapshot []byte, args ...string) bool {
	p := testkit.Prepare(t, testkit.Command{Program: string(testkit.Oracle(t))})
	p.Addr = filepath.Join(p.Dir, "s")
	p.Args = append([]string{"--port", "0", "--unixsocket", p.Addr, "--dir", p.Dir}, args...)
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "dump.rdb"), snapshot, 0o644))
	return p.Start() == nil
}
