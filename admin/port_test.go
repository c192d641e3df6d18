package admin

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/server"
	"lockserver/server/raft"
)

// fakeSource is a server that is as a test wants it.
type fakeSource struct {
	Source // nil: its other methods are not called
	reason error
}

func (f *fakeSource) Ready() error                                   { return f.reason }
func (f *fakeSource) Alarms() []raft.Alarm                           { return nil }
func (f *fakeSource) Figures() server.Figures                        { return server.Figures{} }
func (f *fakeSource) EachSale(func(int, *commands.SaleFigures) bool) {}
func (f *fakeSource) DialAudited() (net.Conn, error)                 { return nil, errors.New("no server") }
func (f *fakeSource) NowMS() int64                                   { return 0 }
func (f *fakeSource) Directives() map[string]string                  { return nil }

func open(t *testing.T, source Source) *Port {
	t.Helper()
	return openAll(t, []Source{source})
}

func openAll(t *testing.T, shards []Source) *Port {
	t.Helper()
	p, err := Open(shards, Options{Addr: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// get asks for a path, and returns the status and the text.
func get(t *testing.T, p *Port, path string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	reply, err := client.Get("http://" + p.Addr().String() + path)
	require.NoError(t, err)
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	require.Equal(t, "nosniff", reply.Header.Get("X-Content-Type-Options"))
	return reply.StatusCode, string(text)
}

func TestHealthAndReadiness(t *testing.T) {
	source := new(fakeSource)
	p := open(t, source)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/nothing": 404} {
		status, _ := get(t, p, path)
		require.Equal(t, want, status, path)
	}
	source.reason = errors.New("the disk\nis full")
	status, text := get(t, p, "/readyz")
	require.Equal(t, 503, status)
	require.Equal(t, "the disk is full\n", text, "the reason is one line")
	status, text = get(t, p, "/healthz")
	require.Equal(t, 200, status, "it is alive all the same")
	require.Equal(t, "ok\n", text)
	reply, err := http.Post("http://"+p.Addr().String()+"/healthz", "text/plain", nil)
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	require.Equal(t, 404, reply.StatusCode)
}

// TestProbesOfThePortNeedNoPlace: with all places of the port taken, its probes answer.
func TestProbesOfThePortNeedNoPlace(t *testing.T) {
	p := open(t, new(fakeSource))
	for range cap(p.crowd.places) {
		p.crowd.places <- struct{}{}
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 503} {
		status, _ := get(t, p, path)
		require.Equal(t, want, status, path)
	}
}

// TestAPortThatIsTaken: the error names the directive.
func TestAPortThatIsTaken(t *testing.T) {
	p := open(t, new(fakeSource))
	_, err := Open([]Source{new(fakeSource)}, Options{Addr: p.Addr().String(), Log: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "admin-port: ")
}

// TestIdleConnectionsAreReplaced: connections without a request, or with a part of one, lose their places to
// new ones.
func TestIdleConnectionsAreReplaced(t *testing.T) {
	p := open(t, new(fakeSource))
	idle := make([]net.Conn, 3*mostConns)
	for i := range idle {
		conn, err := net.Dial("tcp", p.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		if i%2 == 0 {
			_, err = conn.Write([]byte("GET /metrics HTTP/1.1\r\nHost: "))
			require.NoError(t, err)
		}
		idle[i] = conn
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/login"} {
		status, text := get(t, p, path)
		require.Equal(t, 200, status, text)
	}
	require.NoError(t, idle[0].SetReadDeadline(time.Now().Add(30*time.Second)))
	_, err := idle[0].Read(make([]byte, 1))
	var late net.Error
	require.False(t, err == nil || errors.As(err, &late) && late.Timeout(), "the oldest one is closed: %v", err)
	p.crowd.mu.Lock()
	defer p.crowd.mu.Unlock()
	require.LessOrEqual(t, len(p.crowd.idle), mostConns)
}

// TestRequestsKeepNoProbeOut: with all places taken by requests that do not end, probes are served, and other
// requests are refused.
func TestRequestsKeepNoProbeOut(t *testing.T) {
	c := newCrowd(2, 1)
	begun, end := make(chan struct{}), make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle("/healthz", c.probe(func(w http.ResponseWriter, _ *http.Request) { tell(w, http.StatusOK, "ok") }))
	mux.Handle("/", c.request(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		begun <- struct{}{}
		<-end
		tell(w, http.StatusOK, "done")
	})))
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv := &http.Server{Handler: mux, ConnState: c.moved, ConnContext: c.remember}
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(c.limit(inner)) })
	ask := func(path string) (string, error) {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
		reply, err := client.Get("http://" + inner.Addr().String() + path)
		if err != nil {
			return "", err
		}
		defer reply.Body.Close()
		text, err := io.ReadAll(reply.Body)
		return string(text), err
	}
	for range 3 { // places come back
		answers := make(chan string, 2)
		for range 2 {
			go func() {
				text, err := ask("/slow")
				answers <- fmt.Sprint(text, err)
			}()
		}
		<-begun
		<-begun
		for range 5 {
			text, err := ask("/healthz")
			require.NoError(t, err)
			require.Equal(t, "ok\n", text)
			text, err = ask("/slow")
			require.NoError(t, err)
			require.Equal(t, "too many requests at a time\n", text)
		}
		end <- struct{}{}
		end <- struct{}{}
		require.Equal(t, "done\n<nil>", <-answers)
		require.Equal(t, "done\n<nil>", <-answers)
	}
	require.NoError(t, srv.Close())
	served.Wait()
	require.Eventually(t, func() bool { // the server's goroutines report what it has closed
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.idle) == 0 && len(c.places) == 0
	}, time.Minute, time.Millisecond, "all places come back")
}

// TestMetricsAreAskedForByNoForeignName: a page of another site, with a name that resolves to this machine,
// reads nothing.
func TestMetricsAreAskedForByNoForeignName(t *testing.T) {
	for hosts, want := range map[string]map[string]int{
		"":                     {"localhost:1": 200, "127.0.0.1": 200, "[::1]:1": 200, "::1": 200, "10.0.0.1:1": 200, "lockserver:1": 200, "evil.example:1": 403, "evil.example": 403, "127.0.0.1.evil.example": 403},
		"locks.example b.test": {"locks.example:1": 200, "LOCKS.example": 200, "B.test": 200, "evil.locks.example": 403, "127.0.0.1": 200},
		"*":                    {"evil.example": 200},
	} {
		p, err := Open([]Source{new(fakeSource)}, Options{Addr: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler), Hosts: strings.Fields(hosts)})
		require.NoError(t, err)
		defer p.Close()
		for host, status := range want {
			r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			r.Host = host
			reply := httptest.NewRecorder()
			p.http.Handler.ServeHTTP(reply, r)
			require.Equal(t, status, reply.Code, "%q %q: %s", hosts, host, reply.Body)
		}
	}
}

// TestNoLoginOnlyOnALoopbackAddress: with another address the console asks for a login.
func TestNoLoginOnlyOnALoopbackAddress(t *testing.T) {
	for addr, on := range map[string]bool{"127.0.0.1:0": true, "0.0.0.0:0": false} {
		for _, wanted := range []bool{true, false} {
			p, err := Open([]Source{new(fakeSource)}, Options{Addr: addr, Log: slog.New(slog.DiscardHandler), AutoLogin: wanted})
			require.NoError(t, err)
			defer p.Close()
			require.Equal(t, on && wanted, p.AutoLogin(), addr)
			require.Equal(t, p.AutoLogin(), p.console().AutoLogin)
		}
	}
}
