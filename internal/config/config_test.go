package config

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDefaultsAreWhatTheTableSays(t *testing.T) {
	c := Default()
	require.Equal(t, 6379, c.Port)
	require.Equal(t, []string{"127.0.0.1"}, c.Bind)
	require.Equal(t, int64(300_000), c.TCPKeepaliveMS)
	require.Equal(t, int64(10_000), c.ShutdownTimeoutMS)
	require.Equal(t, int64(30_000), c.LockWatchdogTimeoutMS)
	require.Equal(t, []SavePoint{{3600_000, 1}, {300_000, 100}, {60_000, 10000}}, c.Save)
	require.Equal(t, OutputLimits{
		Replica: OutputLimit{HardBytes: 256 << 20, SoftBytes: 64 << 20, SoftMS: 60_000},
		PubSub:  OutputLimit{HardBytes: 32 << 20, SoftBytes: 8 << 20, SoftMS: 60_000},
	}, c.ClientOutputBufferLimit)
	require.Equal(t, int64(512<<20), c.ProtoMaxBulkLen)
	require.Equal(t, AccessNo, c.EnableDebugCommand)
	require.Empty(t, c.Ignored())
}

// A value that CONFIG GET shows must be valid in a file, for every type.
func TestEveryShownAndWrittenValueCanBeReadBack(t *testing.T) {
	for i := range directives {
		d := &directives[i]
		if len(d.Kind.lines(Default(), Default())) == 0 {
			continue
		}
		want := Default()
		shown := Default()
		require.NoError(t, d.assign(shown, []string{d.Kind.get(want)}, false), d.Name)
		require.Equal(t, want, shown, d.Name)
		for n, line := range d.Kind.lines(want, &Config{}) {
			words, ok := splitWords(line)
			require.True(t, ok)
			require.NoError(t, d.assign(shown, words, n > 0), d.Name)
		}
		require.Equal(t, want, shown, d.Name)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	c := Default()
	n := c.Clone()
	require.Equal(t, c, n)
	n.Bind[0], n.Save[0].Changes = "::1", 77
	require.Equal(t, Default(), c)
}

func TestListensTCP(t *testing.T) {
	c := Default()
	require.True(t, c.ListensTCP())
	c.Port = 0
	require.True(t, c.ListensTCP(), "port 0 picks a free one")
	c.UnixSocket = "/tmp/s"
	require.False(t, c.ListensTCP(), "as redis-server --port 0 --unixsocket /tmp/s")
	c.Port = 1
	require.True(t, c.ListensTCP())
	c.Bind = nil
	require.False(t, c.ListensTCP())
}

func TestLogLevelsAreInOrder(t *testing.T) {
	levels := []LogLevel{LogDebug, LogVerbose, LogNotice, LogWarning, LogNothing}
	for i := range levels[1:] {
		require.Less(t, levels[i].SlogLevel(), levels[i+1].SlogLevel())
	}
	require.Equal(t, slog.LevelInfo, LogNotice.SlogLevel())
}

func TestGet(t *testing.T) {
	c := Default()
	require.Equal(t, []string{"PORT", "6379"}, c.Get("PORT", "por?", "port"))
	require.Equal(t, []string{"port", "6379"}, c.Get("POR[t]", "Port"))
	require.Empty(t, c.Get(`p\ort`), "no pattern, and no name")
	require.Equal(t, []string{"Key-Load-Delay", "0"}, c.Get("key-*-delay", "Key-Load-Delay"), "hidden from patterns")
	require.Equal(t, []string{"hash-max-listpack-entries", "512", "hash-max-ziplist-entries", "512"}, c.Get("hash-max-*entries"))
	require.Equal(t, []string{"proto-max-bulk-len", "536870912"}, c.Get("proto*"))
	require.Equal(t, []string{"lock-watchdog-timeout", "30000"}, c.Get("lock-w*"))
	require.Empty(t, c.Get("nope", "user", "loadmodule"))
	require.Empty(t, c.Get())
}

// The server refuses values for features that it does not have.
func TestSetRefusesWhatDoesNotExist(t *testing.T) {
	c := Default()
	_, err := Parse("x", []byte("tls-dh-params-file x"), Files{})
	require.ErrorContains(t, err, "tls-dh-params-file: there is no DHE")
	_, err = c.Set([]string{"include", "5"}, true)
	require.EqualError(t, err, "ERR Unknown option or number of arguments for CONFIG SET - 'include'")
	require.Equal(t, Default(), c)
}

// The log's directory and files are set at the start, and are names in dir, not paths.
func TestNamesOfTheLog(t *testing.T) {
	for text, reason := range map[string]string{
		"appenddirname a/b":              "appenddirname can't be a path, just a dirname",
		"appenddirname \"\"":             "appenddirname can't be empty",
		"appendfilename ../x":            "appendfilename can't be a path, just a filename",
		"appendfilename \"\"":            "appendfilename can't be empty",
		"appendfsync sometimes":          "argument(s) must be one of the following: everysec, always, no",
		"aof-load-truncated 1":           "argument must be 'yes' or 'no'",
		"auto-aof-rewrite-percentage -1": "argument must be between 0 and 2147483647 inclusive",
	} {
		_, err := Parse("x", []byte(text), Files{})
		require.ErrorContains(t, err, reason, text)
	}
	c, err := Parse("x", []byte("appendonly yes\nappenddirname log\nauto-aof-rewrite-min-size 1mb\nappendfsync always"), Files{})
	require.NoError(t, err)
	require.Equal(t, []string{"appendonly", "yes", "appendfsync", "always", "appenddirname", "log", "appendfilename", "appendonly.aof",
		"auto-aof-rewrite-min-size", "1048576"}, c.Get("append*", "auto-aof-rewrite-min-size"))
	_, err = c.Set([]string{"appenddirname", "x"}, true)
	require.EqualError(t, err, "ERR CONFIG SET failed (possibly related to argument 'appenddirname') - can't set immutable config")
	_, err = c.Set([]string{"appendonly", "no", "appendfsync", "everysec", "aof-use-rdb-preamble", "no"}, true)
	require.NoError(t, err)
	require.False(t, c.AppendOnly || c.AOFUseRDBPreamble)
}

func TestProtectedDirectives(t *testing.T) {
	for _, x := range []struct {
		access Access
		local  bool
		ok     bool
	}{{AccessNo, true, false}, {AccessYes, false, true}, {AccessLocal, false, false}, {AccessLocal, true, true}} {
		c := Default()
		c.EnableProtectedConfigs = x.access
		names, err := c.Set([]string{"DBFilename", "x.rdb"}, x.local)
		if !x.ok {
			require.EqualError(t, err, "ERR CONFIG SET failed (possibly related to argument 'DBFilename') - can't set protected config")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []string{"dbfilename"}, names)
		require.Equal(t, "x.rdb", c.DBFilename)
	}
}

// fakeFiles serves Read and Glob from a map and standard input from the name "-".
func fakeFiles(m map[string]string) Files {
	return Files{
		Read: func(name string) ([]byte, error) {
			if s, ok := m[name]; ok {
				return []byte(s), nil
			}
			return nil, os.ErrNotExist
		},
		Glob: func(pattern string) (names []string, err error) {
			for name := range m {
				if ok, err := filepath.Match(pattern, name); ok {
					names = append(names, name)
				} else if err != nil {
					return nil, err
				}
			}
			return names, nil
		},
		Stdin: func() ([]byte, error) { return []byte(m["-"]), nil },
	}
}

func TestInclude(t *testing.T) {
	files := fakeFiles(map[string]string{
		"one.conf": "timeout 7\nsave 5 5\n", "bad.conf": "\nhz x\n", "loop.conf": "include loop.conf", "top.conf": "include bad.conf",
	})
	c, err := Parse("f", []byte("save 1 1\ninclude one.conf\ninclude \"o*.conf\"\nINCLUDE none-*.conf\nhz 20"), files)
	require.NoError(t, err)
	require.Equal(t, int64(7000), c.TimeoutMS)
	require.Equal(t, "1 1 5 5 5 5", c.Get("save")[1])
	require.Equal(t, 20, c.HZ)

	for text, want := range map[string]string{
		"hz 10\ninclude nofile.conf": "at line 2 of f\n>>> 'include nofile.conf'\ncan't include: file does not exist",
		"include bad.conf":           "at line 2 of bad.conf\n>>> 'hz x'\nargument couldn't be parsed into an integer",
		"include top.conf":           "at line 2 of bad.conf\n>>> 'hz x'\n",
		"include loop.conf":          "at line 1 of loop.conf\n>>> 'include loop.conf'\nincludes are nested too deeply",
		"include [":                  "at line 1 of f\n>>> 'include ['\ncan't include: syntax error in pattern",
		"include a b":                "wrong number of arguments",
	} {
		_, err := Parse("f", []byte(text), files)
		require.ErrorContains(t, err, want, text)
	}
}

func TestParseArgs(t *testing.T) {
	files := fakeFiles(map[string]string{"a.conf": "hz 20\ntimeout 3\nactive-expire-effort 5\n", "b.conf": "x 1", "-": "hz 30\nsave 7 7\n"})
	parse := func(line ...string) *Config {
		cmd, err := ParseArgs(line, files)
		require.NoError(t, err, line)
		return cmd.Config
	}
	require.Equal(t, Default(), parse())
	require.Equal(t, 20, parse("a.conf").HZ)
	require.Equal(t, 40, parse("a.conf", "--hz", "40").HZ, "options are read after the file")
	require.Equal(t, 30, parse("a.conf", "-").HZ, "standard input is read after the file")
	require.Equal(t, 30, parse("-").HZ)
	require.Equal(t, 40, parse("-", "--hz", "40").HZ)
	require.Equal(t, 40, parse("--hz", "40", "-").HZ)
	require.Equal(t, "-", parse("--logfile", "-").LogFile)
	require.Equal(t, "7 7", parse("-").Get("save")[1])
	require.Empty(t, parse("a.conf", "--save", "").Save)
	require.Equal(t, 20, parse("--include", "a.conf").HZ)
	require.Equal(t, []string{"active-expire-effort", "cluster-port"},
		parse("a.conf", "--cluster-port", "5", "--active-expire-effort", "1").Ignored())

	cmd, err := ParseArgs([]string{"a.conf", "--port", "0"}, files)
	require.NoError(t, err)
	require.Equal(t, "a.conf", cmd.File)
	for _, w := range []string{"-v", "--version"} {
		cmd, err = ParseArgs([]string{w}, files)
		require.NoError(t, err)
		require.Equal(t, Command{Version: true}, cmd)
	}
	for _, w := range []string{"-h", "--help"} {
		cmd, err = ParseArgs([]string{w}, files)
		require.NoError(t, err)
		require.Equal(t, Command{Help: true}, cmd)
	}
}

func TestParseArgsNamesWhatIsWrong(t *testing.T) {
	files := fakeFiles(map[string]string{"b.conf": "# x\nfoo 1", "b2.conf": ""})
	for want, line := range map[string][]string{
		"command line\n>>> '--foo (hidden)'\nunknown directive 'foo'":                  {"--hz", "1", "--foo", "1", "a b"},
		"command line\n>>> '--port'\nwrong number of arguments":                        {"--port"},
		"command line\n>>> 'nofile'\ncan't open the configuration file: file does not": {"nofile"},
		"at line 2 of b.conf\n>>> 'foo (hidden)'\nunknown directive 'foo'":             {"b.conf", "--hz", "1"},
		"command line\n>>> '-p'\nunknown argument '-p'":                                {"-p", "5"},
		"command line\n>>> 'extra'\nunknown argument 'extra'":                          {"b2.conf", "extra"},
		"command line\n>>> '-'\nunknown argument '-'":                                  {"b2.conf", "-", "--hz", "1"},
		"command line\n>>> '--'\nan option needs a name":                               {"--"},
		"command line\n>>> '--\"a'\nUnbalanced quotes":                                 {"--\"a"},
		"command line\n>>> '--requirepass (hidden)'\nwrong number of arguments":        {"--requirepass", "", "\x01"},
	} {
		_, err := ParseArgs(line, files)
		require.ErrorContains(t, err, want, line)
	}
	_, err := ParseArgs([]string{"--include", "b.conf"}, files)
	require.ErrorContains(t, err, "at line 2 of b.conf\n>>> 'foo (hidden)'\nunknown directive 'foo'")
}

// A stock file must start the server when the unsupported lines are removed. The lines without effect are
// reported.
func TestStockFile(t *testing.T) {
	c, err := Parse("redis.conf", []byte(`
bind 127.0.0.1 -::1
protected-mode yes
port 6379
daemonize no
supervised no
pidfile /run/redis/redis-server.pid
set-proc-title yes
proc-title-template "{title} {listen-addr} {server-mode}"
notify-keyspace-events ""
appendonly no
appendfilename "appendonly.aof"
oom-score-adj-values 0 200 800
maxmemory-policy noeviction
client-output-buffer-limit normal 0 0 0
client-output-buffer-limit replica 256mb 64mb 60
client-output-buffer-limit pubsub 32mb 8mb 60
jemalloc-bg-thread yes
`), Files{})
	require.NoError(t, err)
	require.Equal(t, "set-proc-title proc-title-template oom-score-adj-values jemalloc-bg-thread", strings.Join(c.Ignored(), " "))
	require.Equal(t, []string{"127.0.0.1", "-::1"}, c.Bind)
	require.Zero(t, c.ClientOutputBufferLimit.Normal)
}

// TestWholeStockFiles: the server accepts the redis.conf of Debian's redis-server, without comments. It also
// accepts that of Redis 7.4, which has daemonize no and three more lines, and that of 6.2, with older names.
func TestWholeStockFiles(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "redis-7.0-debian.conf"))
	require.NoError(t, err)
	files := fakeFiles(map[string]string{
		"debian.conf": string(text),
		"redis.conf": strings.Replace(string(text), "daemonize yes", "daemonize no", 1) +
			"locale-collate \"\"\nset-max-listpack-entries 128\nset-max-listpack-value 64\n",
	})
	older := fakeFiles(map[string]string{"redis.conf": strings.NewReplacer("-listpack-", "-ziplist-", "appenddirname", "# ",
		"aof-timestamp-enabled", "# ", "repl-diskless-sync-max-replicas", "# ").Replace(string(text)) + "lua-time-limit 5000\n"})
	for _, stock := range []Files{files, older} {
		cmd, err := ParseArgs([]string{"redis.conf"}, stock)
		require.NoError(t, err)
		require.Empty(t, cmd.Config.Overridden())
	}

	cmd, err := ParseArgs([]string{"debian.conf", "--dir", "/tmp"}, files)
	require.NoError(t, err)
	require.True(t, cmd.Config.Daemonize)
	require.Equal(t, "/tmp", cmd.Config.Dir)
	require.Equal(t, []string{"127.0.0.1", "-::1"}, cmd.Config.Bind)
	require.Contains(t, string(cmd.Config.Rewrite(text)), "daemonize yes\n")
}

