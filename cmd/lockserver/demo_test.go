package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// theChecks are the checks of the demo, in the order in which it prints them.
var theChecks = []string{
	"no more and no less: 1,000 of 1,000 pieces were sold",
	"the stock is 0",
	"once per user: 1,000 orders of 1,000 users, and 1,000 buyers are remembered",
	"each order is in the stream once: 1,000 entries, 1,000 orders",
	"every user got the true answer: 1,000 heard that they bought, 0 of them did not, 0 bought unheard",
	`who asked again for the same order heard the same again: ([\d,]+) of ([\d,]+)`,
	`worker-\d died with \d+ orders in its hands; \d+ were taken over`,
	"each order was processed exactly once: 1,000 in the stream, 1,000 in the ledger",
	"nothing is left to do: 0 unacknowledged, 0 undelivered",
	"SECKILL.INFO says the same: total 1,000, sold 1,000, buyers 1,000",
}

// TestDemo plays the demo as it is, on a server of its own.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := start(t, dir, "demo")
	require.Zero(t, c.exit(t))
	out := c.Stdout.String()
	require.Empty(t, c.Stderr.String())
	require.NotContains(t, out, "\x1b", "a pipe is no terminal")
	require.Regexp(t, `(?m)^killed    worker-\d, with \d+ orders in its hands: \d+ of them written, none acknowledged$`, out)
	require.Regexp(t, `(?m)^selling   100 %  1,000 sold, [\d,]+ in the ledger$`, out)
	require.Contains(t, out, "\ndraining  100 %  1,000 of 1,000 orders in the ledger\n")
	require.Regexp(t, `(?m)^[\d,]+ requests in \d+\.\d\d s: [\d,]+ a second$`, out)
	require.Regexp(t, `(?m)^latency, as a client sees it: p50 .* p90 .* p99 .* p99\.9 .* max `, out)
	_, checks, found := strings.Cut(out, "already\n\n")
	require.True(t, found, out)
	lines := strings.Split(strings.TrimSpace(checks), "\n")
	require.Len(t, lines, len(theChecks)+2, checks)
	for i, want := range theChecks {
		require.Regexp(t, `^\s*ok      `+want+`$`, lines[i])
	}
	require.Equal(t, "all 10 checks hold", lines[len(lines)-1])
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "it keeps nothing on disk")
}

// TestDemoOnARunningServer: its keys are its own, and gone afterwards, unless they are kept.
func TestDemoOnARunningServer(t *testing.T) {
	t.Parallel()
	_, addr := startReady(t, t.TempDir(), "--save", "")
	require.Equal(t, []string{"+OK"}, ask(t, addr, "SET mine 1"))
	args := []string{"demo", "--addr", addr, "--stock", "40", "--users", "300", "--connections", "5", "--workers", "2", "--seed", "3"}
	c := start(t, t.TempDir(), args...)
	require.Zero(t, c.exit(t))
	require.Contains(t, c.Stdout.String(), "40 pieces for 300 users, 5 at a time; 2 workers; seed 3\nserver: "+addr+"\n")
	require.Equal(t, []string{":1", "1"}, ask(t, addr, "DBSIZE", "GET mine"))

	c = start(t, t.TempDir(), append(args, "--keep")...)
	require.Zero(t, c.exit(t))
	kept := regexp.MustCompile(`kept: the keys with (demo-\w+) in their names`).FindStringSubmatch(c.Stdout.String())
	require.NotNil(t, kept)
	require.Equal(t, []string{"0", ":40", ":40"}, ask(t, addr, "GET seckill:stock:"+kept[1], "SCARD seckill:order:"+kept[1],
		"XLEN "+kept[1]+":orders"))
}

