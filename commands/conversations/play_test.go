package conversations

import (
	"crypto/tls"
	"hash/crc32"
	"maps"
	"net"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/conversation"
	"lockserver/tests/testkit"
)

// begun is the time at which the server of a conversation begins. Some conversations contain it.
var begun = time.UnixMilli(1_750_000_000_000)

// connections are the ways on which bytes reach a server.
var connections = []struct {
	name       string
	eventLoops bool
	directives map[string]string
	pipe, tls  bool
}{
	{name: "pipe", pipe: true},
	{name: "goroutines"},
	{name: "loop", eventLoops: true, directives: map[string]string{"io-threads": "1"}},
	{name: "4 loops", eventLoops: true, directives: map[string]string{"io-threads": "4"}},
	{name: "encrypted", eventLoops: true, tls: true},
}

// script is the text of a conversation and its name.
type script struct{ name, text string }

// play plays each script on a server of its own, and each begins with the lines of hello. The name of a
// script decides over which kind of connection; the long form plays each over all of them.
func play(t *testing.T, directives map[string]string, hello string, scripts []script) {
	t.Helper()
	t.Parallel()
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			forms := connections
			if !testkit.Long() {
				at := int(crc32.ChecksumIEEE([]byte(t.Name()))) % len(forms)
				forms = forms[at : at+1]
			}
			for _, form := range forms {
				t.Run(form.name, func(t *testing.T) {
					all := map[string]string{"save": "", "dbfilename": "", "port": "0"}
					maps.Copy(all, form.directives)
					maps.Copy(all, directives)
					var ca *testkit.Authority
					if form.tls {
						ca = testkit.NewAuthority(t)
						cert := ca.Issue("server", time.Now().Add(time.Hour))
						maps.Copy(all, map[string]string{"tls-port": freePort(t), "tls-cert-file": cert.CertFile,
							"tls-key-file": cert.KeyFile, "tls-auth-clients": "no"})
					}
					clock := server.NewManualClock(begun)
					srv := serve(t, server.Options{Clock: clock, EventLoops: form.eventLoops, Directives: all})
					clock.Set(begun)
					world := worldOf(srv, clock)
					switch {
					case form.tls:
						world.Dial = func() (net.Conn, error) {
							return tls.Dial("tcp", srv.SecureAddr().String(), &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"})
						}
					case !form.pipe:
						world.Dial = func() (net.Conn, error) { return net.Dial("tcp", srv.Addr().String()) }
					}
					conversation.Run(t, world, hello+s.text)
				})
			}
		})
	}
}

// serve starts a server that ends with the test.
func serve(t testing.TB, o server.Options) *server.Server {
	t.Helper()
	srv, err := server.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.Start())
	return srv
}

// worldOf is a server as a conversation sees it, over connections inside the process.
func worldOf(srv *server.Server, clock *server.ManualClock) conversation.Server {
	return conversation.Server{
		Dial:      srv.Dial,
		Parked:    func() int { return parked(srv) },
		Connected: func() int { return infoNumber(srv.Figures(), connectedClients) },
		Clock:     clock,
	}
}

// parked returns how many commands wait, those with NOTIFY included.
func parked(srv *server.Server) int {
	f := srv.Figures()
	return infoNumber(f, blockedClients) + f.NotifyWaits
}

var (
	blockedClients   = regexp.MustCompile(`(?m)^blocked_clients:(\d+)`)
	connectedClients = regexp.MustCompile(`(?m)^connected_clients:(\d+)`)
)

// infoNumber is a number of INFO.
func infoNumber(f server.Figures, line *regexp.Regexp) int {
	n, _ := strconv.Atoi(line.FindStringSubmatch(f.Info)[1])
	return n
}

// client is a connection inside the process.
func client(t testing.TB, srv *server.Server) *testkit.Client { return testkit.Dial(t, srv.Dial) }

// awaitParked waits until n commands wait.
func awaitParked(t testing.TB, srv *server.Server, n int) {
	t.Helper()
	conversation.Await(t, 2*time.Minute, func() bool { return parked(srv) == n }, "%d commands should wait", n)
}

// freePort is a port that nothing listens at.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
