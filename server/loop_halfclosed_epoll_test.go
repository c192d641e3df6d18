//go:build linux && !gnet

package server

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"lockserver/internal/testkit"
)

func TestHalfClosedClientIsAnsweredByTheLoop(t *testing.T) {
	d := newTestDisk()
	srv := startOn(t, d, Options{Config: logged(t.TempDir(), "always"), EventLoops: true})
	halfClose(t, d, srv, overPort(srv))
}

// A loop may read the end of input before epoll tells of it, when the client shuts its half between an event
// and the read. What epoll tells then is not a second end.
func TestEndOfInputIsReadBeforeItIsTold(t *testing.T) {
	d := newTestDisk()
	srv := startOn(t, d, Options{Config: logged(t.TempDir(), "always")})
	l := &loop{batch: newLoopBatch()} // turned by hand
	require.NoError(t, l.driver.open(&loops{server: srv, loops: []*loop{l}}))
	t.Cleanup(l.close)
	round := func() {
		n, err := unix.EpollWait(l.driver.epoll, l.driver.events[:], 0)
		require.NoError(t, err)
		for _, ev := range l.driver.events[:n] {
			if int(ev.Fd) == l.driver.bell {
				l.answerBell()
			} else {
				l.driver.conns[ev.Fd].ready(ev.Events)
			}
		}
		l.flush()
		l.release()
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	l.welcome(pair[0], "unix")
	f := os.NewFile(uintptr(pair[1]), "peer")
	peer, err := net.FileConn(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	c := testkit.NewClient(t, peer)

	d.hold()
	c.Send("SET", "k", "v")
	round()
	eventually(t, d.held, "it waits for the disk")
	require.NoError(t, peer.(*net.UnixConn).CloseWrite())
	l.driver.conns[pair[0]].ready(unix.EPOLLIN) // an event from before
	round()
	require.NotNil(t, l.driver.conns[pair[0]], "it is owed a reply")
	d.release()
	eventually(t, func() bool { round(); return l.driver.conns[pair[0]] == nil }, "it gets its reply and is closed")
	require.Equal(t, "+OK", c.Receive().String())
	awaitClosed(t, peer)
}