// TestEveryDirectiveOfRedisIsKnown: each directive has an effect, is accepted without effect, or is refused
// with the reason.
func TestEveryDirectiveOfRedisIsKnown(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "redis-7.4-directives.txt"))
	require.NoError(t, err)
	names := strings.Fields(strings.SplitN(string(text), "\n", 2)[1])
	require.Greater(t, len(names), 200)
	listed := make(map[string]bool)
	for _, name := range names {
		listed[name] = true
		require.True(t, name == "include" || lookup(name) != nil, name)
	}
	ours := map[string]bool{"min-replicas-ack": true, "requirepass-file": true, "masterauth-file": true, "admin-port": true, "admin-bind": true, "admin-hosts": true, "admin-debug": true, "console-auto-login": true, "test-mode": true, "test-topology": true, "exit-with-parent": true, "io-coalesce-usec": true, "auth-timeout": true, "tls-auth-clients-user": true, "lock-watchdog-timeout": true, "lock-max-waiters": true, "lock-max-waits-per-client": true, "lock-priority-aging": true,
		"lock-history-bytes": true, "shards": true, "lock-class": true, "audit-log": true, "audit-log-max-bytes": true, "audit-log-files": true, "otlp-endpoint": true}
	for name := range byName {
		// Valkey 8.1, Redis 8.6
		later := strings.HasPrefix(name, "commandlog-") || name == "log-format" || name == "log-timestamp-format" || strings.HasPrefix(name, "stream-idmp-")
		group := strings.HasPrefix(name, "raft-") || slices.Contains([]string{"cluster-name", "cluster-shard", "cluster-slots", "cluster-peers"}, name)
		require.True(t, listed[name] != (ours[name] || later || group), name)
	}
}

