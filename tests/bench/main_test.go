package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/bench/floor"
)

// TestTable: names are unique where necessary, and each suite has its description.
func TestTable(t *testing.T) {
	names, roles := map[string]bool{}, map[string]bool{}
	for _, s := range suites() {
		require.False(t, names[s.Name], s.Name)
		names[s.Name] = true
		require.NotEmpty(t, s.Asks, s.Name)
		require.NotNil(t, s.Prepare, s.Name)
		within := map[string]bool{}
		for _, name := range s.Selectable() {
			require.False(t, within[strings.ToLower(name)], "%s: %s", s.Name, name)
			within[strings.ToLower(name)] = true
		}
		for _, section := range s.Sections {
			require.NotEmpty(t, section.Measures, section.Name)
			require.NotNil(t, section.Run, section.Name)
		}
		for word := range s.Roles {
			require.True(t, !roles[word] || word == floor.Role, "%s stands for two programs", word)
			roles[word] = true
		}
	}
	require.Len(t, roles, 5)
}

// chosen returns the suites that a command line chooses, each with the chosen parts.
func chosen(t *testing.T, args ...string) map[string][]string {
	t.Helper()
	o, err := parseOptions(args, io.Discard)
	require.NoError(t, err, "%v", args)
	got := map[string][]string{}
	for _, c := range o.chosen {
		got[c.Name] = c.only
	}
	return got
}

func TestChosen(t *testing.T) {
	together := map[string][]string{"costbench": nil, "lockbench": nil, "salebench": nil, "membench": nil}
	require.Equal(t, together, chosen(t))
	require.Equal(t, together, chosen(t, "-write", "-quick"))
	require.Equal(t, map[string][]string{"costbench": {"cpu"}}, chosen(t, "-only", "cpu"))
	require.Equal(t, map[string][]string{"costbench": {"SET", "LOCK+UNLOCK"}, "replbench": {"sync"}}, chosen(t, "-only", "SET, lock+unlock,,sync"))
	require.Equal(t, map[string][]string{"membench": {"lock"}, "costbench": {"LOCK"}}, chosen(t, "-only", "lock,LOCK"))
	require.Equal(t, map[string][]string{"membench": {"lock"}}, chosen(t, "-suite", "membench", "-only", "lock"))
	require.Equal(t, map[string][]string{"raftbench": nil}, chosen(t, "-suite", "raftbench", "-write"))
	require.Equal(t, map[string][]string{"replbench": nil}, chosen(t, "-suite", "replbench", "-only", ""))
}

func TestSenselessCommandLines(t *testing.T) {
	for want, args := range map[string][]string{
		"there are cpu, tls":        {"-only", "zsets"},
		"costbench and membench":    {"-only", "Lock"},
		"there are costbench, lock": {"-suite", "bench"},
		"at least 1":                {"-rounds", "0"},
		"unexpected argument":       {"extra"},
		"not defined":               {"-nonsense"},
		"-rate must":                {"-rate", "0"},
		"-buyers":                   {"-buyers", "0"},
		"multiple of":               {"-counts", "1500"},
		"-rest must":                {"-rest", "-1s"},
		"whole suites":              {"-write", "-only", "cpu"},
		"names one suite":           {"-write", "-suite", "minibench"},
		"is not written":            {"-write", "-suite", "membench", "-quick"},
	} {
		var stderr strings.Builder
		require.Equal(t, 2, run(t.Context(), args, io.Discard, &stderr), "%v", args)
		require.Contains(t, stderr.String(), want, "%v", args)
	}
	require.Zero(t, run(t.Context(), []string{"-h"}, io.Discard, io.Discard))
}

// TestWorkForThePages: -write does the amount of work that fits, unless a flag says otherwise.
func TestWorkForThePages(t *testing.T) {
	for _, args := range [][]string{{"-write"}, {"-write", "-rounds", "1"}} {
		o, err := parseOptions(args, io.Discard)
		require.NoError(t, err)
		require.Equal(t, "../..", o.Root)
	}
	for name := range ofPages() {
		_, err := parseOptions([]string{"-write", "-" + name, "nonsense"}, io.Discard)
		require.Error(t, err, "there is a flag -%s, which is not overwritten", name)
	}
}

func TestList(t *testing.T) {
	var out strings.Builder
	require.Zero(t, run(t.Context(), []string{"-list"}, &out, io.Discard))
	for _, s := range suites() {
		require.Contains(t, out.String(), s.Name+": "+s.Asks)
		for _, name := range s.Selectable() {
			require.Contains(t, out.String(), name)
		}
	}
}

// TestNothingIsMeasuredForNothing: a missing Redis, or pages that cannot be written, are reported before
// anything is built or measured.
func TestNothingIsMeasuredForNothing(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "docs"), 0o755))
	var stderr strings.Builder
	require.Equal(t, 1, run(t.Context(), []string{"-write", "-root", dir, "-oracle", "no-such-redis"}, io.Discard, &stderr))
	require.Contains(t, stderr.String(), "README.md")
	stderr.Reset()
	require.Equal(t, 1, run(t.Context(), []string{"-write", "-oracle", "no-such-redis"}, io.Discard, &stderr))
	require.Contains(t, stderr.String(), "no-such-redis")
}
