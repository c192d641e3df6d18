package config

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// The golden files hold the answers of Redis 7.4.1 to the cases below. With -oracle=/path/to/redis-server
// they are made anew; without it they are only read.
var oracle = flag.String("oracle", "", "a redis-server to make the golden files with")

// answer is the result of one case: a refusal, or the values of the directives afterwards.
type answer struct {
	Case    []string
	Refused string   `json:",omitempty"`
	Line    int      `json:",omitempty"`
	Values  []string `json:",omitempty"`
}

// setCases are CONFIG SET's arguments.
var setCases = [][]string{
	{"maxmemory", "abc"}, {"maxmemory", "1zz"}, {"maxmemory", "-5"}, {"maxmemory", "20%"}, {"maxmemory", "1.5mb"},
	{"maxmemory", "0"}, {"maxmemory", ""}, {"maxmemory", "mb"}, {"maxmemory", " 5"}, {"maxmemory", "+5"}, {"MAXMEMORY", "zz"},
	{"maxmemory-clients", "5%"}, {"maxmemory-clients", "100%"}, {"maxmemory-clients", "101%"}, {"maxmemory-clients", "0%"},
	{"maxmemory-clients", "-5"}, {"maxmemory-clients", "-5%"}, {"maxmemory-clients", "abc"}, {"maxmemory-clients", "1mb"},
	{"maxmemory-clients", "1.5mb"}, {"maxmemory-clients", "10k%"}, {"maxmemory-clients", ""}, {"maxmemory-clients", "%"},
	{"maxmemory-clients", " 5%"}, {"maxmemory-clients", "05%"}, {"maxmemory-eviction-tenacity", "-1"},
	{"maxmemory-eviction-tenacity", "0"}, {"maxmemory-eviction-tenacity", "101"}, {"maxmemory-eviction-tenacity", "x"},
	{"maxmemory", "100mb"}, {"maxmemory-policy", "allkeys-lru"}, {"maxmemory-policy", "VOLATILE-ttl"}, {"maxmemory-samples", "0"},
	{"maxmemory-samples", "10"}, {"lfu-log-factor", "-1"}, {"lfu-log-factor", "0"}, {"lfu-decay-time", "x"}, {"lfu-decay-time", "3"},
	{"maxmemory", "0gb"}, {"maxmemory-policy", "foo"}, {"maxmemory-policy", "NoEviction"},
	{"loglevel", "foo"}, {"loglevel", "WARNING"}, {"loglevel", "debug"}, {"loglevel", ""},
	{"appendonly", "maybe"}, {"appendonly", "no"}, {"appendfsync", "x"}, {"appendfsync", "Always"}, {"appendfsync", "no"},
	{"save", "1"}, {"save", "a b"}, {"save", "0 1"}, {"save", "1 -1"}, {"save", ""}, {"save", "60 100 30 5"}, {"save", "10 0"},
	{"save", "  10   20 "}, {"save", " 10 20 "}, {"save", "10 20 30"}, {"save", "1x 2"}, {"save", " "}, {"save", "900 1 sdf"},
	{"client-output-buffer-limit", "normal 1 2"}, {"client-output-buffer-limit", "foo 1 2 3"},
	{"client-output-buffer-limit", "normal 1mb 2kb x"}, {"client-output-buffer-limit", "normal 1mb 2kb 3"},
	{"client-output-buffer-limit", "normal 0 0 -1"}, {"client-output-buffer-limit", "master 0 0 1"},
	{"client-output-buffer-limit", ""}, {"client-output-buffer-limit", "PUBSUB 1k 2m 3 replica 5g 4gb 2"},
	{"client-output-buffer-limit", "slave 1 2 3 pubsub -1 0 0"}, {"client-output-buffer-limit", "normal 1b 2B 3"},
	{"daemonize", "yes"}, {"databases", "5"}, {"DataBases", "5"}, {"unixsocketperm", "700"}, {"io-threads", "4"}, {"tcp-backlog", "5"},
	{"logfile", "x"}, {"pidfile", "x"}, {"unixsocket", "s"}, {"enable-debug-command", "yes"}, {"rdbchecksum", "no"},
	{"enable-protected-configs", "no"}, {"supervised", "no"}, {"syslog-enabled", "no"}, {"cluster-enabled", "no"},
	{"nope", "1"}, {"NoPe", "1"}, {"nope", "1", "databases", "5"}, {"databases", "5", "nope", "1"},
	{"timeout", "5", "nope", "1"}, {"timeout", "5", "TIMEOUT", "6"}, {"timeout", "5", "tcp-keepalive", "zz"},
	{"hash-max-listpack-value", "5", "hash-max-ziplist-value", "6"}, {"timeout", "5", "tcp-keepalive", "6"},
	{"hash-max-ziplist-entries", "5"}, {"hash-max-ziplist-value", "x"}, {"hash-max-listpack-value", "1kb"},
	{"hash-max-listpack-entries", "9223372036854775807"}, {"hash-max-listpack-entries", "1k"},
	{"hash-max-listpack-entries", "9223372036854775808"}, {"hash-max-listpack-value", "-3"},
	{"zset-max-listpack-entries", "7"}, {"zset-max-ziplist-entries", "-1"}, {"zset-max-listpack-entries", "1k"},
	{"zset-max-listpack-value", "1k"}, {"zset-max-ziplist-value", "9"}, {"zset-max-listpack-value", "x"},
	{"list-max-listpack-size", "5"}, {"list-max-ziplist-size", "-5"}, {"list-max-listpack-size", "-2147483648"},
	{"list-max-listpack-size", "-2147483649"}, {"list-max-listpack-size", "1kb"}, {"list-compress-depth", "3"},
	{"list-compress-depth", "-1"},
	{"notify-keyspace-events", "KEA"}, {"notify-keyspace-events", "xzK"}, {"notify-keyspace-events", ""},
	{"notify-keyspace-events", "KEAm"}, {"notify-keyspace-events", "KEq"}, {"notify-keyspace-events", "K E"},
	{"slowlog-log-slower-than", "-1"}, {"slowlog-log-slower-than", "-2"}, {"slowlog-log-slower-than", "5"},
	{"slowlog-log-slower-than", "x"}, {"slowlog-max-len", "-1"}, {"slowlog-max-len", "7"}, {"slowlog-max-len", "1kb"},
	{"latency-monitor-threshold", "-1"}, {"latency-monitor-threshold", "100"}, {"latency-monitor-threshold", "1k"},
	{"latency-tracking", "yes"}, {"latency-tracking", "x"},
	{"latency-tracking-info-percentiles", "0 50.0 100"}, {"latency-tracking-info-percentiles", "99.12345678"},
	{"latency-tracking-info-percentiles", ""}, {"latency-tracking-info-percentiles", "101"},
	{"latency-tracking-info-percentiles", "-1 x"}, {"latency-tracking-info-percentiles", "50 x"},
	{"latency-tracking-info-percentiles", "nan"}, {"latency-tracking-info-percentiles", "inf"},
	{"latency-tracking-info-percentiles", "1e1 0x10"}, {"latency-tracking-info-percentiles", "50  99"},
	{"latency-tracking-info-percentiles", "1_0"}, {"latency-tracking-info-percentiles", "50 50"},
	{"tracking-table-max-keys", "-1"}, {"tracking-table-max-keys", "0"}, {"tracking-table-max-keys", "5"}, {"tracking-table-max-keys", "1k"},
	{"set-max-intset-entries", "-1"}, {"set-max-intset-entries", "7"}, {"set-max-intset-entries", "1k"},
	{"stream-node-max-bytes", "x"}, {"stream-node-max-bytes", "1kb"}, {"stream-node-max-entries", "0"}, {"stream-node-max-entries", "1kb"},
	{"tcp-keepalive", "-1"}, {"tcp-keepalive", "0"}, {"tcp-keepalive", "0x"}, {"tcp-keepalive", ""}, {"tcp-keepalive", " 1"},
	{"tcp-keepalive", "01"}, {"tcp-keepalive", "+1"}, {"tcp-keepalive", "-0"}, {"tcp-keepalive", "2147483647"},
	{"timeout", "99999999999"}, {"timeout", "2147483648"}, {"maxclients", "0"}, {"maxclients", "x"}, {"maxclients", "100"},
	{"proto-max-bulk-len", "1"}, {"proto-max-bulk-len", "-1"}, {"proto-max-bulk-len", "1mb"}, {"proto-max-bulk-len", "1MB"},
	{"client-query-buffer-limit", "1"}, {"client-query-buffer-limit", "2mb"}, {"client-query-buffer-limit", "9223372036854775808"},
	{"client-query-buffer-limit", "99999999999999999999"}, {"client-query-buffer-limit", "1048575"},
	{"dbfilename", "a/b"}, {"dbfilename", "x.rdb"}, {"dbfilename", ""},
	{"rdbcompression", "1"}, {"rdbcompression", "NO"}, {"protected-mode", "on"}, {"protected-mode", "YES"}, {"protected-mode", ""},
	{"stop-writes-on-bgsave-error", "no"}, {"requirepass", "a b"}, {"requirepass", ""},
	{"shutdown-on-sigint", "save now"}, {"shutdown-on-sigint", "save nosave"}, {"shutdown-on-sigint", "foo"},
	{"shutdown-on-sigterm", "save save"}, {"shutdown-on-sigterm", "default now"}, {"shutdown-on-sigterm", ""},
	{"shutdown-on-sigterm", "FORCE nosave now"}, {"shutdown-timeout", "-1"}, {"shutdown-timeout", "3"},
	{"hz", "0"}, {"hz", "600"}, {"hz", "50"}, {"hz", "-1"}, {"hz", "abc"},
}