func TestDemoPassword(t *testing.T) {
	t.Parallel()
	_, addr := startReady(t, t.TempDir(), "--save", "", "--requirepass", "secret")
	args := []string{"demo", "--addr", addr, "--stock", "5", "--users", "20"}
	c := start(t, t.TempDir(), args...)
	require.Equal(t, 1, c.exit(t))
	require.Contains(t, c.Stderr.String(), "lockserver demo: COMMAND: NOAUTH")
	require.Zero(t, start(t, t.TempDir(), append(args, "--password", "secret")...).exit(t))
	informed := func(args ...string) *child {
		return runChild(t, testkit.Command{Program: testkit.Lockserver(t), Args: args, Dir: t.TempDir(), Env: []string{"REDISCLI_AUTH=secret"}})
	}
	require.Zero(t, informed(args...).exit(t))
	require.Zero(t, informed("demo", "--stock", "5", "--users", "20").exit(t), "its own server has none")
}

// TestDemoIsInterrupted: the keys go, too.
func TestDemoIsInterrupted(t *testing.T) {
	t.Parallel()
	_, addr := startReady(t, t.TempDir(), "--save", "")
	c := start(t, t.TempDir(), "demo", "--addr", addr, "--users", "5000000", "--stock", "1000000")
	// The heading is printed when the sale has been opened.
	c.eventually(t, func() bool { return strings.Contains(c.Stdout.String(), "server: ") }, "the sale")
	require.NoError(t, c.Signal(os.Interrupt))
	require.Equal(t, 1, c.exit(t))
	require.Contains(t, c.Stderr.String(), "lockserver demo: interrupt signal received\n")
	require.Equal(t, []string{":0"}, ask(t, addr, "DBSIZE"))
}

func TestDemoHelp(t *testing.T) {
	for _, flag := range []string{"--help", "-h"} {
		c := start(t, t.TempDir(), "demo", flag)
		require.Zero(t, c.exit(t))
		require.Equal(t, demoUsage, c.Stdout.String())
		require.Empty(t, c.Stderr.String())
	}
}

func TestDemoFlagsThatAreWrongAreNamed(t *testing.T) {
	for want, args := range map[string][]string{
		"unknown flag --user":                             {"--user", "5"},
		"unknown argument \"x\"":                          {"x"},
		"invalid value \"many\" for flag -users":          {"--users", "many"},
		"--users must be between 1 and 5000000, not 0":    {"--users", "0"},
		"--workers must be between 2 and 64, not 1":       {"--workers", "1"},
		"flag needs an argument: -seed":                   {"--seed"},
		"--keep needs --addr":                             {"--keep"},
		"--addr is host:port: address 127.0.0.1: missing": {"--addr", "127.0.0.1"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 1, run(append([]string{"demo"}, args...), &stdout, &stderr))
		require.Contains(t, stderr.String(), "lockserver demo: "+want)
		require.Contains(t, stderr.String(), "\nTry: lockserver demo --help\n")
		require.Empty(t, stdout.String())
	}
	c := start(t, t.TempDir(), "demo", "--addr", "127.0.0.1:1")
	require.Equal(t, 1, c.exit(t))
	require.Contains(t, c.Stderr.String(), "lockserver demo: dial tcp 127.0.0.1:1: ")
}

// TestDemoUsageNamesEveryFlag: the help has all of them, with their defaults.
func TestDemoUsageNamesEveryFlag(t *testing.T) {
	cmd, err := parseDemo(nil)
	require.NoError(t, err)
	require.Equal(t, 1000, cmd.Stock)
	for _, flag := range []string{"--stock 1000 ", "--users 20000 ", "--connections 50 ", "--workers 4 ", "--seed 1 ", "--addr ",
		"--password ", "--keep "} {
		require.Contains(t, demoUsage, "\n  "+flag)
	}
	_, err = parseDemo([]string{"--help"})
	require.True(t, errors.Is(err, flag.ErrHelp))
}

func TestWhatIsNoTerminal(t *testing.T) {
	require.False(t, isTerminal(new(bytes.Buffer)))
	f, err := os.Create(t.TempDir() + "/f")
	require.NoError(t, err)
	defer f.Close()
	require.False(t, isTerminal(f))
}