func TestWhatIsNotThereSaysSo(t *testing.T) {
	for line, want := range map[string]string{
		"tls-cluster yes":            "not implemented: clusters",
		"tls-dh-params-file /x":      "tls-dh-params-file: there is no DHE",
		"replicaof 10.0.0.1":         "wrong number of arguments",
		"replicaof 10.0.0.1 x":       "Invalid master port",
		"slaveof 10.0.0.1 65536":     "Invalid master port",
		"loadmodule /x.so a b":       "not implemented: modules",
		"sentinel monitor m h 1 2":   "not implemented: Sentinel",
		"locale-collate de_DE.UTF-8": "not implemented: collation",
		"tls-prot 6380":              "unknown directive 'tls-prot'",
	} {
		_, err := Parse("a.conf", []byte("hz 10\n"+line), Files{})
		require.ErrorContains(t, err, "at line 2 of a.conf\n>>> '"+withoutSecret(line)+"'\n"+want)
		c := Default()
		if words, _ := splitWords(line); lookup(words[0]) != nil && lookup(words[0]).When == absent {
			_, err = c.Set([]string{words[0], strings.Join(words[1:], " ")}, true)
			require.ErrorContains(t, err, "ERR CONFIG SET failed (possibly related to argument '"+strings.ToLower(words[0])+"') - "+want)
			require.Equal(t, Default().Get(words[0]), c.Get(words[0]))
		}
	}
	for _, line := range []string{"tls-cluster no", "replicaof no one", "replicaof NO ONE", "tls-replication no",
		"min-slaves-to-write 0", "locale-collate \"\"", "locale-collate C", "socket-mark-id 0"} {
		c, err := Parse("a.conf", []byte(line), Files{})
		require.NoError(t, err, line)
		require.Equal(t, Default(), c, line)
		require.Equal(t, line+"\n", string(c.Rewrite([]byte(line+"\n"))))
	}
}

