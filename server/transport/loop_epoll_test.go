//go:build linux

package transport

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"lockserver/tests/testkit"
)

// byHand is a loop that a test turns.
func byHand(t *testing.T, h Acceptor) *Loop {
	t.Helper()
	ls := &loops{endpoint: quiet(h)}
	l := &Loop{scratch: ls.newScratch()}
	ls.loops = []*Loop{l}
	require.NoError(t, l.driver.open(ls))
	t.Cleanup(l.close)
	return l
}

// turn is one round of a loop.
func turn(t *testing.T, l *Loop) {
	t.Helper()
	n, err := unix.EpollWait(l.driver.epoll, l.driver.events[:], 0)
	require.NoError(t, err)
	for _, ev := range l.driver.events[:n] {
		switch int(ev.Fd) {
		case l.driver.bell:
			l.answerBell()
		case l.driver.unauthEpoll:
			l.serveUnauth(nil)
		default:
			l.driver.conns[ev.Fd].ready(ev.Events)
		}
	}
	l.drain()
	l.flush()
	l.release()
}

// welcomed is a new connection of a loop: its descriptor there, and its other end.
func welcomed(t *testing.T, l *Loop) (fd int, peer net.Conn) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	l.welcome(pair[0], "unix")
	f := os.NewFile(uintptr(pair[1]), "peer")
	peer, err = net.FileConn(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	t.Cleanup(func() { _ = peer.Close() })
	return pair[0], peer
}

// release lets out what was withheld.
func (h *pongs) release() {
	h.withholds.Store(false)
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.sessions {
		s.conn.Wake(nil)
	}
}

// A loop may read the end of input before epoll reports it, when the client shuts its half between an event
// and the read. The later report is not a second end.
func TestInputIsReadBeforeItsEndIsReported(t *testing.T) {
	h := newPongs()
	l := byHand(t, h)
	fd, peer := welcomed(t, l)
	c := testkit.NewClient(t, peer)

	h.withholds.Store(true)
	c.Send("SET", "k", "v")
	turn(t, l)
	require.EqualValues(t, 1, l.driver.conns[fd].session.(*pongSession).requests.Load())
	require.NoError(t, peer.(*net.UnixConn).CloseWrite())
	l.driver.conns[fd].ready(unix.EPOLLIN) // an event from before
	turn(t, l)
	require.NotNil(t, l.driver.conns[fd], "a reply is still to be sent")
	h.release()
	require.Eventually(t, func() bool {
		turn(t, l)
		return l.driver.conns[fd] == nil
	}, soon, time.Millisecond, "it gets its reply and is closed")
	require.Equal(t, "+PONG", c.Receive().String())
	_, err := peer.Read(make([]byte, 1))
	require.Error(t, err)
}

// A loop that always finds something to do accepts again, too, once its pause is over.
func TestBusyLoopResumesAccepting(t *testing.T) {
	l := byHand(t, newPongs())
	d := &l.driver
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := ln.Addr().String()
	fd, err := takeDescriptor(ln)
	require.NoError(t, err)
	d.listeners[fd] = "tcp"
	require.NoError(t, control(d.epoll, unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN))
	busy, err := unix.Eventfd(1, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(busy) })
	require.NoError(t, control(d.epoll, unix.EPOLL_CTL_ADD, busy, unix.EPOLLIN))

	d.pause()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.WithinRange(t, d.resumeAt, time.Now().Add(-time.Minute), time.Now().Add(acceptPause))
	d.resumeAt = time.Now().Add(time.Hour) // the machine may hold up the test for longer than a pause
	require.Equal(t, 1, d.wait(true), "it pauses")
	d.resumeAt = time.Now()
	require.Equal(t, 2, d.wait(true), "it does not look at its listener again")
}

// written counts how often it is flushed.
type written struct{ flushed int }

func (w *written) Flush() { w.flushed++ }

