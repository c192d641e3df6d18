package costbench

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockserver/tests/bench/benchkit"

	"github.com/stretchr/testify/require"
)

func TestScriptHashIsWhatRedisCallsIt(t *testing.T) {
	// The reply to SCRIPT LOAD "return 1".
	require.Equal(t, "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", scriptHash("return 1"))
	require.NotEqual(t, scriptHash(lockScript), scriptHash(unlockScript))
}

// prepared returns a bench with these flags.
func prepared(t *testing.T, o benchkit.Options, only []string, args ...string) *bench {
	t.Helper()
	b := &bench{}
	f := flag.NewFlagSet("", flag.ContinueOnError)
	b.flags(f)
	require.NoError(t, f.Parse(args))
	require.NoError(t, b.check(o))
	dir := t.TempDir()
	for _, name := range []string{"redis-server", "redis-benchmark"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o755))
	}
	_, err := b.prepare(t.Context(), benchkit.Run{Options: o, Only: only, Redis: filepath.Join(dir, "redis-server"), Report: &benchkit.Report{}})
	require.NoError(t, err)
	return b
}

func TestSizes(t *testing.T) {
	require.Equal(t, fullSizes(), prepared(t, benchkit.Options{}, nil).sizes)
	b := prepared(t, benchkit.Options{Quick: true}, nil, "-server-args", "--io-threads 2")
	require.Equal(t, quickSizes(), b.sizes)
	require.Equal(t, []string{"--io-threads", "2"}, b.pair[1].Args)
	b = prepared(t, benchkit.Options{}, nil, "-keys", "10000000")
	require.Equal(t, 10_000_000, b.sizes.keys)
	require.Equal(t, 5*fullSizes().span, b.sizes.span, "it takes so long to save them")
}

func TestChosenCases(t *testing.T) {
	require.Len(t, prepared(t, benchkit.Options{}, []string{"SET", "LOCK+UNLOCK", "memory"}).chosenCases(), 2)
	require.Len(t, prepared(t, benchkit.Options{}, []string{"cpu"}).chosenCases(), len(cases()))
	require.Len(t, prepared(t, benchkit.Options{}, nil).chosenCases(), len(cases()))
}

func TestSenselessFlags(t *testing.T) {
	for _, args := range [][]string{{"-rate", "0"}, {"-keys", "-1"}, {"-rate", "9999999"}, {"-sync-delay", "2s"}} {
		b := &bench{}
		f := flag.NewFlagSet("", flag.ContinueOnError)
		b.flags(f)
		require.NoError(t, f.Parse(args))
		require.Error(t, b.check(benchkit.Options{}), "%v", args)
	}
}

func TestNamesAreDistinctAndCasesWhole(t *testing.T) {
	seen := make(map[string]bool)
	suite := Suite()
	for _, name := range suite.Selectable() {
		require.False(t, seen[strings.ToLower(name)], name)
		seen[strings.ToLower(name)] = true
	}
	for _, c := range cases() {
		require.NotEqual(t, c.command == nil, c.traffic == nil, c.name)
		require.Equal(t, c.command != nil, c.keys > 0, c.name)
		if c.command != nil && c.native {
			require.NotEqual(t, c.command(product{}), c.command(product{native: true}), c.name)
		}
	}
}

func TestLoadTimeFromLogs(t *testing.T) {
	d, ok := parseLoadTime("1:M 21 Nov 2026 02:09:18.433 * DB loaded from disk: 0.123 seconds\n")
	require.True(t, ok)
	require.Equal(t, 123*time.Millisecond, d)
	d, ok = parseLoadTime("x\n1:M 21 Nov 2026 02:09:44.766 * DB loaded from disk: 0.042 seconds file=/d/dump.rdb keys=2\n")
	require.True(t, ok)
	require.Equal(t, 42*time.Millisecond, d)
	_, ok = parseLoadTime("1:M * Ready\n")
	require.False(t, ok)
}

func TestTheRedisWithTLSLiesBesideTheOther(t *testing.T) {
	require.Equal(t, "/c/redis-7.4.1-tls/src/redis-server", besideWithTLS("/c/redis-7.4.1/src/redis-server"))
}
