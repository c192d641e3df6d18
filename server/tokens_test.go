package server

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/persistence/disk"
)

// tokenFile is the file of the limit. Its name and its format must not change.
const tokenFile = "lockserver.token"

// takeToken acquires and releases a lock and returns its token.
func takeToken(t *testing.T, srv *instance, key string) int64 {
	t.Helper()
	c := client(t, srv)
	defer c.Close()
	token := c.Do("LOCK", key, "o").Int
	require.Positive(t, token)
	require.EqualValues(t, 1, c.Do("UNLOCK", key, "o").Int)
	return token
}

func TestTokensRise(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_750_000_000_000)
	clock := NewManualClock(at)
	srv := startWith(t, Options{Clock: clock}, nil)
	first := takeToken(t, srv, "k")
	require.Equal(t, at.UnixMicro(), first, "the clock's microseconds")
	second := takeToken(t, srv, "j")
	require.Equal(t, first+1, second)
	client(t, srv).Do("FLUSHALL")
	require.Equal(t, first+2, takeToken(t, srv, "k"))
	clock.Advance(time.Second)
	require.Equal(t, at.UnixMicro()+1_000_000, takeToken(t, srv, "k"))
	clock.Set(at.Add(-24 * time.Hour))
	require.Equal(t, at.UnixMicro()+1_000_001, takeToken(t, srv, "k"), "the clock was set back")
}

func TestTokenStartsAboveOneLeftInTheLock(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, nil)
	c := client(t, srv)
	floor := time.Now().Add(24 * time.Hour).UnixMicro()
	c.Do("HSET", "k", "$token", strconv.FormatInt(floor, 10))
	require.Equal(t, floor+1, takeToken(t, srv, "k"))
	require.Greater(t, takeToken(t, srv, "j"), floor+1)
}

func TestTokensRiseOverRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := time.UnixMilli(1_750_000_000_000)
	last := int64(0)
	// The clock is set back a day with each start.
	for i := range 5 {
		clock := NewManualClock(at.Add(-time.Duration(i) * 24 * time.Hour))
		srv := start(t, Options{Directives: inDir(dir).Directives(), Clock: clock})
		for range 10 {
			token := takeToken(t, srv, "k")
			require.Greater(t, token, last)
			last = token
			clock.Advance(20 * time.Minute) // past the reservation, several times
		}
		require.LessOrEqual(t, last, tokenLimit(t, dir), "no token is above what the file says")
		require.NoError(t, srv.Close())
	}
}

func tokenLimit(t *testing.T, dir string) int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, tokenFile))
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(b), "\n"))
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	require.NoError(t, err)
	return n
}

// A server that is killed leaves its directory as it stands: the next one starts on a copy of it.
func TestTokensRiseOverKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	last := int64(0)
	for range 5 {
		left := dir
		dir = t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS(left)))
		srv := start(t, Options{Directives: inDir(dir).Directives(), Clock: clock}) // the one before still runs
		for range 1000 {
			srv.executor.Do(func() { last = max(last, requireAbove(t, services{&srv.executor}.NextToken(0), last)) })
		}
	}
}

func requireAbove(t *testing.T, token, last int64) int64 {
	t.Helper()
	require.Greater(t, token, last)
	return token
}

// The reservation is raised before it is used up, by one write for many tokens.
func TestTokenReservation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := time.UnixMilli(1_750_000_000_000)
	clock := NewManualClock(at)
	srv := start(t, Options{Directives: inDir(dir).Directives(), Clock: clock})
	limit := tokenLimit(t, dir)
	require.Equal(t, at.Add(time.Hour).UnixMicro(), limit)
	takeToken(t, srv, "k")
	clock.Advance(29 * time.Minute)
	takeToken(t, srv, "k")
	require.Equal(t, limit, tokenLimit(t, dir), "half of the block is left")
	clock.Advance(2 * time.Minute)
	require.Eventually(t, func() bool { return tokenLimit(t, dir) > limit }, 30*time.Second, time.Millisecond,
		"less than half of it is left")
	require.Greater(t, tokenLimit(t, dir), takeToken(t, srv, "k"))

	// The clock jumps over the whole block, and a token is wanted before housekeeping has looked.
	clock.Set(at.Add(100 * time.Hour))
	token := takeToken(t, srv, "k")
	require.GreaterOrEqual(t, tokenLimit(t, dir), token)
}

func TestDamagedTokenFileIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x\n", "-5\n", "12 13\n", "99999999999999999999\n", "9223372036854775807\n", "\x00\x00\x00"} {
		dir := t.TempDir()
		path := filepath.Join(dir, tokenFile)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		srv, err := newInstance(Options{Directives: inDir(dir).Directives()})
		require.NoError(t, err)
		err = srv.Start()
		require.ErrorContains(t, err, path, "%q", text)
		require.ErrorContains(t, err, "not a token limit", "%q", text)
		require.NoError(t, srv.Close())
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(left), "it is left as it was")
	}
}

func TestTokensWithoutAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := startWith(t, Options{}, func(c *config.Config) { c.Dir = dir })
	takeToken(t, srv, "k")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries, "a server without snapshots and configuration file writes nothing")
}

// Where the reservation cannot be written, tokens go by the clock, INFO says so, and it is tried again.
func TestReservationThatFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(dir, 0o755))
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := start(t, Options{Directives: inDir(dir).Directives(), Clock: clock})
	first := takeToken(t, srv, "k")
	require.NoError(t, os.RemoveAll(dir))
	clock.Advance(40 * time.Minute)
	c := client(t, srv)
	becomes := func(state string) {
		t.Helper()
		require.Eventually(t, func() bool {
			return strings.Contains(c.Do("INFO", "locks").Str, "lock_token_reservation:"+state+"\r\n")
		}, 30*time.Second, time.Millisecond)
	}
	becomes("err")
	require.Greater(t, takeToken(t, srv, "k"), first)
	require.NoError(t, os.Mkdir(dir, 0o755))
	clock.Advance(2 * time.Second)
	becomes("ok")
	require.Greater(t, tokenLimit(t, dir), takeToken(t, srv, "k"))
}

// CONFIG SET dir takes the reservation along.
func TestTokensMoveWithDir(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	at := time.UnixMilli(1_750_000_000_000)
	require.NoError(t, os.WriteFile(filepath.Join(to, tokenFile), []byte("1900000000000000\n"), 0o644))
	c := inDir(from)
	c.EnableProtectedConfigs = config.AccessLocal
	srv := start(t, Options{Directives: c.Directives(), Clock: NewManualClock(at)})
	before := takeToken(t, srv, "k")
	require.Equal(t, "+OK", client(t, srv).Do("CONFIG", "SET", "dir", to).String())
	after := takeToken(t, srv, "k")
	require.Greater(t, after, before)
	require.Greater(t, after, int64(1_900_000_000_000_000), "above what was given out there")
	require.GreaterOrEqual(t, tokenLimit(t, to), after)
}

// A CONFIG SET that is refused leaves everything as it was, there and here: the tokens' file, the locks,
// and where tokens are kept from then on.
func TestRefusedConfigSetChangesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		plant func(t *testing.T, to string)
		words []string
		want  string
	}{
		{"another directive is refused", func(*testing.T, string) {}, []string{"maxmemory", "x"}, "argument"},
		{"the log cannot be opened", func(t *testing.T, to string) {
			require.NoError(t, os.WriteFile(filepath.Join(to, "appendonlydir"), nil, 0o644))
		}, []string{"appendonly", "yes"}, "Unable to turn on AOF"},
		{"the log cannot be opened beside a token", func(t *testing.T, to string) {
			require.NoError(t, os.WriteFile(filepath.Join(to, "appendonlydir"), nil, 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(to, tokenFile), []byte("1900000000000000\n"), 0o644))
		}, []string{"appendonly", "yes"}, "Unable to turn on AOF"},
		{"the token there is damaged", func(t *testing.T, to string) {
			require.NoError(t, os.WriteFile(filepath.Join(to, tokenFile), []byte("x\n"), 0o644))
		}, nil, "not a token limit"},
		{"the token cannot be written", func(t *testing.T, to string) {
			require.NoError(t, os.MkdirAll(filepath.Join(to, tokenFile, "sub"), 0o755))
		}, nil, "directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to := t.TempDir(), t.TempDir()
			c.plant(t, to)
			there, limit := contentOf(t, to), int64(0)
			clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
			srv := start(t, Options{Directives: saving(from).Directives(), Clock: clock})
			here := contentOf(t, from)
			before := takeToken(t, srv, "k")
			got := client(t, srv).Do(append([]string{"CONFIG", "SET", "dir", to}, c.words...)...)
			require.True(t, got.IsError(), got.String())
			require.Contains(t, got.Str, c.want)
			require.Equal(t, there, contentOf(t, to))
			require.Equal(t, here, contentOf(t, from))
			require.Equal(t, before+1, takeToken(t, srv, "k"))
			limit = tokenLimit(t, from)
			clock.Advance(40 * time.Minute)
			eventually(t, func() bool { return tokenLimit(t, from) > limit }, "the limit rises where it was")
			require.Equal(t, there, contentOf(t, to))
			lock, err := disk.OS{}.Lock(filepath.Join(to, "lockserver.lock"))
			require.NoError(t, err, "it is free")
			require.NoError(t, lock.Close())
		})
	}
}

// contentOf returns the contents of the files of a directory.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			b = []byte(err.Error())
		}
		files[e.Name()] = string(b)
	}
	return files
}
