package server

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/server/transport"
	"lockserver/tests/testkit"
)

// connectionScripts need no clock; they run on every transport.
var connectionScripts = []struct {
	name, password, text string
}{
	{"PING and ECHO", "", `
		A PING -> +PONG
		A PING hi -> "hi"
		A PING a b -> -ERR wrong number of arguments for 'ping' command
		A ECHO "" -> ""
		A ECHO -> -ERR wrong number of arguments for 'echo' command
		A NOSUCH a b -> -ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b'
		A QUIT -> +OK
		A <- closed`},
	{"SELECT", "", `
		A SELECT 15 -> +OK
		A SET k v -> +OK
		A SELECT 16 -> -ERR DB index is out of range
		A SELECT -1 -> -ERR DB index is out of range
		A SELECT 9223372036854775807 -> -ERR value is out of range, value must between -2147483648 and 2147483647
		A SELECT x -> -ERR value is not an integer or out of range
		A GET k -> "v"
		B GET k -> $nil`},
	{"AUTH", "secret", `
		A PING -> -NOAUTH Authentication required.
		A LOCK k a -> -NOAUTH Authentication required.
		A NOSUCH -> -ERR unknown command 'NOSUCH', with args beginning with:
		A AUTH -> -ERR wrong number of arguments for 'auth' command
		A AUTH wrong -> -WRONGPASS invalid username-password pair or user is disabled.
		A AUTH other secret -> -WRONGPASS invalid username-password pair or user is disabled.
		A AUTH a b c -> -ERR syntax error
		A HELLO 3 -> -NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time
		A AUTH default secret -> +OK
		A PING -> +PONG
		A RESET -> +RESET
		A PING -> -NOAUTH Authentication required.
		A AUTH secret -> +OK
		A PING -> +PONG`},
	{"the password changes", "secret", `
		A AUTH secret -> +OK
		B PING x -> -NOAUTH Authentication required.
		A CONFIG SET requirepass "" -> +OK
		B PING -> +PONG
		A CONFIG SET requirepass other -> +OK
		B PING -> -NOAUTH Authentication required.
		C PING -> -NOAUTH Authentication required.
		C AUTH secret -> -WRONGPASS invalid username-password pair or user is disabled.
		C AUTH other -> +OK`},
	{"AUTH without a password", "", `
		A AUTH x -> -ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?
		A AUTH default x -> +OK
		A AUTH other x -> -WRONGPASS invalid username-password pair or user is disabled.`},
	{"HELLO", "", `
		A HELLO -> ["server" "redis" "version" "7.4.1" "proto" 2 "id" 1 "mode" "standalone" "role" "master" "modules" []]
		A HELLO 4 -> -NOPROTO unsupported protocol version
		A HELLO x -> -ERR Protocol version is not an integer or out of range
		A HELLO 3 SETNAME me AUTH default x -> {"server":"redis" "version":"7.4.1" "proto":3 "id":1 "mode":"standalone" "role":"master" "modules":[]}
		A CLIENT GETNAME -> "me"
		A GET none -> nil
		A HELLO 2 AUTH nobody x -> -WRONGPASS invalid username-password pair or user is disabled.
		A HELLO 2 FOO -> -ERR Syntax error in HELLO option 'FOO'
		A HELLO 2 SETNAME -> -ERR Syntax error in HELLO option 'SETNAME'
		A HGETALL none -> {}
		A RESET -> +RESET
		A GET none -> $nil
		A CLIENT GETNAME -> $nil`},
	{"names", "", `
		A CLIENT GETNAME -> $nil
		A CLIENT SETNAME me -> +OK
		A CLIENT GETNAME -> "me"
		A CLIENT SETNAME "" -> +OK
		A CLIENT GETNAME -> $nil
		A CLIENT SETINFO LIB-NAME redis.go -> +OK
		A CLIENT SETINFO lib-ver 9.0 -> +OK
		A CLIENT SETINFO FOO x -> -ERR Unrecognized option 'FOO'
		A CLIENT ID -> 1
		B CLIENT ID -> 2
		A CLIENT NO-TOUCH MAYBE -> -ERR syntax error
		A CLIENT NO-EVICT ON -> +OK
		A CLIENT NO-TOUCH ON -> +OK`},
	{"CLIENT REPLY", "", `
		A sends CLIENT REPLY OFF
		A sends SET k 1
		A sends NOSUCH
		A sends CLIENT REPLY SKIP
		A CLIENT REPLY ON -> +OK
		A sends CLIENT REPLY SKIP
		A sends INCR k
		A GET k -> "2"
		A CLIENT REPLY MAYBE -> -ERR syntax error
		A sends CLIENT REPLY OFF
		A RESET -> +RESET`},
	{"CLIENT KILL", "", `
		A CLIENT KILL 1.2.3.4:5 -> -ERR No such client
		A CLIENT KILL ID 0 -> -ERR client-id should be greater than 0
		A CLIENT KILL TYPE nothing -> -ERR Unknown client type 'nothing'
		A CLIENT KILL USER nobody -> -ERR No such user 'nobody'
		A CLIENT KILL SKIPME maybe -> -ERR syntax error
		A CLIENT KILL ID 99 -> 0
		B PING -> +PONG
		C PING -> +PONG
		A CLIENT KILL ID 2 -> 1
		B <- closed
		A CLIENT KILL TYPE normal -> 1
		C <- closed
		A CLIENT KILL ID 1 -> 0
		A CLIENT KILL ID 1 SKIPME no -> 1
		A <- closed`},
}

