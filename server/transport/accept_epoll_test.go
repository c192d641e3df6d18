//go:build linux

package transport

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"lockserver/tests/testkit"
)

// fewDescriptors are all descriptors that this process may still open, except those that are given back.
type fewDescriptors struct {
	t      *testing.T
	limit  unix.Rlimit
	filled []int
}

// exhaust takes all descriptors until the test ends, or restore is called.
func exhaust(t *testing.T) *fewDescriptors {
	t.Helper()
	d := &fewDescriptors{t: t}
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &d.limit))
	free, err := unix.Dup(0) // above the highest in use, or close to it
	require.NoError(t, err)
	d.filled = append(d.filled, free)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(free) + 64, Max: d.limit.Max}))
	t.Cleanup(d.restore)
	for {
		fd, err := unix.Dup(0)
		if err != nil {
			require.ErrorIs(t, err, unix.EMFILE)
			return d
		}
		d.filled = append(d.filled, fd)
	}
}

// free gives back that many.
func (d *fewDescriptors) free(n int) {
	for range n {
		require.NoError(d.t, unix.Close(d.filled[len(d.filled)-1]))
		d.filled = d.filled[:len(d.filled)-1]
	}
}

func (d *fewDescriptors) restore() {
	d.free(len(d.filled))
	require.NoError(d.t, unix.Setrlimit(unix.RLIMIT_NOFILE, &d.limit))
}

// lockedBuffer is a log that a test may read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// dialInShortage takes the last descriptor for a client. Another reader of files, such as the runtime, may
// have it for a moment.
func dialInShortage(t *testing.T, dial func() (net.Conn, error)) *testkit.Client {
	t.Helper()
	var conn net.Conn
	require.Eventually(t, func() (got bool) {
		var err error
		conn, err = dial()
		return err == nil
	}, soon, time.Millisecond)
	return testkit.Dial(t, func() (net.Conn, error) { return conn, nil })
}

// When there are no descriptors left, new clients wait, however busy the loop is with the others. The log
// says so once in a while. When there are descriptors again, the clients are served.
func TestAcceptingGoesOnAfterAShortage(t *testing.T) {
	for loops := range 2 {
		var log lockedBuffer
		e := NewEndpoint(newPongs(), slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, e.Listen(onOnePort(loops)))
		dial := overPort(e)
		stop := make(chan struct{})
		var busy sync.WaitGroup
		for range 6 {
			c := testkit.Dial(t, dial)
			c.Do("PING") // it has been accepted
			busy.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						if _, err := c.CallPipeline([][]string{{"PING"}, {"PING"}, {"PING"}}); !assert.NoError(t, err) {
							return
						}
					}
				}
			})
		}
		few, begun := exhaust(t), time.Now()
		few.free(1)
		late := dialInShortage(t, dial)
		late.Send("PING")
		_, early := late.ReceiveWithin(5 * acceptPause)
		require.False(t, early, "there was a descriptor left")
		few.free(8)
		v, served := late.ReceiveWithin(soon)
		require.True(t, served, "event loops: %v: a client waits for ever", loops)
		require.Equal(t, "+PONG", v.String())
		close(stop)
		busy.Wait()
		few.restore()
		lines := strings.Count(log.String(), "could not accept connections")
		require.Positive(t, lines)
		require.LessOrEqual(t, lines, 1+int(time.Since(begun)/refusalPause), log.String())
		e.Close()
	}
}

// openDescriptors counts them.
func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// Listening that fails for lack of descriptors leaves none open, wherever it failed.
func TestListeningThatFailsLeavesNothingOpen(t *testing.T) {
	listening(t, newPongs(), onOnePort(1)).Close() // what the runtime opens once is open
	for spare := range 12 {
		a := Addresses{Bind: []string{"127.0.0.1"}, Loops: 3, UnixSocket: t.TempDir() + "/s"}
		e := quiet(newPongs())
		before := openDescriptors(t)
		few := exhaust(t)
		few.free(spare)
		failed := e.Listen(a)
		few.restore()
		e.Close()
		require.Equal(t, before, openDescriptors(t), "with %d to spare: %v", spare, failed)
		_, err := os.Stat(a.UnixSocket)
		require.ErrorIs(t, err, os.ErrNotExist, "with %d to spare: %v", spare, failed)
		if spare == 0 {
			require.ErrorIs(t, failed, unix.EMFILE)
		}
	}
}

// failingListener fails a few times before it accepts.
type failingListener struct {
	net.Listener
	mu     sync.Mutex
	errors []error
}

func (l *failingListener) Accept() (net.Conn, error) {
	l.mu.Lock()
	if len(l.errors) > 0 {
		err := l.errors[0]
		l.errors = l.errors[1:]
		l.mu.Unlock()
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
	}
	l.mu.Unlock()
	return l.Listener.Accept()
}

// No error ends accepting.
func TestAcceptingGoesOnAfterAnyError(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	begun := time.Now()
	e := listening(t, newPongs(), Addresses{Listener: &failingListener{Listener: ln, errors: []error{unix.ENOMEM, unix.ENOBUFS,
		unix.ECONNABORTED, unix.EMFILE, unix.EPERM}}})
	require.Equal(t, "+PONG", testkit.Dial(t, overPort(e)).Do("PING").String())
	require.GreaterOrEqual(t, time.Since(begun), 4*acceptPause)
}
