package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestScriptHashIsWhatRedisCallsIt(t *testing.T) {
	// What SCRIPT LOAD "return 1" replies.
	require.Equal(t, "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", scriptHash("return 1"))
	require.NotEqual(t, scriptHash(lockScript), scriptHash(unlockScript))
}

func TestOnly(t *testing.T) {
	o, err := parseOptions([]string{"-only", "set, LOCK+unlock,memory,"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []string{"SET", "LOCK+UNLOCK", "memory"}, o.only)
	require.True(t, o.wants("memory", ""))
	require.False(t, o.wants("idle", ""))
	require.True(t, o.wants(cpuSection, "SET"))
	require.False(t, o.wants(cpuSection, "GET"))
	require.False(t, o.wants(cpuSection, ""))
	require.Len(t, (&bench{options: o}).chosenCases(), 2)

	o, err = parseOptions([]string{"-only", "cpu"}, io.Discard)
	require.NoError(t, err)
	require.Len(t, (&bench{options: o}).chosenCases(), len(cases()))

	o, err = parseOptions(nil, io.Discard)
	require.NoError(t, err)
	require.True(t, o.wants("idle", "") && o.wants(cpuSection, "GET"))
	require.Equal(t, 3, o.Rounds)
	require.Equal(t, fullSizes(), o.sizes())

	o, err = parseOptions([]string{"-quick", "-rounds", "5", "-server-args", "--io-threads 2"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 1, o.Rounds)
	require.Equal(t, quickSizes(), o.sizes())
	require.Equal(t, []string{"--io-threads", "2"}, o.serverArgs)

	o, err = parseOptions([]string{"-keys", "10000000"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 10_000_000, o.sizes().keys)
	require.Equal(t, 5*fullSizes().span, o.sizes().span, "it takes so long to save them")
}

func TestSenselessCommandLines(t *testing.T) {
	for _, args := range [][]string{{"-only", "zset"}, {"-rounds", "0"}, {"-rate", "0"}, {"-keys", "-1"}, {"-rate", "9999999"}, {"extra"}, {"-nonsense"}} {
		var stderr strings.Builder
		require.Equal(t, 2, run(t.Context(), args, io.Discard, &stderr), "%v", args)
		require.NotEmpty(t, stderr.String())
	}
	require.Zero(t, run(t.Context(), []string{"-h"}, io.Discard, io.Discard))
}

func TestNamesAreDistinctAndCasesWhole(t *testing.T) {
	seen := make(map[string]bool)
	for _, name := range selectable() {
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