// fileCases are configuration files.
var fileCases = [][]string{
	{"hz 10\n# fine\n\n  foo bar  \n"}, {"port\n"}, {"port abc\n"}, {"port 1 2\n"}, {"port 70000\n"}, {"port 0x10\n"}, {"PORT 0\n"},
	{"port \"0\"\nhz '1\\'1'\n"}, {"save 900\n"}, {"save\n"}, {"save 900 1\nsave 300 10\n"}, {"save 900 1\nsave \"\"\nsave 300 10\n"},
	{"save \"\"\n"}, {"save 900 1 300 10\nsave \"60 5 30 6\"\n"}, {"save ''\n"}, {"bind\n"}, {"bind \"\"\n"},
	{"bind 127.0.0.1 -::1\n"}, {"bind \"127.0.0.1 -::1\"\n"}, {"bind 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"},
	{"pidfile \"unbalanced\n"}, {"pidfile \"a\"b\n"}, {"pidfile \"a\\x20\\\"\\n\\q\"\n"}, {"pidfile 'a\\'\\n'\n"}, {"pidfile a\"b c\"\n"},
	{"client-output-buffer-limit normal 0 0\n"}, {"client-output-buffer-limit normal 1 2 3 pubsub 4 5 6\n"},
	{"client-output-buffer-limit normal 1kb 2 3\nclient-output-buffer-limit replica 4 5 6\n"}, {"client-output-buffer-limit\n"},
	{"unixsocketperm 999\n"}, {"unixsocketperm 7777\n"}, {"unixsocketperm 0700\n"}, {"unixsocketperm -1\n"}, {"unixsocketperm 777\n"},
	{"maxclients 0\n"}, {"databases 0\n"}, {"databases 5\n"}, {"io-threads 0\n"}, {"io-threads 1000\n"}, {"tcp-backlog -1\n"},
	{"dbfilename a/b\n"}, {"loglevel x\n"}, {"rdbchecksum No\r\n"}, {"rdbchecksum \tyes \n"}, {"timeout 5\ntimeout 6"},
	{"enable-debug-command local\n"}, {"enable-debug-command x\n"}, {"shutdown-on-sigint save force\n"}, {"shutdown-on-sigint\n"},
	{"hash-max-ziplist-entries 5\n"}, {"include\n"}, {"include nothing-there-*.conf\n"}, {"proto-max-bulk-len 2gb\n"},
}