// A session that asks for a flush at the end of a round is flushed once, before the output of the round
// leaves.
func TestFlushAtEnd(t *testing.T) {
	l := byHand(t, newPongs())
	log := &written{}
	turn(t, l)
	require.Zero(t, log.flushed)
	l.FlushAtEnd(log)
	l.FlushAtEnd(log)
	turn(t, l)
	turn(t, l)
	require.Equal(t, 1, log.flushed)
}

// A client that reads as fast as the loop writes does not keep the others waiting: a round writes a bounded
// part of the output that was kept.
func TestKeptOutputIsWrittenInParts(t *testing.T) {
	l := byHand(t, newPongs())
	fd, peer := welcomed(t, l)
	c := l.driver.conns[fd]
	const kept = 1 << 20
	c.pending = make([]byte, kept)
	require.NoError(t, c.watch(unix.EPOLL_CTL_MOD))
	turn(t, l)
	require.Len(t, c.pending, kept-mostFlushed)
	read := make(chan int64)
	go func() {
		n, _ := io.CopyN(io.Discard, peer, kept)
		read <- n
	}()
	require.Eventually(t, func() bool {
		turn(t, l)
		return len(c.pending) == 0
	}, soon, time.Millisecond)
	require.EqualValues(t, kept, <-read)
}

// causing is a session that answers, and wakes others, which then have something to send, too.
type causing struct {
	*pongSession
	name  string
	wakes []*causing
	left  *[]string // names in the order in which output has left
}

func (s *causing) Feed(data []byte, _ Scratch, from *Loop) (hangUp bool) {
	_, _ = s.conn.Send([]byte(s.name), false)
	if data != nil {
		for _, other := range s.wakes {
			other.conn.Wake(from)
		}
	}
	return false
}

func (s *causing) MayLeave() bool {
	*s.left = append(*s.left, s.name)
	return true
}

// The next holder of a lock has its grant before the answer to the release leaves, unless many were woken.
func TestWokenConnectionsAreWrittenFirst(t *testing.T) {
	for _, woken := range []int{1, mostAhead, mostAhead + 1} {
		l := byHand(t, newPongs())
		var left []string
		take := func(name string) (*causing, net.Conn) {
			fd, peer := welcomed(t, l)
			c := l.driver.conns[fd]
			s := &causing{pongSession: c.session.(*pongSession), name: name, left: &left}
			c.session = s
			return s, peer
		}
		cause, peer := take("cause")
		want := []string{"cause"}
		for range woken {
			other, _ := take("woken")
			cause.wakes = append(cause.wakes, other)
			want = append(want, "woken")
		}
		if woken <= mostAhead {
			want = append(want[1:], "cause")
		}
		for range 2 {
			left = nil
			_, err := peer.Write([]byte("x"))
			require.NoError(t, err)
			turn(t, l)
			require.Equal(t, want, left)
		}
	}
}

// restless is a session that has more to do after each turn, whatever it was woken for.
type restless struct {
	*pongSession
	turns int
	self  bool // it wakes itself as a session of the same loop does
}

func (s *restless) Feed(_ []byte, _ Scratch, from *Loop) (hangUp bool) {
	s.turns++
	s.conn.Wake(nil)
	if s.self {
		s.conn.Wake(from)
	}
	return false
}

// A connection that has more to do after each turn has a bounded number of turns in a round, however often it
// was read from and woken before.
func TestWokenConnectionHasOneTurn(t *testing.T) {
	for _, self := range []bool{false, true} {
		l := byHand(t, newPongs())
		fd, peer := welcomed(t, l)
		c := l.driver.conns[fd]
		s := &restless{pongSession: c.session.(*pongSession), self: self}
		c.session = s
		for range 50 {
			_, err := peer.Write([]byte("x"))
			require.NoError(t, err)
			before := s.turns
			turn(t, l)
			require.LessOrEqual(t, s.turns-before, 3, "one for what it read, one for each way to wake it")
		}
		require.GreaterOrEqual(t, s.turns, 50)
		c.session = s.pongSession
	}
}
