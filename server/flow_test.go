package server

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// unreadBy returns the number of bytes that a client has not taken. For a connection of an event loop it is
// the number at the last look. A goroutine sends meanwhile, and knows the present number.
func (srv *instance) unreadBy(id int64) int {
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	s := srv.executor.clients[id]
	if srv.executor.opts.EventLoops {
		return s.pendingBytes
	}
	return s.output.Conn.Buffered()
}

// mostUnread is the largest output that a client had not taken when that was last looked at.
func (srv *instance) mostUnread() (most int) {
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	for _, s := range srv.executor.clients {
		most = max(most, s.pendingBytes)
	}
	return most
}

// awaitStill waits until no more commands run.
func awaitStill(t testing.TB, srv *instance) (ran int64) {
	t.Helper()
	return int64(awaitSame(t, func() int { return int(srv.commandsRun()) }))
}

// A pipeline asks for far more than is kept for a client, and gets it. Meanwhile memory is
// bounded and others are served.
func TestFlowOfALongPipeline(t *testing.T) {
	onSomeTransports(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		gets := 60
		if srv.executor.opts.EventLoops {
			gets = testkit.Steps(100, 300)
		}
		admin := client(t, srv)
		admin.Do("SET", "k", strings.Repeat("x", 1<<20))
		conn, err := dial()
		require.NoError(t, err)
		before := heapBytes()
		_, err = conn.Write([]byte(strings.Repeat("GET k\r\nINCR n\r\n", gets) + "PING\r\n"))
		require.NoError(t, err)
		require.Less(t, awaitStill(t, srv), int64(2*gets), "a client that does not read is not answered for ever")
		require.Less(t, int64(heapBytes())-int64(before), int64(8*mostUnsent))
		require.Equal(t, "+PONG", admin.Do("PING").String())
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(soon)))
		in := bufio.NewReaderSize(conn, 256<<10)
		line := func(want string) {
			got, err := in.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, want+"\r\n", got)
		}
		for i := range gets {
			line("$1048576")
			_, err := in.Discard(1 << 20)
			require.NoError(t, err)
			line("")
			line(fmt.Sprint(":", i+1))
		}
		line("+PONG")
	})
}

// A client sends everything before it reads anything: much more than its replies may
// take up, and than sockets hold.
func TestFlowOfAClientThatWritesFirst(t *testing.T) {
	t.Parallel()
	onSomeTransports(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		echos := testkit.Steps(100, 200)
		conn, err := dial()
		require.NoError(t, err)
		all, want := echoes(echos, 100_000)
		require.NoError(t, conn.SetWriteDeadline(time.Now().Add(soon)))
		_, err = conn.Write(all)
		require.NoError(t, err)
		receives(t, conn, want)
	})
}

// echoes are ECHO commands that are so long, and their replies.
func echoes(n, size int) (commands, replies []byte) {
	text := strings.Repeat("y", size)
	for i := range n {
		word := fmt.Sprintf("%06d %s", i, text)
		commands = appendCommand(commands, "ECHO", word)
		replies = fmt.Appendf(replies, "$%d\r\n%s\r\n", len(word), word)
	}
	return commands, replies
}

// receives fails unless these bytes come.
func receives(t testing.TB, conn net.Conn, want []byte) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(soon)))
	got := make([]byte, len(want))
	_, err := io.ReadFull(conn, got)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
}

// Behind client-query-buffer-limit the client's own sends have to wait. No connection is closed, and all
// requests are answered when the client reads at last.
func TestFlowOfInputThatIsFull(t *testing.T) {
	onSomeTransports(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		admin := client(t, srv)
		admin.Do("CONFIG", "SET", "client-query-buffer-limit", "1mb")
		conn, err := dial()
		require.NoError(t, err)
		echos := testkit.Steps(600, 800)
		all, want := echoes(echos, 50_000)
		before := heapBytes()
		written := make(chan error, 1)
		go func() {
			_, err := conn.Write(all)
			written <- err
		}()
		require.Less(t, awaitStill(t, srv), int64(echos))
		select {
		case err := <-written:
			require.Fail(t, "all of it was taken", "%v", err)
		default:
		}
		require.Less(t, int64(heapBytes())-int64(before), int64(8*mostUnsent))
		require.Equal(t, "+PONG", admin.Do("PING").String())
		receives(t, conn, want)
		require.NoError(t, <-written)
	})
}

// stall makes a client that has too much output and, if full is set, has filled its input.
func stall(t testing.TB, srv *instance, dial func() (net.Conn, error), full bool) net.Conn {
	t.Helper()
	admin := client(t, srv)
	admin.Do("CONFIG", "SET", "client-query-buffer-limit", "1mb")
	admin.Do("SET", "big", strings.Repeat("x", 1<<19))
	conn, err := dial()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte("CLIENT SETNAME stalled\r\n" + strings.Repeat("GET big\r\n", 40)))
	require.NoError(t, err)
	eventually(t, func() bool { return srv.connected() == 2 }, "it should be accepted")
	eventually(t, func() bool { return srv.mostUnread() > resumeUnsent }, "its output should grow")
	awaitStill(t, srv)
	for full {
		require.NoError(t, conn.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		_, err := conn.Write([]byte(strings.Repeat("PING\r\n", 10_000)))
		full = err == nil
	}
	admin.Close()
	eventually(t, func() bool { return srv.connected() == 1 }, "the admin is gone")
	return conn
}

