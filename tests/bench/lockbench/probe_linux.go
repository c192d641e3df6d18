package lockbench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"lockserver/tests/bench/benchkit"
)

// probe is a connection of the prober.
type probe struct {
	fd       int
	requests [2]string // sent alternately
	replies  [2]string
	due      func(k int) time.Duration // the time at which request k is due
	sent     int                       // number of requests sent
	missing  int                       // missing bytes of the reply to the last one
	from     time.Duration             // the time from which that counts
	answered time.Duration             // the time of the previous reply
	took     *[]time.Duration
}

// probeBoth sends requests to the server and to the floor at the same rate, one at a time on each connection,
// from one thread that does nothing else. If a request was late because the reply to the previous one was
// missing, its duration counts from its due time. If only the thread woke up late, it does not.
func probeBoth(args []string, out io.Writer) error {
	if len(args) != 3 {
		return errors.New("it takes two addresses and a duration")
	}
	span, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	debug.SetGCPercent(-1)
	runtime.LockOSThread()
	pace := benchkit.NewPace(probeRate, probeConns, span)
	got := probed{Server: make([]time.Duration, 0, probeConns*pace.Count), Floor: make([]time.Duration, 0, probeConns*pace.Count)}
	var all []*probe
	for i := range probeConns {
		due := func(k int) time.Duration { return pace.Due(i, k) }
		all = append(all, &probe{due: due, took: &got.Server, requests: [2]string{"*1\r\n$4\r\nPING\r\n", "*2\r\n$3\r\nGET\r\n$5\r\nprobe\r\n"},
			replies: [2]string{"+PONG\r\n", "$1\r\nx\r\n"}},
			&probe{due: due, took: &got.Floor, requests: [2]string{"*1\r\n$4\r\nPING\r\n", "*2\r\n$3\r\nGET\r\n$5\r\nprobe\r\n"},
				replies: [2]string{"+OK\r\n", "+OK\r\n"}})
	}
	for i, p := range all {
		if p.fd, err = dialRaw(args[i%2]); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(out, probeReady); err != nil {
		return err
	}
	if err := probeAll(all, pace.Count); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(got)
}

// dialRaw connects a socket outside of the Go runtime's poller.
func dialRaw(addr string) (int, error) {
	a, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	return fd, errors.Join(unix.Connect(fd, &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(a.IP.To4())}),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), unix.SetNonblock(fd, true))
}

// probeAll returns when each connection has sent count requests and has the replies.
func probeAll(all []*probe, count int) error {
	begun := time.Now()
	polled := make([]unix.PollFd, len(all))
	buf := make([]byte, 64)
	for {
		now, next, busy := time.Since(begun), time.Duration(-1), false
		for i, p := range all {
			polled[i] = unix.PollFd{Fd: -1}
			if p.missing == 0 && p.sent < count {
				if due := p.due(p.sent); due > now {
					if next < 0 || due-now < next {
						next = due - now
					}
				} else if err := p.send(now, due); err != nil {
					return err
				}
			}
			if p.missing > 0 {
				polled[i], busy = unix.PollFd{Fd: int32(p.fd), Events: unix.POLLIN}, true
			}
		}
		if !busy && next < 0 {
			return nil
		}
		if next < 0 || next > benchkit.Patience {
			next = benchkit.Patience
		}
		n, err := poll(polled, next)
		if err != nil {
			return err
		}
		if now = time.Since(begun); n == 0 {
			for _, p := range all {
				if p.missing > 0 && now-p.from > benchkit.Patience {
					return errors.New("a probe was not answered")
				}
			}
		}
		for i, p := range all {
			if polled[i].Revents != 0 {
				if err := p.read(buf, now); err != nil {
					return err
				}
			}
		}
	}
}

// poll waits without informing the scheduler of Go, which has no other work here.
func poll(fds []unix.PollFd, d time.Duration) (int, error) {
	t := unix.NsecToTimespec(int64(d))
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), uintptr(len(fds)), uintptr(unsafe.Pointer(&t)), 0, 0, 0)
	if errno == unix.EINTR {
		return 0, nil
	}
	if errno != 0 {
		return 0, fmt.Errorf("poll: %w", errno)
	}
	return int(n), nil
}

func (p *probe) send(now, due time.Duration) error {
	p.from = now
	if p.answered > due {
		p.from = due
	}
	request := p.requests[p.sent%2]
	p.missing = len(p.replies[p.sent%2])
	p.sent++
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(p.fd), uintptr(unsafe.Pointer(unsafe.StringData(request))), uintptr(len(request)))
	if errno != 0 || int(n) != len(request) {
		return fmt.Errorf("a probe was not sent: %d bytes: %w", n, errno)
	}
	return nil
}

func (p *probe) read(buf []byte, now time.Duration) error {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(p.fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	want := p.replies[(p.sent-1)%2]
	if errno != 0 || n == 0 || int(n) > p.missing {
		return fmt.Errorf("a reply of %d bytes to a probe that misses %d: %w", n, p.missing, errno)
	}
	if at := len(want) - p.missing; string(buf[:n]) != want[at:at+int(n)] {
		return fmt.Errorf("a probe got %q", buf[:n])
	}
	if p.missing -= int(n); p.missing == 0 {
		p.answered = now
		*p.took = append(*p.took, now-p.from)
	}
	return nil
}
