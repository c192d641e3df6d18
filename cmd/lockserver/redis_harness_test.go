package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// suiteConfig is the configuration that the harness of Redis' own suite writes for each server, with a free
// address.
const suiteConfig = `# for a test
always-show-logo yes
notify-keyspace-events KEA
daemonize no
pidfile redis.pid
port 0
unixsocket socket
timeout 0
loglevel verbose
logfile ''
databases 16
latency-monitor-threshold 1
repl-diskless-sync-delay 0
save 900 1
save 300 10
rdbcompression yes
dbfilename dump.rdb
slave-serve-stale-data yes
appendonly yes
appendfsync everysec
no-appendfsync-on-rewrite no
activerehashing yes
enable-protected-configs yes
enable-debug-command yes
enable-module-command yes
propagation-error-behavior panic
shutdown-on-sigterm force
`

// startedAsRedis waits as that harness does: first for the start, then for the data.
func (c *child) startedAsRedis(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{fmt.Sprintf(`(?s) PID: %d.*Server initialized`, c.Pid()), "Ready to accept"} {
		waited := regexp.MustCompile(pattern)
		c.eventually(t, func() bool { return waited.MatchString(c.Stdout.String()) }, pattern)
	}
}

// TestRedisOwnHarnessFindsItsWay: it starts the program with a file, waits for lines of the log, has the data
// read again, and ends it by a signal.
func TestRedisOwnHarnessFindsItsWay(t *testing.T) {
	dir := socketDir(t)
	socket := filepath.Join(dir, "socket")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "redis.conf"), []byte(suiteConfig+"dir "+dir+"\n"), 0o600))
	c := start(t, dir, filepath.Join(dir, "redis.conf"))
	c.startedAsRedis(t)
	require.Equal(t, []string{"+OK", "+OK"}, ask(t, socket, "DEBUG POPULATE 100 key 50", "CONFIG SET key-load-delay 1"))
	require.Equal(t, []string{":3", ":2", ":1"}, ask(t, socket, "RPUSH l a b c", "SADD s a b", "HSET h f v"))
	digest := ask(t, socket, "DEBUG DIGEST")
	for _, again := range []string{"DEBUG RELOAD", "DEBUG LOADAOF", "BGSAVE"} {
		require.Contains(t, []string{"+OK", "+Background saving started"}, ask(t, socket, again)[0], again)
		require.Equal(t, digest, ask(t, socket, "DEBUG DIGEST"), again)
	}
	for _, line := range []string{"Background saving started by pid", "Background saving terminated with success", "DB reloaded by DEBUG RELOAD",
		"Append Only File loaded by DEBUG LOADAOF", "Done loading RDB, keys loaded: 103, keys expired: 0."} {
		c.eventually(t, func() bool { return strings.Contains(c.Stdout.String(), line) }, line)
	}
	require.Equal(t, []string{"+OK"}, ask(t, socket, "SET last v"), "for the incremental file")
	digest = ask(t, socket, "DEBUG DIGEST")
	require.NoError(t, c.Signal(syscall.SIGTERM))
	require.Zero(t, c.exit(t))
	for _, line := range []string{"Received SIGTERM scheduling shutdown...", "User requested shutdown...", "Calling fsync() on the AOF file.",
		"Saving the final RDB snapshot before exiting.", "DB saved on disk", "Removing the pid file.", "Redis is now ready to exit, bye bye..."} {
		require.Contains(t, c.Stdout.String(), line)
	}

	c = start(t, dir, filepath.Join(dir, "redis.conf"))
	c.startedAsRedis(t)
	require.Regexp(t, `DB loaded from base file appendonly\.aof\.\d+\.base\.rdb: \d+\.\d{3} seconds`, c.Stdout.String())
	require.Regexp(t, `DB loaded from incr file appendonly\.aof\.\d+\.incr\.aof: \d+\.\d{3} seconds`, c.Stdout.String())
	require.Regexp(t, `DB loaded from append only file: \d+\.\d{3} seconds`, c.Stdout.String())
	require.Equal(t, digest, ask(t, socket, "DEBUG DIGEST"))
	ask(t, socket, "DEBUG LOG ###mark###")
	mark := func() bool { return strings.Contains(c.Stdout.String(), "# DEBUG LOG: ###mark###\n") }
	c.eventually(t, mark, "the line comes through a pipe")
	conn, err := net.Dial("unix", socket)
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprint(conn, "DEBUG SEGFAULT\r\n")
	require.NotZero(t, c.exit(t), "a crash is none of the ways to end")
	require.NotContains(t, c.Stdout.String(), "bye bye")
}