// argsCases are the last arguments of command lines.
var argsCases = [][]string{
	{"--hz"}, {"--foo", "1"}, {"--save"}, {"--save", ""}, {"--save", "--hz", "20"}, {"--save", "60", "1", "30", "2", "--hz", "20"},
	{"--save", "60 1", "--save", "5"}, {"--save", "60 1", "--save", "5 6"}, {"--save", "5 5", "--save", ""}, {"--hz=20"}, {"--hz", "x"},
	{"--hz 20"}, {"--hz 20", "--timeout", "5"}, {"--requirepass", "--hz"}, {"--requirepass", "a b", "--hz", "20"}, {"--hz", "--timeout", "5"},
	{"--HZ", "20"}, {"--version"}, {"--bind", "127.0.0.1", "-::1"}, {"--client-output-buffer-limit", "normal", "1", "2", "3"}, {"--loglevel", ""},
	{"--hz", "20", "--hz", "30"}, {"--hz", "20", "-"}, {"--pidfile", "a\"b"}, {"--requirepass", ""},
}

// differs lists the cases, joined by blanks, in which the answer is not that of Redis, with the reason.
var differs = map[string]string{
	"hz 10\n# fine\n\n  foo bar  \n": "our text names the directive",
	"include\n":                      "our text says what is wrong with it",
	"--foo 1":                        "our text names the directive",
	"--hz=20":                        "our text names the directive",
	"--version":                      "our text names the directive",
}

