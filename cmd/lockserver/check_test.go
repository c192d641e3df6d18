package main

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// check runs `lockserver check`.
func check(paths ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(append([]string{"check"}, paths...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// The files of a server are found sound, and their contents are counted; damage is named with file and
// offset.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	c, addr := startReady(t, dir, "--appendonly", "yes", "--appendfsync", "always")
	require.Equal(t, []string{"+OK", "+OK"}, ask(t, addr, "SET k v", "SAVE"))
	require.NoError(t, c.Signal(syscall.SIGTERM))
	require.Zero(t, c.exit(t))
	for _, path := range []string{dir, filepath.Join(dir, "appendonlydir"), filepath.Join(dir, "appendonlydir", "appendonly.aof.manifest")} {
		code, out, errs := check(path)
		require.Zero(t, code, errs)
		require.Contains(t, out, "1 SET")
		require.Contains(t, out, "all is well\n")
	}
	code, out, _ := check(filepath.Join(dir, "dump.rdb"))
	require.Zero(t, code)
	require.Contains(t, out, "1 key")

	incr := filepath.Join(dir, "appendonlydir", "appendonly.aof.1.incr.aof")
	good, err := os.ReadFile(incr)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(incr, good[:len(good)-3], 0o644))
	code, out, _ = check(dir)
	require.Zero(t, code)
	require.Contains(t, out, "a start cuts off")
	require.NoError(t, os.WriteFile(incr, bytes.Replace(good, []byte("$3"), []byte("!3"), 1), 0o644))
	code, _, errs := check(dir)
	require.Equal(t, 1, code)
	require.Regexp(t, `appendonly\.aof\.1\.incr\.aof: offset \d+: corrupt`, errs)

	d := start(t, dir, "--port", "0", "--appendonly", "yes")
	require.Equal(t, 1, d.exit(t))
	require.Regexp(t, `# Could not start cause=".*incr\.aof: offset \d+: corrupt.*"\n`, d.Stdout.String())
}

func TestCheckOfNothing(t *testing.T) {
	for want, paths := range map[string][]string{
		"Usage: lockserver check PATH": nil,
		"no such file":                 {"/no/such"},
		"no log and no snapshot":       {t.TempDir()},
	} {
		code, _, errs := check(paths...)
		require.Equal(t, 1, code)
		require.Contains(t, errs, want)
	}
	code, out, _ := check("--help")
	require.Zero(t, code)
	require.Contains(t, out, "Usage: lockserver check PATH")
}