// TestLogOfDamagedFiles: Redis' suite counts these lines in the log.
func TestLogOfDamagedFiles(t *testing.T) {
	set := "*3\r\n$3\r\nset\r\n$1\r\na\r\n$1\r\n1\r\n"
	whole := "file appendonly.aof.1.base.aof seq 1 type b\n"
	for name, tt := range map[string]struct {
		manifest, base string
		want           string
	}{
		"no file":        {whole + "file appendonly.aof.1.incr.aof seq 1 type i\n", set, "appendonly.aof.1.incr.aof .*No such file or directory"},
		"falling":        {whole + "file b seq 2 type i\nfile c seq 1 type i\n", set, "Found a non-monotonic sequence number"},
		"blank line":     {whole + "\n", set, "Invalid AOF manifest file format"},
		"two bases":      {whole + "file appendonly.aof.2.base.aof seq 2 type b\n", set, "Found duplicate base file information"},
		"type":           {"file appendonly.aof.1.base.aof seq 1 type x\n", set, "Unknown AOF file type"},
		"key":            {"filx appendonly.aof.1.base.aof seq 1 type b\n", set, "Invalid AOF manifest file format"},
		"short line":     {"file appendonly.aof.1.base.aof type b\n", set, "Invalid AOF manifest file format"},
		"long line":      {"file " + strings.Repeat("a", 1100) + " seq 1 type b\n", set, "The AOF manifest file contains too long line"},
		"odd line":       {"file appendonly.aof.1.base.aof seq 1 type b newkey\n", set, "Invalid AOF manifest file format"},
		"empty":          {"", set, "Found an empty AOF manifest"},
		"path":           {"file ../x seq 1 type b\n", set, "File can't be a path, just a filename"},
		"short read":     {whole, set + set[:20], "Unexpected end of file reading the append only file appendonly.aof.1.base.aof"},
		"open MULTI":     {whole, set + "*1\r\n$5\r\nmulti\r\n" + set, "Unexpected end of file reading the append only file"},
		"no format":      {whole, set + "!!!", "Bad file format reading the append only file appendonly.aof.1.base.aof"},
		"unknown":        {whole, set + "*1\r\n$3\r\nbad\r\n", "Unknown command 'bad' reading the append only file appendonly.aof.1.base.aof"},
		"broken RDB":     {whole, "REDIS0010", "Fatal error loading the DB|appendonly.aof.1.base.aof"},
		"short, allowed": {whole, set + set[:20], ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(dir, "appendonlydir"), 0o755))
			for file, text := range map[string]string{"appendonly.aof.manifest": tt.manifest, "appendonly.aof.1.base.aof": tt.base} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "appendonlydir", file), []byte(text), 0o600))
			}
			truncated := "no"
			if tt.want == "" {
				truncated = "yes"
			}
			c := start(t, dir, "--port", "0", "--appendonly", "yes", "--aof-load-truncated", truncated)
			if tt.want == "" {
				c.startedAsRedis(t)
				for _, line := range []string{"!!! Warning: short read while loading the AOF file appendonly.aof.1.base.aof!!!",
					fmt.Sprintf("!!! Truncating the AOF appendonly.aof.1.base.aof at offset %d !!!", len(set)),
					"AOF appendonly.aof.1.base.aof loaded anyway because aof-load-truncated is enabled"} {
					require.Contains(t, c.Stdout.String(), line)
				}
				return
			}
			require.Equal(t, 1, c.exit(t))
			require.Regexp(t, fmt.Sprintf(`(?s) PID: %d.*Server initialized`, c.Pid()), c.Stdout.String())
			require.Len(t, regexp.MustCompile(".*("+tt.want+").*\n").FindAllString(c.Stdout.String(), -1), 1, "one line says it")
			require.Regexp(t, tt.want, strings.TrimSpace(c.Stdout.String()[strings.LastIndex(strings.TrimSpace(c.Stdout.String()), "\n"):]))
		})
	}
}

// TestWhatIsAskedOfRedisServer besides serving.
func TestWhatIsAskedOfRedisServer(t *testing.T) {
	c := start(t, t.TempDir(), "--test-memory", "100")
	require.Equal(t, 1, c.exit(t))
	require.Contains(t, c.Stderr.String(), "does not test memory")
	c = start(t, t.TempDir(), "--check-system")
	c.exit(t)
	require.Contains(t, c.Stdout.String(), "[open-files]...")
	// Stock files of Debian's Redis 7.0 name directories that are not there, or not ours.
	text, err := os.ReadFile(filepath.Join("..", "..", "internal", "config", "testdata", "redis-7.0-debian.conf"))
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "redis.conf"), text, 0o600))
	c = start(t, dir, "redis.conf", "--dir", dir, "--logfile", "", "--pidfile", "pid", "--daemonize", "no", "--port", "0")
	c.startedAsRedis(t)
	require.Contains(t, c.Stdout.String(), "accepted but have no effect here:")
}
