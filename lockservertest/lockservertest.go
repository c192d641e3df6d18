// Package lockservertest is a server for one Go test. It runs when Run returns and ends with the test. The
// test controls its time. An error of the server fails the test.
//
//	srv := lockservertest.Run(t)
//	client := redis.NewClient(&redis.Options{Addr: srv.Addr})
//	...
//	srv.Advance(31 * time.Second) // past the lease
//
// It owns nothing but these helpers: test mode itself is server/testmode's. To add one: a method that fails
// the test rather than returning an error.
package lockservertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockserver/internal/call"
	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/server/testmode"
)

// Server is a server in test mode.
type Server struct {
	*server.Server
	// Addr is where clients connect, as host:port.
	Addr string

	t    testing.TB
	conn *call.Conn
}

// Fault is what goes wrong, and with which commands.
type Fault = testmode.Fault

// The kinds of faults.
const (
	Error      = testmode.Error
	Delay      = testmode.Delay
	DropBefore = testmode.DropBefore
	DropAfter  = testmode.DropAfter
	Close      = testmode.Close
	Silence    = testmode.Silence
)

// patience is how long Do waits for an answer.
const patience = 20 * time.Second

// Run starts a server, which ends with the test. Faults that have not struck by then fail it.
func Run(t testing.TB) *Server {
	t.Helper()
	return run(t, testmode.Standalone)
}

// RunCluster is Run with a server that looks like a Redis Cluster of three, the leader at Addr.
func RunCluster(t testing.TB) *Server {
	t.Helper()
	return run(t, testmode.Cluster)
}

// RunSentinel is Run with a server that looks like three behind Sentinels, which they are themselves. The
// master is called mymaster.
func RunSentinel(t testing.TB) *Server {
	t.Helper()
	return run(t, testmode.Sentinel)
}

func run(t testing.TB, topology string) *Server {
	t.Helper()
	srv, err := server.New(server.Options{Directives: map[string]string{"test-mode": "yes", "test-topology": topology}})
	if err != nil {
		t.Fatalf("lockservertest: %v", err)
	}
	if err := srv.Start(); err != nil {
		t.Fatalf("lockservertest: %v", err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return watch(t, srv)
}

// watch returns a running server as a Server. Its faults must strike before the test ends.
func watch(t testing.TB, srv *server.Server) *Server {
	t.Helper()
	s := &Server{Server: srv, Addr: srv.Addr().String(), t: t}
	s.connect()
	t.Cleanup(s.allStruck)
	return s
}

// connect makes the test's own connection anew: it has no port, and comes to the leader.
func (s *Server) connect() {
	s.t.Helper()
	conn, err := s.Dial()
	if err != nil {
		s.t.Fatalf("lockservertest: %v", err)
	}
	s.conn = call.New(conn, patience)
}

// Failover makes the next member the leader of the group that the server looks like (TEST.FAILOVER), and
// returns where it is.
func (s *Server) Failover() (addr string) {
	s.t.Helper()
	addr = s.Do("TEST.FAILOVER")
	s.connect()
	return addr
}

// allStruck fails the test if a fault has never struck: what it was to show has not been shown.
func (s *Server) allStruck() {
	s.Faults().Each(func(id int64, f Fault) {
		if f.Struck == 0 {
			s.t.Errorf("lockservertest: fault %d has never struck: %+v", id, f)
		}
	})
}

// Freeze makes the server's clock stand still where it is.
func (s *Server) Freeze() { s.TestClock().Freeze() }

// FreezeAt makes the server's clock stand still at a time.
func (s *Server) FreezeAt(at time.Time) { s.TestClock().FreezeAt(at) }

// Now is what the server's clock shows.
func (s *Server) Now() time.Time { return time.UnixMicro(s.TestClock().NowUS()) }

// Advance moves the server's clock forwards. What falls due on the way has happened when it returns, in the
// order of its time.
func (s *Server) Advance(d time.Duration) {
	s.t.Helper()
	if d < 0 {
		s.t.Fatalf("lockservertest: the clock goes forwards only, not by %v", d)
	}
	s.TestClock().Advance(d)
}

// Reset makes everything as when the server had just started, but connections (TEST.RESET). A fault that has
// never struck fails the test.
func (s *Server) Reset() {
	s.t.Helper()
	s.allStruck()
	s.Do("TEST.RESET")
}

// Fault makes something go wrong from now on, and returns what ends that.
func (s *Server) Fault(f Fault) (end func()) {
	id := s.Faults().Add(f)
	return func() { s.Faults().Remove(id) }
}

// Do runs a command on a connection of the test's own and returns its reply as redis-cli would show it
// without a terminal: a line an element. An error fails the test.
func (s *Server) Do(words ...string) string {
	s.t.Helper()
	return strings.Join(lines(s.reply(words...)), "\n")
}

// reply is Do's reply as it came.
func (s *Server) reply(words ...string) resp.Value {
	s.t.Helper()
	v, err := s.conn.Do(words...)
	if err == nil {
		err = call.Failure(v)
	}
	if err != nil {
		s.t.Fatalf("lockservertest: %s: %v", strings.Join(words, " "), err)
	}
	return v
}

// Check fails the test unless the command has that reply, as Do returns it.
func (s *Server) Check(want string, words ...string) {
	s.t.Helper()
	if got := s.Do(words...); got != want {
		s.t.Errorf("lockservertest: %s: %q, want %q", strings.Join(words, " "), got, want)
	}
}

// Await waits until the command has that reply, and fails the test if that takes too long.
func (s *Server) Await(want string, words ...string) {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		got := s.Do(words...)
		if got == want {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("lockservertest: %s: still %q, want %q", strings.Join(words, " "), got, want)
		}
	}
}

// Keys are the keys of the first database, in order.
func (s *Server) Keys() []string {
	s.t.Helper()
	keys := lines(s.reply("KEYS", "*"))
	slices.Sort(keys)
	return keys
}

// lines is a reply, a line an element.
func lines(v resp.Value) (list []string) {
	switch v.Kind {
	case resp.Array, resp.Map, resp.Set, resp.Push:
		for _, e := range v.Elems {
			list = append(list, lines(e)...)
		}
		return list
	case resp.Integer:
		return []string{fmt.Sprint(v.Int)}
	case resp.Null, resp.NullBulk, resp.NullArray:
		return []string{""}
	}
	return []string{v.Str}
}
