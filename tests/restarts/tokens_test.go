package restarts

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// kills is how often each test kills its server.
var kills = testkit.Steps(4, 10)

// runFor is about how long a server runs before it is killed.
const runFor = 120 * time.Millisecond

// checkReserved fails unless the number in the token file is at least the highest token that a client got.
func checkReserved(t *testing.T, dir string, highest int64) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "lockserver.token"))
	require.NoError(t, err)
	limit, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	require.NoError(t, err)
	require.GreaterOrEqual(t, limit, highest)
}

// TestTokensRiseOverKillsAndClocksSetBack sets the clock back before every start. In half of the runs it is
// minutes to a year back. In the others it is half an hour back, but so fast that it overtakes the tokens at
// once. Then their reservation is renewed every few milliseconds, so that a kill can hit that, too. Sometimes
// there is a snapshot with locks that have leases of years, and sometimes the snapshot is removed.
func TestTokensRiseOverKillsAndClocksSetBack(t *testing.T) {
	seed := testkit.SeedOr(*seedFlag)
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	now := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	last := int64(0)
	for run := range kills + 1 {
		c := child{Dir: dir, StartMS: now.UnixMilli(), Speed: 1}
		if now = now.Add(-time.Minute << random.IntN(20)); run%2 == 1 {
			c.StartMS, c.Speed = time.UnixMicro(last).Add(-30*time.Minute).UnixMilli(), 1_000_000
		}
		p := startChild(t, c)
		saved := run%3 == 1
		if saved {
			c := p.Client(t)
			require.Positive(t, c.Do("LOCK", "left", strconv.Itoa(run), "EX", "1000000000").Int)
			require.Equal(t, "OK", c.Do("SAVE").Str)
		}
		answered := tokens(t, p, runFor/2+time.Duration(random.Int64N(int64(runFor))))
		last = checkRising(t, run, answered, last)
		checkReserved(t, dir, last)
		if snapshot := filepath.Join(dir, "dump.rdb"); run%3 == 2 {
			require.NoError(t, os.Remove(snapshot), "a run before saved it")
		} else if saved {
			require.FileExists(t, snapshot)
		}
	}
}

// TestTokensRiseOverKillsOfTheProgram kills the server program, on the machine's clock.
func TestTokensRiseOverKillsOfTheProgram(t *testing.T) {
	dir := t.TempDir()
	last := int64(0)
	for run := range kills + 1 {
		p := testkit.StartLockserver(t, dir)
		last = checkRising(t, run, tokens(t, p, runFor), last)
		checkReserved(t, dir, last)
	}
}

// TestWithoutTheFileTokensWouldFall shows that the tests above can fail: without the file, old tokens come
// again after the clock was set back.
func TestWithoutTheFileTokensWouldFall(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	before := firstToken(t, child{Dir: dir, StartMS: now.UnixMilli(), Speed: 1})
	require.Equal(t, now.UnixMilli()/1000, before/1_000_000)
	after := firstToken(t, child{Dir: dir, StartMS: now.Add(-time.Hour).UnixMilli(), Speed: 1})
	require.Greater(t, after, before)
	require.NoError(t, os.Remove(filepath.Join(dir, "lockserver.token")))
	require.Less(t, firstToken(t, child{Dir: dir, StartMS: now.Add(-time.Hour).UnixMilli(), Speed: 1}), before)
}

// firstToken returns the first token of a server, which is then killed.
func firstToken(t *testing.T, c child) int64 {
	t.Helper()
	p := startChild(t, c)
	token := p.Client(t).Do("LOCK", "k", "o").Int
	p.Kill()
	require.Positive(t, token)
	return token
}

// TestDamagedFileStopsTheStart: with a damaged file the server does not start, because it could give a token
// twice.
func TestDamagedFileStopsTheStart(t *testing.T) {
	dir := t.TempDir()
	last := checkRising(t, 0, tokens(t, testkit.StartLockserver(t, dir), runFor), 0)
	file := filepath.Join(dir, "lockserver.token")
	good, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("17x\n"), 0o600))
	p := testkit.Prepare(t, testkit.Command{Program: testkit.Lockserver(t), Args: []string{"--port", "0"}, Dir: dir})
	require.ErrorContains(t, p.Start(), "lockserver.token")
	require.Equal(t, 1, p.ExitCode())
	require.NoError(t, os.WriteFile(file, good, 0o600))
	checkRising(t, 1, tokens(t, testkit.StartLockserver(t, dir), runFor), last)
}
