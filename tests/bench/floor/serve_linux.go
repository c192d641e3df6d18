package floor

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Role is the first argument of a process that runs this server.
const Role = "serve-floor"

const (
	bufferBytes = 64 << 10
	// mostReplies is the largest number of replies to one read: the shortest request, *1\r\n, has four bytes.
	mostReplies = bufferBytes / 4
	reply       = "+OK\r\n"
)

// Serve runs such a process, and returns its exit code. It takes the directives of a server on the command
// line, and uses only the port. A signal ends it.
func Serve(_ context.Context, args []string, stderr io.Writer) int {
	f := flag.NewFlagSet(Role, flag.ContinueOnError)
	f.SetOutput(stderr)
	port := f.Int("port", 0, "the TCP port of 127.0.0.1 to listen on")
	for _, ignored := range []string{"bind", "dir", "save"} {
		f.String(ignored, "", "ignored")
	}
	if err := f.Parse(args); err != nil {
		return 2
	}
	if err := serve(*port); err != nil {
		fmt.Fprintln(stderr, "floor:", err)
		return 1
	}
	return 0
}

// loop is the server. Its system calls do not inform the scheduler of the Go runtime that they may block: no
// other goroutine runs in the process, and there is no garbage.
type loop struct {
	epoll, listener int
	star            map[int]bool // by connection: the last byte that was read is a star
	in              []byte
	out             []byte // replies, enough for one read
}

func serve(port int) error {
	debug.SetGCPercent(-1)
	runtime.LockOSThread()
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	err = errors.Join(unix.SetsockoptInt(listener, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.Bind(listener, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(listener, 1024))
	if err != nil {
		return err
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	l := &loop{epoll: epoll, listener: listener, star: make(map[int]bool), in: make([]byte, bufferBytes),
		out: []byte(strings.Repeat(reply, mostReplies))}
	if err := l.watch(listener); err != nil {
		return err
	}
	return l.run()
}

func (l *loop) watch(fd int) error {
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// run waits and answers for ever.
func (l *loop) run() error {
	events := make([]unix.EpollEvent, 128)
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)),
			^uintptr(0), 0, 0)
		if errno != 0 && errno != unix.EINTR {
			return fmt.Errorf("epoll: %w", errno)
		}
		if errno != 0 {
			continue
		}
		for _, e := range events[:n] {
			if int(e.Fd) != l.listener {
				l.answer(int(e.Fd))
			} else if err := l.accept(); err != nil {
				return err
			}
		}
	}
}

func (l *loop) accept() error {
	fd, _, err := unix.Accept4(l.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ECONNABORTED) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	l.star[fd] = false
	return errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), l.watch(fd))
}

// answer reads once and writes a reply for each request. It closes a connection that has ended, or that does
// not accept its replies.
func (l *loop) answer(fd int) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&l.in[0])), uintptr(len(l.in)))
	if errno == unix.EAGAIN || errno == unix.EINTR {
		return
	}
	if errno != 0 || n == 0 {
		l.close(fd)
		return
	}
	before := l.star[fd]
	count, star := heads(l.in[:n], before)
	if star != before {
		l.star[fd] = star
	}
	if count == 0 {
		return
	}
	size := uintptr(count * len(reply))
	if n, _, errno = unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&l.out[0])), size); errno != 0 || n != size {
		l.close(fd)
	}
}

func (l *loop) close(fd int) {
	delete(l.star, fd)
	_ = unix.Close(fd)
}