func TestConnectionScripts(t *testing.T) {
	t.Parallel()
	for _, tt := range connectionScripts {
		t.Run(tt.name, func(t *testing.T) {
			onATransport(t, Options{Directives: withPassword(tt.password).Directives()}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
				converse(t, srv, nil, dial, tt.text)
			})
		})
	}
}

func TestClientList(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	onEveryTransport(t, Options{Clock: clock}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a := testkit.Dial(t, dial)
		a.Do("LOCK", "k", "a") // so it has the first number
		b := testkit.Dial(t, dial)
		a.Do("CLIENT", "SETNAME", "first")
		a.Do("CLIENT", "SETINFO", "LIB-NAME", "lib")
		b.Do("SELECT", "3")
		b.Do("LOCK", "k", "b")
		b.Do("SELECT", "0")
		b.Send("LOCK", "k", "b", "WAIT", "0")
		awaitParked(t, srv, 1)
		clock.Advance(5 * time.Second)
		lines := strings.Split(a.Do("CLIENT", "LIST").Str, "\n")
		require.Len(t, lines, 3)
		require.Contains(t, lines[0], "id=1 ")
		require.Contains(t, lines[0], " name=first age=5 idle=0 flags=N db=0 ")
		require.Contains(t, lines[0], " cmd=client|list ")
		require.Contains(t, lines[0], " resp=2 lib-name=lib lib-ver=")
		require.Contains(t, lines[1], " age=5 idle=5 flags=b db=0 ")
		require.Contains(t, lines[1], " cmd=lock ")
		before := func(line string) string { // the input and the words of both commands are others
			head, _, _ := strings.Cut(line, " qbuf=")
			return head
		}
		only := a.Do("CLIENT", "LIST", "ID", "1", "77").Str
		require.Equal(t, 1, strings.Count(only, "\n"))
		require.Equal(t, before(lines[0]), before(only))
		require.Empty(t, a.Do("CLIENT", "LIST", "TYPE", "pubsub").Str)
		require.Equal(t, "-ERR Unknown client type 'x'", a.Do("CLIENT", "LIST", "TYPE", "x").String())
		require.Equal(t, "-ERR syntax error", a.Do("CLIENT", "LIST", "FOO").String())
		require.Contains(t, a.Do("CLIENT", "INFO").Str, "id=1 ")
		for _, field := range strings.Fields(lines[0]) {
			require.Contains(t, field, "=")
		}
	})
}

func TestNoTouch(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, nil)
	a, b := client(t, srv), client(t, srv)
	a.Do("SET", "k", "v")
	clock.Advance(100 * time.Second)
	a.Do("CLIENT", "NO-TOUCH", "ON")
	a.Do("GET", "k")
	require.EqualValues(t, 100, a.Do("OBJECT", "IDLETIME", "k").Int)
	b.Do("GET", "k")
	require.Zero(t, a.Do("OBJECT", "IDLETIME", "k").Int)
}

// In protected mode, clients on other machines are refused as long as the server has no password.
func TestProtectedMode(t *testing.T) {
	t.Parallel()
	far := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1234}
	for _, tt := range []struct {
		protected bool
		password  string
		from      net.Addr
		refused   bool
	}{
		{true, "", far, true},
		{true, "", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, false},
		{true, "", &net.TCPAddr{IP: net.IPv6loopback, Port: 1}, false},
		{true, "", &net.UnixAddr{Name: "/tmp/s", Net: "unix"}, false},
		{true, "secret", far, false},
		{false, "", far, false},
	} {
		srv := startWith(t, Options{}, func(c *config.Config) { c.ProtectedMode, c.RequirePass = tt.protected, tt.password })
		s, refusal := srv.executor.open(nowhere{}, transport.Peer{Local: tt.from, Remote: tt.from, FD: -1})
		require.Equal(t, tt.refused, s == nil, "%+v", tt)
		require.Equal(t, tt.refused, strings.HasPrefix(refusal, "-DENIED "), "%+v", tt)
		if s != nil {
			s.Close()
		}
	}
}