// TestTheCommandLineWins, D99: the command line wins over values of a file, over its refused lines, and over
// earlier lines of standard input and included files. It adds to lines of a list, and a later line wins over
// it.
func TestTheCommandLineWins(t *testing.T) {
	files := fakeFiles(map[string]string{
		"a.conf": "tls-cluster yes\nhz 20\n", "absent.conf": "port 1\ntls-cluster yes\nsocket-mark-id 5\n",
		"list.conf": "save 900\n", "odd.conf": "hz many\nnonsense 1\n", "quotes.conf": "pidfile \"x\n", "in.conf": "include a.conf\n",
		"two.conf": "hz many\nhz more\n",
	})
	for _, args := range [][]string{
		{"a.conf", "--tls-cluster", "no"},
		{"in.conf", "--hz", "30", "--tls-cluster no"},
		{"--include", "a.conf", "--tls-cluster", "no"},
		{"absent.conf", "--tls-cluster", "no", "--socket-mark-id", "0"},
		{"two.conf", "--hz", "5"},
	} {
		cmd, err := ParseArgs(args, files)
		require.NoError(t, err, args)
		require.NotEmpty(t, cmd.Config.Overridden(), args)
	}
	for want, args := range map[string][]string{
		"at line 1 of a.conf\n>>> 'tls-cluster yes'":                 {"--tls-cluster", "no", "--include", "a.conf"},
		"at line 1 of list.conf\n>>> 'save 900'":                     {"list.conf", "--save", "60 1"},
		"at line 2 of odd.conf\n>>> 'nonsense (hidden)'":             {"odd.conf", "--hz", "5"},
		"at line 1 of quotes.conf\n>>> 'pidfile \"x'":                {"quotes.conf", "--pidfile", "y"},
		"command line\n>>> '--tls-cluster yes'":                      {"a.conf", "--tls-cluster", "yes"},
		"command line\n>>> '--nonsense (hidden)'\nunknown directive": {"a.conf", "--tls-cluster", "no", "--nonsense", "1"},
		"at line 2 of absent.conf\n>>> 'tls-cluster yes'":            {"absent.conf", "--port", "0"},
		"at line 3 of absent.conf\n>>> 'socket-mark-id":              {"absent.conf", "--tls-cluster", "no"},
	} {
		_, err := ParseArgs(args, files)
		require.ErrorContains(t, err, want, args)
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("a b\"\\\x00\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		words, ok := splitWords("x " + quote(s) + "\t")
		require.True(t, ok)
		require.Equal(t, []string{"x", s}, words)
	})
}
