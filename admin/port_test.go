package admin

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/admin/console"
	"lockserver/admin/history"
	"lockserver/commands"
	"lockserver/server"
	"lockserver/server/raft"
)

// fakeSource is a server that is as a test wants it.
type fakeSource struct{ reason error }

func (f *fakeSource) Ready() error                                   { return f.reason }
func (f *fakeSource) Alarms() []raft.Alarm                           { return nil }
func (f *fakeSource) Figures() server.Figures                        { return server.Figures{} }
func (f *fakeSource) EachSale(func(int, *commands.SaleFigures) bool) {}
func (f *fakeSource) Dial() (net.Conn, error)                        { return nil, errors.New("no server") }
func (f *fakeSource) Permits(string, ...string) bool                 { return false }

func open(t *testing.T, source Source) *Port {
	t.Helper()
	p, err := Open(source, Options{Addr: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
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

// TestThePastIsRemembered: the data of charts are recorded without a viewer.
func TestThePastIsRemembered(t *testing.T) {
	p, c := served(t, server.Options{})
	c.Do("SELECT", "2")
	c.Do("SECKILL.CREATE", "shoes", "STOCK", "10")
	c.Do("SECKILL", "shoes", "ann", "1")
	now := time.Now()
	p.remember(now)
	require.Equal(t, [][]float64{{float64(now.Unix())}, {9}, {1}, {0}, {0}}, p.past.Of(console.SaleSeries(2, "shoes")))
	require.Len(t, p.past.Of(console.OpsSeries), 2)
	memory := p.past.Of(console.MemorySeries)
	require.Len(t, memory, 3)
	require.Positive(t, memory[1][0])
	require.Positive(t, memory[2][0])
	c.Do("DEL", "seckill:stock:shoes")
	p.remember(now.Add(history.Kept))
	require.Nil(t, p.past.Of(console.SaleSeries(2, "shoes")))
}

// TestAPortThatIsTaken: the error names the directive.
func TestAPortThatIsTaken(t *testing.T) {
	p := open(t, new(fakeSource))
	_, err := Open(new(fakeSource), Options{Addr: p.Addr().String(), Log: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "admin-port: ")
}

// TestConnectionsAreLimited: one that is too many waits until another has gone.
func TestConnectionsAreLimited(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := limited(inner, 1)
	accepted := make(chan net.Conn)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	for range 2 {
		conn, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
	}
	first := <-accepted
	select {
	case <-accepted:
		require.Fail(t, "the second has no place")
	case <-time.After(20 * time.Millisecond):
	}
	require.NoError(t, first.Close())
	require.ErrorIs(t, first.Close(), net.ErrClosed, "its place is given back once")
	<-accepted
	require.NoError(t, l.Close())
	<-ended
}
