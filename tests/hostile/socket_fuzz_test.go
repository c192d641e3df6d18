package hostile

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/testkit"
)

// These fuzz tests send arbitrary bytes over a socket, through the whole path from the event loop on. Each
// input goes to a new server with a secret key that only an operator may see.

const (
	secretKey   = "hidden:5e3f"
	secretValue = "nobody reads 91c7"
	password    = "b5f2a4f1c0a84e1d"
)

// firstBytes holds the inputs with which the fuzzer starts: each form of a request, complete and cut off, and
// requests with special effects.
var firstBytes = []string{
	"*1\r\n$4\r\nPING\r\n", "PING\r\n", "GET hidden:5e3f\r\n", "*2\r\n$3\r\nGET\r\n$11\r\nhidden:5e3f\r\n", "*-1\r\n*0\r\n\r\n\n", "*1\r\n$100\r\nPING", "$\r\n*\r\n",
	"AUTH wrong\r\nAUTH default wrong\r\nHELLO 3 AUTH default x SETNAME y\r\nPING\r\n", "HELLO 3\r\nHELLO 2\r\nRESET\r\nQUIT\r\nPING\r\n",
	"MULTI\r\nGET hidden:5e3f\r\nSET open:1 v\r\nEXEC\r\nWATCH hidden:5e3f\r\nDISCARD\r\n", "SET open:1 v\r\nGET open:1\r\nCOPY open:1 hidden:5e3f REPLACE\r\nRENAME hidden:5e3f open:1\r\n",
	"*3\r\n$4\r\nEVAL\r\n$47\r\nreturn redis.pcall('get', 'hidden:5e3f') or {1}\r\n$1\r\n0\r\n", "SUBSCRIBE open:c\r\nPSUBSCRIBE *\r\nPUBLISH open:c m\r\nPING\r\n",
	"LOCK open:l me PX 100\r\nGUARD open:l 1 GET hidden:5e3f\r\nMLOCK 2 open:l hidden:5e3f me\r\nUNLOCK open:l me\r\nLOCK.LIST\r\n",
	"SORT open:s BY hidden:* GET hidden:5e3f\r\nOBJECT ENCODING hidden:5e3f\r\nRPUSH open:s 5e3f\r\nDUMP hidden:5e3f\r\n", "CLIENT TRACKING on\r\nCLIENT REPLY SKIP\r\nCLIENT ID\r\n",
	"BLPOP open:none 0.01\r\nXREAD BLOCK 1 STREAMS open:x 0\r\nSECKILL v u o\r\nNEXTID n\r\n", "\"GET\" 'hidden:5e3f'\r\n\"\\x47ET\" \"\r\n",
}

// FuzzUnauthenticated: an unauthenticated client learns nothing, and changes nothing.
func FuzzUnauthenticated(f *testing.F) {
	fuzzBytes(f, func(t *testing.T, w *watched, reply []byte) {
		w.secretIsSafe(t, reply)
		require.Equal(t, "1", w.admin.Do("DBSIZE").String(), "there is the secret key and no other")
	}, ">"+password)
}

// FuzzRestricted: a user who may use some keys does nothing to the others, and learns nothing about them.
func FuzzRestricted(f *testing.F) {
	fuzzBytes(f, func(t *testing.T, w *watched, reply []byte) { w.secretIsSafe(t, reply) },
		"resetkeys", "~open:*", "resetchannels", "&open:*", "-@admin", "-@dangerous", "-scan", "-randomkey", "-dbsize")
}

// FuzzOwner: a user with all rights can end the server only by SHUTDOWN.
func FuzzOwner(f *testing.F) {
	fuzzBytes(f, func(*testing.T, *watched, []byte) {})
}

// watched is a server, and an operator's connection to it.
type watched struct {
	srv    *server.Server
	socket string
	admin  *testkit.Client
	secret string // DUMP of the secret key
}

// fuzzBytes sends bytes as the user default with these rules. check gets the reply after the end of the
// connection. It is not called if the client has ended the server, or has left a running script behind.
func fuzzBytes(f *testing.F, check func(t *testing.T, w *watched, reply []byte), rules ...string) {
	for _, input := range firstBytes {
		f.Add([]byte(input))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if word := strings.ToLower(string(input)); strings.Contains(word, "shutdown") || strings.Contains(word, "pause") {
			return // these commands end the server by design
		}
		w := startWatched(t, rules)
		reply, ended := w.send(t, input)
		select {
		case <-w.srv.Done():
			require.Failf(t, "the server has ended", "exit code %d", w.srv.ExitCode())
		default:
		}
		if ended {
			check(t, w, reply)
		}
	})
}

// startWatched starts a server with a secret key. One command cannot ask for much memory.
func startWatched(t *testing.T, rules []string) *watched {
	dir, err := os.MkdirTemp("", "fuzz") // short, because the path of a socket is limited
	require.NoError(t, err)
	w := &watched{socket: filepath.Join(dir, "s")}
	w.srv, err = server.New(server.Options{EventLoops: true, Seed: 7, Directives: map[string]string{"port": "0", "unixsocket": w.socket, "dir": dir, "save": "",
		"proto-max-bulk-len": "1mb", "maxmemory": "200mb", "busy-reply-threshold": "100", "io-threads": "1"}})
	require.NoError(t, err)
	require.NoError(t, w.srv.Start())
	t.Cleanup(func() {
		_ = w.srv.Close()
		_ = os.RemoveAll(dir)
	})
	w.admin = testkit.Dial(t, func() (net.Conn, error) { return net.Dial("unix", w.socket) })
	w.admin.Do("ACL", "SETUSER", "admin", "on", ">"+password, "~*", "&*", "+@all")
	require.Equal(t, "+OK", w.admin.Do("AUTH", "admin", password).String())
	require.Equal(t, "+OK", w.admin.Do("SET", secretKey, secretValue).String())
	w.secret = w.admin.Do("DUMP", secretKey).Str
	require.Equal(t, "+OK", w.admin.Do(append([]string{"ACL", "SETUSER", "default"}, rules...)...).String())
	return w
}

// repliesWithin is the longest time for a client's commands, except for scripts, which may run for ever.
const repliesWithin = 30 * time.Second

// send sends bytes and reads until the server sends no more.
func (w *watched) send(t *testing.T, input []byte) (reply []byte, ended bool) {
	nc, err := net.Dial("unix", w.socket)
	require.NoError(t, err)
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(time.Now().Add(repliesWithin))
	read := make(chan error, 1)
	go func() {
		var err error
		reply, err = io.ReadAll(io.LimitReader(nc, 64<<20))
		read <- err
	}()
	if _, err := nc.Write(input); err == nil {
		_ = nc.(*net.UnixConn).CloseWrite()
	}
	err = <-read
	if errors.Is(err, os.ErrDeadlineExceeded) {
		require.Contains(t, strings.ToLower(string(input)), "eval", "the server does not end the connection")
		return nil, false
	}
	return reply, true
}

// secretIsSafe checks that the secret key is unchanged, and not in a reply.
func (w *watched) secretIsSafe(t *testing.T, reply []byte) {
	require.False(t, bytes.Contains(reply, []byte(secretValue)), "%q", reply)
	require.Equal(t, w.secret, w.admin.Do("DUMP", secretKey).Str)
	require.Equal(t, "-1", w.admin.Do("PTTL", secretKey).String())
}