func TestSetAnswersAsRedis(t *testing.T) {
	for _, want := range golden(t, "set", setCases, askSet) {
		t.Run(strings.Join(want.Case, " "), func(t *testing.T) {
			c := redisDefault(t)
			before := c.Clone()
			names, err := c.Set(want.Case, false)
			if want.Refused != "" {
				require.EqualError(t, err, want.Refused)
				require.Equal(t, before, c, "a refused CONFIG SET must change nothing")
				return
			}
			require.NoError(t, err)
			require.NotEmpty(t, names)
			require.ElementsMatch(t, pairsOf(want.Values), pairsOf(c.Get(namesOf(want.Values)...)))
		})
	}
}

func TestFilesAreReadAsRedisDoes(t *testing.T) {
	for _, want := range golden(t, "file", fileCases, askFile) {
		t.Run(strings.Join(want.Case, " "), func(t *testing.T) {
			c := redisDefault(t)
			l := &loader{c: c, files: OSFiles(), seen: make(map[*directive]bool)}
			compareLoad(t, want, l.load("test.conf", []byte(want.Case[0]), 0), c)
		})
	}
}

func TestCommandLinesAreReadAsRedisDoes(t *testing.T) {
	for _, want := range golden(t, "args", argsCases, askArgs) {
		t.Run(strings.Join(want.Case, " "), func(t *testing.T) {
			files := OSFiles()
			files.Stdin = func() ([]byte, error) { return nil, nil }
			prefix := []string{"--dir", "."}
			cmd, err := ParseArgs(append(prefix, want.Case...), files)
			want.Line = 0
			compareLoad(t, want, err, cmd.Config)
		})
	}
}

func compareLoad(t *testing.T, want answer, err error, c *Config) {
	t.Helper()
	if want.Refused == "" {
		require.NoError(t, err)
		require.ElementsMatch(t, pairsOf(want.Values), pairsOf(c.Get(namesOf(want.Values)...)))
		return
	}
	var refused *LineError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, want.Line, refused.Line)
	if differs[strings.Join(want.Case, " ")] == "" {
		require.Equal(t, want.Refused, refused.Reason)
	} else {
		require.NotEqual(t, want.Refused, refused.Reason, "no difference left to excuse")
	}
}

// redisDefault returns our default configuration with the defaults of Redis for the directives of the cases.
func redisDefault(t *testing.T) *Config {
	t.Helper()
	c := Default()
	c.EnableProtectedConfigs = AccessYes
	return c
}

func namesOf(pairs []string) (names []string) {
	for i := 0; i < len(pairs); i += 2 {
		names = append(names, pairs[i])
	}
	return names
}

func pairsOf(flat []string) (pairs [][2]string) {
	for i := 0; i < len(flat); i += 2 {
		pairs = append(pairs, [2]string{flat[i], flat[i+1]})
	}
	return pairs
}