// A client that does not read can be killed, can go, and does not keep the server from ending, whether it is
// still read from or not.
func TestFlowEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, srv *instance, conn net.Conn){
		"kill": func(t *testing.T, srv *instance, _ net.Conn) {
			admin := client(t, srv)
			var list string
			eventually(t, func() bool { // what it has sent encrypted may still be on its way
				list = admin.Do("CLIENT", "LIST").Str
				return strings.Contains(list, "name=stalled ")
			}, "it has said its name")
			var id int
			for line := range strings.Lines(list) {
				if strings.Contains(line, "name=stalled ") {
					_, err := fmt.Sscanf(line, "id=%d ", &id)
					require.NoError(t, err)
				}
			}
			require.EqualValues(t, 1, admin.Do("CLIENT", "KILL", "ID", fmt.Sprint(id)).Int, list)
			admin.Close()
		},
		"close": func(t *testing.T, _ *instance, conn net.Conn) { require.NoError(t, carrier(conn).Close()) },
		"stop":  func(t *testing.T, srv *instance, _ net.Conn) { require.NoError(t, srv.Close()) },
	} {
		for _, full := range []bool{false, true} {
			t.Run(fmt.Sprint(name, full), func(t *testing.T) {
				onSomeTransports(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
					end(t, srv, stall(t, srv, dial, full))
					eventually(t, func() bool { return srv.connected() == 0 }, "it is gone")
				})
			})
		}
	}
}

// A client that has sent its last gets the answers to all of it.
func TestFlowOfAHalfClosedClient(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		for _, gets := range []int{20, 3}[:testkit.Steps(1, 2)] {
			conn := stall(t, srv, dial, false)
			_, err := conn.Write([]byte(strings.Repeat("GET big\r\n", gets) + "SET done 1\r\nPING\r\n"))
			require.NoError(t, err)
			require.NoError(t, conn.(interface{ CloseWrite() error }).CloseWrite())
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(soon)))
			_, err = io.CopyN(io.Discard, conn, int64(len("+OK\r\n")+(40+gets)*(1<<19+len("$524288\r\n\r\n"))))
			require.NoError(t, err)
			last, err := io.ReadAll(conn)
			require.NoError(t, err)
			require.Equal(t, "+OK\r\n+PONG\r\n", string(last))
			eventually(t, func() bool { return srv.connected() == 0 }, "it is gone")
		}
	})
}

// Messages to a client that does not read are bounded, too: monitors and clients with tracking are normal
// clients.
func TestFlowDoesNotStopWhatOthersSend(t *testing.T) {
	t.Parallel()
	for name, listen := range map[string][]string{
		"monitor": {"MONITOR"},
		"track":   {"HELLO 3", "CLIENT TRACKING ON BCAST"},
	} {
		t.Run(name, func(t *testing.T) {
			onSomeTransports(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
				admin, idle := client(t, srv), testkit.Dial(t, dial)
				admin.Do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 8mb 0 0")
				for _, line := range listen {
					idle.Do(strings.Fields(line)...)
				}
				key := strings.Repeat("k", 20_000)
				for n := 0; srv.connected() == 2; n++ {
					require.Less(t, n, 4000, "it gets any amount")
					admin.Do("SET", fmt.Sprint(key, n), "v")
					admin.Do("DEL", fmt.Sprint(key, n))
				}
			})
		})
	}
}

// A subscriber that did not read for a while gets what was published meanwhile,
// and its own answers, in order.
func TestFlowOfASubscriber(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		admin, s := client(t, srv), testkit.Dial(t, dial)
		admin.Do("SET", "k", strings.Repeat("x", 1<<20))
		s.Do("HELLO", "3")
		s.Do("SUBSCRIBE", "c")
		for range 20 {
			s.Send("GET", "k")
		}
		awaitStill(t, srv)
		for i := range 100 {
			require.EqualValues(t, 1, admin.Do("PUBLISH", "c", fmt.Sprint(i)).Int)
		}
		for gets, messages := 0, 0; gets < 20 || messages < 100; {
			if v := s.Receive(); len(v.Elems) == 3 {
				require.Equal(t, fmt.Sprint(messages), v.Elems[2].Str)
				messages++
			} else {
				require.Len(t, v.Str, 1<<20)
				gets++
			}
		}
		require.Equal(t, "+PONG", s.Do("PING").String())
	})
}

// Many that read late, on few loops, while others work; every answer is the right one.
func TestFlowOfManyClients(t *testing.T) {
	t.Parallel()
	rounds := testkit.Steps(10, 40)
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		client(t, srv).Do("SET", "k", strings.Repeat("x", 300<<10))
		var all sync.WaitGroup
		for i := range 6 {
			c := testkit.Dial(t, dial)
			all.Go(func() {
				n := fmt.Sprint("n", i)
				for range rounds {
					c.Send("INCR", n)
					c.Send("GET", "k")
				}
				time.Sleep(time.Duration(i) * 5 * time.Millisecond)
				for j := range rounds {
					if !equal(t, int64(j+1), c.Receive().Int) || !equal(t, 300<<10, len(c.Receive().Str)) {
						return
					}
				}
			})
		}
		all.Wait()
	})
}