func TestConfigSetTakesEffect(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, nil)
	c := client(t, srv)
	require.Equal(t, `["maxclients" "10000"]`, c.Do("CONFIG", "GET", "maxclients").String())
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "maxclients", "5", "lock-watchdog-timeout", "7000").String())
	require.Equal(t, `["MAXCLIENTS" "5"]`, c.Do("CONFIG", "GET", "MAXCLIENTS").String())
	require.Equal(t, "5", srv.Directives()["maxclients"])
	c.Do("LOCK", "k", "a")
	require.EqualValues(t, 7000, c.Do("PTTL", "k").Int)
	require.Equal(t, "-ERR CONFIG SET failed (possibly related to argument 'port') - can't set immutable config",
		c.Do("CONFIG", "SET", "maxclients", "9", "port", "1").String())
	require.Equal(t, "5", srv.Directives()["maxclients"], "all or none")
	require.Equal(t, "-ERR wrong number of arguments for 'config|set' command", c.Do("CONFIG", "SET", "a").String())
	require.Equal(t, "-ERR syntax error", c.Do("CONFIG", "SET", "a", "b", "c").String())
	require.Equal(t, "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'", c.Do("CONFIG", "SET", "nosuch", "1").String())
	require.Equal(t, "-ERR The server is running without a config file", c.Do("CONFIG", "REWRITE").String())

	c.Do("CONFIG", "SET", "proto-max-bulk-len", "1mb")
	require.Equal(t, "-ERR Protocol error: invalid bulk length", raw(t, c, "*2\r\n$4\r\nECHO\r\n$1048577\r\n"))
}

func TestConfigSetDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := inDir(dir)
	cfg.EnableProtectedConfigs = config.AccessLocal
	srv := start(t, Options{Directives: cfg.Directives()})
	c := client(t, srv)
	const failed = "-ERR CONFIG SET failed (possibly related to argument 'dir') - "
	require.Equal(t, failed+"No such file or directory", c.Do("CONFIG", "SET", "dir", dir+"/none").String())
	c.Do("SAVE")
	require.Equal(t, failed+"Not a directory", c.Do("CONFIG", "SET", "dir", dir+"/dump.rdb").String())
	require.Equal(t, `["dir" "`+dir+`"]`, c.Do("CONFIG", "GET", "dir").String())
	to := t.TempDir()
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "dir", to).String())
	require.Equal(t, "+OK", c.Do("SAVE").String())
	require.FileExists(t, to+"/dump.rdb")
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "dir", "../").String())
	require.Equal(t, `["dir" "`+to[:strings.LastIndexByte(to, '/')]+`"]`, c.Do("CONFIG", "GET", "dir").String(), "paths are absolute")
}

func TestConfigSetLogLevel(t *testing.T) {
	t.Parallel()
	level := levelVar(0)
	c := client(t, startWith(t, Options{LogLevel: level}, func(c *config.Config) { c.LogLevel = config.LogWarning }))
	require.Equal(t, config.LogWarning.SlogLevel(), level.Level())
	c.Do("CONFIG", "SET", "loglevel", "debug")
	require.Equal(t, config.LogDebug.SlogLevel(), level.Level())
}

func TestInfo(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	onEveryTransport(t, Options{Clock: clock}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		c := testkit.Dial(t, dial)
		c.Do("SET", "k", "v")
		c.Do("SET", "t", "v", "PX", "100")
		c.Do("GET", "none")
		c.Do("NOSUCH")
		c.Do("LOCK", "l", "a")
		clock.Advance(time.Second)
		for _, section := range strings.Split(c.Do("INFO", "everything").Str, "\r\n\r\n") {
			lines := strings.Split(strings.TrimSuffix(section, "\r\n"), "\r\n")
			require.True(t, strings.HasPrefix(lines[0], "# "), lines[0])
			for _, line := range lines[1:] {
				name, _, ok := strings.Cut(line, ":")
				require.True(t, ok && name != "", "%q", line)
			}
		}
		require.Equal(t, "1", infoField(t, c, "connected_clients"))
		require.Equal(t, "1", infoField(t, c, "expired_keys"))
		require.Equal(t, "1", infoField(t, c, "lock_watchdogs"))
		require.Equal(t, "1", infoField(t, c, "uptime_in_seconds"))
		require.Equal(t, "keys=2,expires=1,avg_ttl=28999,subexpiry=0", infoField(t, c, "db0"))
		require.Equal(t, "1", infoField(t, c, "total_error_replies"))
		require.Regexp(t, `^calls=1,usec=\d+,usec_per_call=\d+\.\d\d,rejected_calls=0,failed_calls=0$`, infoField(t, c, "cmdstat_lock"))
		require.NotContains(t, c.Do("INFO").Str, "cmdstat_")
		require.True(t, strings.HasPrefix(c.Do("INFO", "keyspace").Str, "# Keyspace\r\ndb0:"))
		require.Empty(t, c.Do("INFO", "nosuch").Str)
		require.Equal(t, "+OK", c.Do("CONFIG", "RESETSTAT").String())
		require.Equal(t, "0", infoField(t, c, "expired_keys"))
		now := c.Do("TIME").Elems
		require.Equal(t, strconv.FormatInt(clock.NowUS()/1_000_000, 10), now[0].Str)
	})
}