// golden returns the stored answers to the cases, or asks the oracle and stores them.
func golden(t *testing.T, name string, cases [][]string, ask func(*testing.T, [][]string) []answer) []answer {
	t.Helper()
	path := filepath.Join("testdata", "redis-7.4-"+name+".json")
	if *oracle != "" {
		out, err := json.MarshalIndent(ask(t, cases), "", " ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(out, '\n'), 0o644))
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var answers []answer
	require.NoError(t, json.Unmarshal(data, &answers))
	require.Len(t, answers, len(cases), "the golden file is older than the cases")
	for i, a := range answers {
		require.Equal(t, cases[i], a.Case)
	}
	return answers
}

func askSet(t *testing.T, cases [][]string) (answers []answer) {
	conn, refused := startOracle(t, nil, "--enable-protected-configs", "yes")
	require.NotNil(t, conn, refused)
	for _, args := range cases {
		conn.do(t, "CONFIG", "SET", "client-output-buffer-limit", "normal 0 0 0 slave 256mb 64mb 60 pubsub 32mb 8mb 60")
		a := answer{Case: args}
		if reply := conn.do(t, append([]string{"CONFIG", "SET"}, args...)...); reply[0] == "OK" {
			a.Values = conn.values(t, namesOf(args))
		} else {
			a.Refused = strings.TrimPrefix(reply[0], "-")
		}
		answers = append(answers, a)
	}
	return answers
}

func askFile(t *testing.T, cases [][]string) (answers []answer) {
	for _, c := range cases {
		var names []string
		for _, line := range strings.Split(c[0], "\n") {
			if w := strings.Fields(line); len(w) > 0 && w[0] != "include" {
				names = append(names, w[0])
			}
		}
		answers = append(answers, askStart(t, c, names, []byte(c[0])))
	}
	return answers
}

func askArgs(t *testing.T, cases [][]string) (answers []answer) {
	for _, c := range cases {
		a := askStart(t, c, []string{"hz", "save", "timeout", "client-output-buffer-limit", "requirepass"}, nil, c...)
		a.Line = 0
		answers = append(answers, a)
	}
	return answers
}

var readingLine = regexp.MustCompile(`at line (\d+)\n>>> .*\n(.*)`)

func askStart(t *testing.T, c, names []string, file []byte, args ...string) answer {
	a := answer{Case: c}
	conn, output := startOracle(t, file, args...)
	if conn != nil {
		if i := slices.Index(args, "--requirepass"); i >= 0 {
			conn.do(t, "AUTH", args[i+1])
		}
		a.Values = conn.values(t, names)
		return a
	}
	m := readingLine.FindStringSubmatch(output)
	require.NotNil(t, m, "%q: %s", c, output)
	a.Line, _ = strconv.Atoi(m[1])
	a.Refused = strings.TrimRight(m[2], "\r")
	return a
}

// oracleConn is a connection to the oracle.
type oracleConn struct {
	net.Conn
	r *bufio.Reader
}

// startOracle starts a redis-server on a unix socket with a file and further arguments. It returns a nil
// connection and the output if it does not start.
func startOracle(t *testing.T, file []byte, args ...string) (*oracleConn, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "oracle")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	command := []string{"--port", "0", "--unixsocket", socket, "--dir", dir}
	if file != nil {
		name := filepath.Join(dir, "test.conf")
		require.NoError(t, os.WriteFile(name, file, 0o644))
		command = append([]string{name}, command...)
	}
	p := testkit.Prepare(t, testkit.Command{Program: *oracle, Args: append(command, args...), Dir: dir, Addr: socket})
	require.NoError(t, p.Launch())
	require.NoError(t, p.Input.Close()) // a command line may name standard input as the file
	if err := p.AwaitReady(); err != nil {
		require.ErrorContains(t, err, "before it was ready")
		return nil, p.Log()
	}
	conn, err := p.Dial()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &oracleConn{conn, bufio.NewReader(conn)}, ""
}

// do sends a command and returns the reply's elements; an error begins with '-'.
func (c *oracleConn) do(t *testing.T, args ...string) []string {
	t.Helper()
	fmt.Fprintf(c, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(c, "$%d\r\n%s\r\n", len(a), a)
	}
	return c.reply(t)
}

func (c *oracleConn) reply(t *testing.T) []string {
	t.Helper()
	line, err := c.r.ReadString('\n')
	require.NoError(t, err)
	line = strings.TrimRight(line, "\r\n")
	n, _ := strconv.Atoi(line[1:])
	switch line[0] {
	case '$':
		b := make([]byte, n+2)
		_, err := io.ReadFull(c.r, b)
		require.NoError(t, err)
		return []string{string(b[:n])}
	case '*':
		var all []string
		for range n {
			all = append(all, c.reply(t)...)
		}
		return all
	case '-':
		return []string{line}
	default:
		return []string{line[1:]}
	}
}

// values asks for directives, without those that the oracle's own command line sets.
func (c *oracleConn) values(t *testing.T, names []string) []string {
	t.Helper()
	var pairs []string
	seen := make(map[string]bool)
	for _, n := range names {
		if n = strings.ToLower(n); n != "port" && n != "unixsocket" && n != "dir" && !seen[n] {
			seen[n] = true
			pairs = append(pairs, c.do(t, "CONFIG", "GET", n)...)
		}
	}
	return pairs
}
