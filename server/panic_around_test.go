package server

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"os"
	osexec "os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/server/transport"
	"lockserver/tests/testkit"
)

// spoilRow is a command that spoils something of its own session's, or of what all share,
// so that what comes next panics.
func spoilRow() commands.Row {
	return commands.Row{Name: "spoil", Group: commands.Server, Since: "1.0.0", Flags: commands.ReadOnly, Summary: "Spoils.", Complexity: "O(1)",
		Args: []commands.Arg{commands.Str("what")}, Run: func(c *commands.Ctx) error {
			s := sessionOf(c)
			c.Out.OK()
			switch string(c.Argv[1]) {
			case "decoder":
				*(*int)(reflect.ValueOf(&s.in.decoder).Elem().FieldByName("pos").Addr().UnsafePointer()) = -1
			case "ahead":
				s.DB = nil
			case "between":
				s.class = clientClasses
			case "sending":
				s.output.Conn = deafConn{s.output.Conn}
			case "shared":
				s.executor.Terminated = append(s.executor.Terminated, nil)
			}
			return nil
		}}
}

// deafConn cannot send.
type deafConn struct{ transport.Conn }

func (deafConn) Send([]byte, bool) (bool, error) { panic("deaf") }

// logOf is a log that can be read.
type logOf struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logOf) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logOf) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logOf) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

// overSpoilt runs a test against a server on each transport that has the command SPOIL, and another client.
func overSpoilt(t *testing.T, test func(t *testing.T, srv *instance, log *logOf, dial func() (net.Conn, error))) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			log := &logOf{}
			o := tr.options
			c := quiet()
			c.IOThreads = max(tr.threads, 1)
			o.Directives, o.Log = c.Directives(), slog.New(slog.NewTextHandler(log, nil))
			srv := startWithRows(t, o, []commands.Row{spoilRow()})
			dial := overPort(srv)
			if tr.pipe {
				dial = srv.Dial
			}
			test(t, srv, log, dial)
		})
	}
}

// A panic around the commands of a connection, decoding, running or sending, costs that connection. All other
// clients go on, with the data and the queues in order.
func TestPanicAroundCommands(t *testing.T) {
	t.Parallel()
	overSpoilt(t, func(t *testing.T, srv *instance, log *logOf, dial func() (net.Conn, error)) {
		for i, what := range []string{"decoder", "between", "sending"} {
			holder, next := testkit.Dial(t, dial), testkit.Dial(t, dial)
			holder.Do("LOCK", "k", "holder")
			next.Send("LOCK", "k", "next", "WAIT", "0")
			awaitParked(t, srv, 1)
			holder.Send("SPOIL", what)
			_, _ = holder.Conn().Write([]byte("UNLOCK k holder\r\nSET a 1\r\n"))
			require.NoError(t, holder.Conn().SetReadDeadline(time.Now().Add(soon)))
			_, err := io.Copy(io.Discard, holder.Conn())
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it is closed")
			require.Equal(t, i+1, log.count("a connection panicked"), log.String())
			testkit.Dial(t, dial).Do("LOCK.FORCE", "k")
			require.Positive(t, next.Receive().Int)
			require.Equal(t, "+OK", next.Do("SET", "a", "2").String())
			next.Do("UNLOCK", "k", "next")
			next.Close()
		}
		checkParking(t, srv)
	})
}

// Looking ahead is no more than a help: should it panic, commands are run without.
func TestPanicWhileLookingAhead(t *testing.T) {
	t.Parallel()
	overSpoilt(t, func(t *testing.T, srv *instance, log *logOf, dial func() (net.Conn, error)) {
		c := testkit.Dial(t, dial)
		require.Equal(t, "+OK", c.Do("SPOIL", "ahead").String())
		for range 2 {
			require.Equal(t, "[+OK +OK $nil -ERR wrong number of arguments for 'get' command $nil 1]",
				arrayOf(c.Pipeline([][]string{{"SELECT", "1"}, {"SET", "k", "v"}, {"GET", "l"}, {"GET"}, {"GET", "l"}, {"DEL", "k"}})))
			require.Equal(t, "+OK", c.Do("SPOIL", "ahead").String())
		}
		require.Equal(t, 1, log.count("a connection panicked"), log.String())
	})
}

// A lock goes to the next waiter if its grant could not be sent.
func TestPanicWhileSendingAGrant(t *testing.T) {
	t.Parallel()
	overSpoilt(t, func(t *testing.T, srv *instance, log *logOf, dial func() (net.Conn, error)) {
		holder, spoilt, next := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
		holder.Do("LOCK", "k", "holder")
		spoilt.Send("LOCK", "k", "spoilt", "WAIT", "0")
		awaitParked(t, srv, 1)
		srv.executor.Mu.Lock()
		for _, s := range srv.executor.clients {
			if s.Waiter != nil {
				s.output.Conn = deafConn{s.output.Conn}
			}
		}
		srv.executor.Mu.Unlock()
		next.Send("LOCK", "k", "next", "WAIT", "0")
		awaitParked(t, srv, 2)
		require.EqualValues(t, 1, holder.Do("UNLOCK", "k", "holder").Int)
		require.Positive(t, next.Receive().Int)
		awaitClosed(t, spoilt.Conn())
		require.Equal(t, 1, log.count("a connection panicked"), log.String())
	})
}

// After a panic in what all share, no code can know what is intact: the process ends, and nothing contains
// that.
func TestPanicInWhatAllShare(t *testing.T) {
	t.Parallel()
	const child = "LOCKSERVER_TEST_SPOILT"
	if os.Getenv(child) != "" {
		srv := startWithRows(t, Options{Directives: quiet().Directives(), Log: slog.New(slog.NewTextHandler(os.Stdout, nil))}, []commands.Row{spoilRow()})
		_, _ = client(t, srv).Call("SPOIL", "shared")
		select {} // it does not get here: the process has ended
	}
	cmd := osexec.Command(os.Args[0], "-test.run", "^TestPanicInWhatAllShare$", "-test.timeout", "20s")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 2, cmd.ProcessState.ExitCode())
	require.Contains(t, string(out), "ending the process")
	require.NotContains(t, string(out), "test timed out")
}
