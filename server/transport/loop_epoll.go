//go:build linux

package transport

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The event loops on Linux. A connection belongs to one loop for its life. Sockets never block, so they are
// read and written with raw system calls that the scheduler need not know of; only the epoll_wait of an idle
// loop blocks. docs/decisions has the gain over a general event loop.

// HasLoops reports whether this system has event loops.
const HasLoops = true

const (
	// loopReadBytes is the size of a read from a socket.
	loopReadBytes = 64 << 10
	// loopEvents is the limit of events that one wait returns.
	loopEvents = 256
	// drainEvents is the number of events after which the woken connections are pumped. With more than one, a
	// single write brings a subscriber the messages of many clients.
	drainEvents = 64
	// mostWoken limits the woken connections that have a turn in one round. Thousands of connections with
	// more work than one turn allows must not delay the others.
	mostWoken = 256
	// mostAhead is the number of woken connections that get their output before the connections that woke
	// them.
	mostAhead = 16
	// mostAccepted limits the connections that a listener accepts in a round.
	mostAccepted = 64
	// loopYield is how long a loop keeps its processor before it yields.
	loopYield = 8 * time.Millisecond
)

// Loop is an event loop: a goroutine that reads from its connections, feeds their sessions, and writes their
// output, without passing work to another goroutine.
type Loop struct {
	scratch Scratch
	// queue holds connections of this loop that the loop itself has woken. They are pumped before it reads
	// on.
	queue []*loopConn
	// late holds woken connections with their turn at the end of the round.
	late []*loopConn
	// ahead counts the woken connections that were pumped in this round: see release.
	ahead int
	// unflushed is flushed at the end of this round, or nil.
	unflushed Flusher

	driver loopDriver
}

// loops serve TCP and unix sockets.
type loops struct {
	endpoint *Endpoint
	loops    []*Loop
	next     atomic.Uint32 // selects the loop for the next connection
	group    sync.WaitGroup
	closers  []func() // of the first listeners
}

// loopDriver is the epoll state of a loop.
type loopDriver struct {
	owner       *loops
	epoll       int
	unauthEpoll int // another epoll, watched by epoll: see unauth_epoll.go
	bell        int // an eventfd, set when woken or arrived has entries, or at the end
	listeners   map[int]string
	conns       []*loopConn // by descriptor
	buf         []byte
	plain       []byte // decrypted input; nil until a connection is encrypted
	sealed      []byte // buffer for records
	events      [loopEvents]unix.EpollEvent
	todo        []unix.EpollEvent // events of the round that are not handled yet
	pausing     bool              // no connection is accepted before resumeAt
	resumeAt    time.Time
	// holding lists the connections with output that is written at the end of the round.
	holding   []*loopConn
	heldBytes int
	round     uint32      // counts the rounds
	missed    []*loopConn // connections with events during their own busy script
	coalesce  coalescing
	yielded   time.Time
	nested    *nestedRound // nil until a script is busy for the first time

	mu      sync.Mutex
	woken   []*loopConn
	arrived []*loopConn
	opened  []int // TCP listeners that are not watched yet
	// wokenUnauth lists woken connections of unauthenticated clients. They wait in a queue of their own.
	wokenUnauth []*loopConn
	rung        bool
	ended       bool
}

// listenLoops serves listeners on n event loops, and takes ownership of the listeners.
func listenLoops(e *Endpoint, lns []net.Listener, n int) (*loops, error) {
	ls := &loops{endpoint: e}
	for range n {
		l := &Loop{scratch: ls.newScratch()}
		ls.loops = append(ls.loops, l)
		if err := l.driver.open(ls); err != nil {
			ls.stop()
			return nil, err
		}
	}
	for _, ln := range lns {
		fd, err := takeDescriptor(ln)
		if err == nil {
			ls.loops[0].driver.listeners[fd] = ln.Addr().Network()
			ls.closers = append(ls.closers, closerOf(fd))
			err = control(ls.loops[0].driver.epoll, unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN)
		}
		if err != nil {
			ls.stop()
			return nil, fmt.Errorf("listen on %s: %w", ln.Addr(), err)
		}
	}
	for _, l := range ls.loops {
		ls.group.Go(l.run)
	}
	return ls, nil
}

// closerOf returns the function that ends a listener: afterwards no client can connect, and its address is
// free. The system tells the loop, which closes the descriptor. No other goroutine may close it while the
// loop accepts.
func closerOf(fd int) func() { return func() { _ = unix.Shutdown(fd, unix.SHUT_RDWR) } }

// take serves another listener, takes ownership of it, and returns the function that closes it.
func (ls *loops) take(ln net.Listener) (closer func(), err error) {
	fd, err := takeDescriptor(ln)
	if err != nil {
		return nil, err
	}
	d := &ls.loops[0].driver
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opened = append(d.opened, fd)
	d.ring()
	return closerOf(fd), nil
}

// takeDescriptor returns a listener's socket and closes the listener, so that the runtime's own poller
// ignores it.
func takeDescriptor(ln net.Listener) (int, error) {
	if u, ok := ln.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	filer, ok := ln.(interface{ File() (*os.File, error) })
	if !ok {
		return -1, fmt.Errorf("%T has no descriptor", ln)
	}
	return takeSocket(filer, ln)
}

// takeSocket returns a socket of the net package as a descriptor of our own, and closes its former owner.
func takeSocket(filer interface{ File() (*os.File, error) }, owner io.Closer) (int, error) {
	f, err := filer.File()
	if err != nil {
		return -1, err
	}
	defer func() { _ = f.Close() }()
	_ = owner.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// stop ends the loops and closes every connection. It returns when all their goroutines have ended.
func (ls *loops) stop() {
	for _, l := range ls.loops {
		l.driver.mu.Lock()
		l.driver.ended = true
		l.driver.ring()
		l.driver.mu.Unlock()
	}
	ls.group.Wait()
	for _, l := range ls.loops {
		l.close()
	}
	ls.loops = nil
}

// newScratch returns the scratch of a loop, which holds output until the end of a round.
func (ls *loops) newScratch() Scratch { return ls.endpoint.host.NewScratch(true) }

func (d *loopDriver) open(owner *loops) (err error) {
	d.owner, d.listeners = owner, make(map[int]string)
	d.buf = make([]byte, loopReadBytes)
	d.bell, d.unauthEpoll = -1, -1
	if d.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if d.bell, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	if err = control(d.epoll, unix.EPOLL_CTL_ADD, d.bell, unix.EPOLLIN); err != nil {
		return err
	}
	return d.openUnauth()
}

// close closes all descriptors and connections of an ended loop.
func (l *Loop) close() {
	d := &l.driver
	for _, c := range d.conns {
		if c != nil {
			c.close()
		}
	}
	for _, c := range d.arrived {
		c.close()
	}
	for fd := range d.listeners {
		_ = unix.Close(fd)
	}
	for _, fd := range d.opened {
		_ = unix.Close(fd)
	}
	d.mu.Lock()
	d.rung = true // the bell must not be set when its descriptor may belong to another file
	d.mu.Unlock()
	_ = unix.Close(d.bell)
	_ = unix.Close(d.unauthEpoll)
	_ = unix.Close(d.epoll)
}

func control(epoll, op, fd int, events uint32) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(epoll, op, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)}))
}

// ring wakes the loop; the caller holds mu.
func (d *loopDriver) ring() {
	if d.rung {
		return
	}
	d.rung = true
	one := [8]byte{1}
	_, _ = unix.Write(d.bell, one[:])
}

// run is the loop's goroutine.
func (l *Loop) run() {
	d := &l.driver
	host := d.owner.endpoint.host
	busy := false
	for {
		n := d.wait(busy)
		for d.todo = d.events[:n]; len(d.todo) > 0; {
			ev := &d.todo[0]
			d.todo = d.todo[1:]
			fd := int(ev.Fd)
			switch {
			case fd < len(d.conns) && d.conns[fd] != nil:
				d.coalesce.count(d.conns[fd])
				d.conns[fd].ready(ev.Events)
				if len(l.queue) > 0 && len(d.todo)%drainEvents == 0 {
					l.drain()
				}
			case fd == d.bell:
				if l.answerBell() {
					return
				}
			case fd == d.unauthEpoll:
				l.serveUnauth(nil)
			case d.listeners[fd] != "":
				l.accept(fd)
			}
		}
		if len(l.queue) > 0 {
			l.drain()
		}
		l.flush()
		l.release()
		for _, c := range d.missed {
			c.lookAgain()
		}
		clear(d.missed)
		d.missed = d.missed[:0]
		busy = n > 1
		if d.coalesce.due() {
			now := time.Now()
			if wait := d.coalesce.after(now, host.Coalescing(), host.Served()); wait > 0 {
				d.sleep(wait)
				busy = true
			}
			d.yield(now)
		}
	}
}

// yield lets other goroutines run first, once in a while. The runtime's monitor takes the processor from a
// goroutine that has had it for 10 ms, in the middle of a system call. Then it wakes up every 20 us or so to
// look for more such goroutines. On a busy loop it never slept, and took a thirtieth of the processor's time.
func (d *loopDriver) yield(now time.Time) {
	if now.Sub(d.yielded) >= loopYield {
		d.yielded = now
		runtime.Gosched()
	}
}

// release writes the output that was held during the round. Clients that wait for replies on the same
// processors are woken when all requests of a round are done, not between them.
func (l *Loop) release() {
	d := &l.driver
	if l.ahead > 0 && l.ahead <= mostAhead {
		l.releaseAhead()
	}
	l.ahead = 0
	for i, c := range d.holding {
		c.releaseContained()
		d.holding[i] = nil
	}
	d.holding, d.heldBytes = d.holding[:0], 0
	d.round++
	l.scratch.Recycle()
}

// releaseAhead writes the output of connections that other connections have woken. The next holder of a lock,
// or a worker that has got an element, continues with this output. The client that released the lock, or
// added the element, only learns that its command is done. On a machine with few processors the first woken
// client gets a processor, and the other client waits for it.
func (l *Loop) releaseAhead() {
	d := &l.driver
	for _, c := range d.holding {
		if c.drained == d.round+1 {
			c.releaseContained()
		}
	}
}

// wait returns the number of events. A loop that was just busy first looks without blocking, which saves the
// scheduler a round trip.
func (d *loopDriver) wait(busy bool) int {
	for {
		if d.pausing {
			d.resume()
		}
		if busy {
			if n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(d.epoll),
				uintptr(unsafe.Pointer(&d.events[0])), loopEvents, 0, 0, 0); errno == 0 && n > 0 {
				return int(n)
			}
			busy = false
		}
		n, err := unix.EpollWait(d.epoll, d.events[:], d.patience())
		if err == nil && n > 0 {
			return n
		}
		if err != nil && err != unix.EINTR {
			panic("transport: epoll_wait: " + err.Error())
		}
	}
}

// patience returns how long the loop may sleep, in milliseconds.
func (d *loopDriver) patience() int {
	if !d.pausing {
		return -1
	}
	return int(max(0, time.Until(d.resumeAt)).Milliseconds()) + 1
}

// pause stops accepting connections for a while.
func (d *loopDriver) pause() {
	d.pausing, d.resumeAt = true, time.Now().Add(acceptPause)
	d.listen(0)
}

// resume accepts connections again if the pause is over. It is called before each wait, because a busy loop
// may never sleep.
func (d *loopDriver) resume() {
	if !time.Now().Before(d.resumeAt) {
		d.pausing = false
		d.listen(unix.EPOLLIN)
	}
}

// listen sets the events that the listeners are watched for.
func (d *loopDriver) listen(events uint32) {
	for fd := range d.listeners {
		_ = control(d.epoll, unix.EPOLL_CTL_MOD, fd, events)
	}
}

// watchListener watches another TCP listener for connections.
func (d *loopDriver) watchListener(fd int) {
	d.listeners[fd] = "tcp"
	var events uint32 = unix.EPOLLIN
	if d.pausing {
		events = 0
	}
	if err := control(d.epoll, unix.EPOLL_CTL_ADD, fd, events); err != nil {
		d.owner.endpoint.log.Error("could not watch a listener", "cause", err)
	}
}

// answerBell handles requests of other goroutines and reports whether the loop must end.
func (l *Loop) answerBell() (ended bool) {
	woken, ended := l.takeLeft()
	for _, c := range woken {
		c.woken()
	}
	l.drain()
	return ended
}

// takeLeft takes the requests of other goroutines: new listeners and connections, and some of the woken
// connections, which it returns. The bell stays set if there are more, or if the loop must end.
func (l *Loop) takeLeft() (woken []*loopConn, ended bool) {
	d := &l.driver
	d.mu.Lock()
	arrived, opened := d.arrived, d.opened
	d.arrived, d.opened = nil, nil
	woken, d.woken = some(d.woken, mostWoken)
	unauth, rest := some(d.wokenUnauth, unauthPerRound)
	woken, d.wokenUnauth = append(woken, unauth...), rest
	for _, c := range woken {
		c.inWoken = false
	}
	if ended = d.ended; !ended && len(d.woken)+len(rest) == 0 {
		var count [8]byte
		_, _ = unix.Read(d.bell, count[:])
		d.rung = false
	}
	d.mu.Unlock()
	for _, fd := range opened {
		d.watchListener(fd)
	}
	for _, c := range arrived {
		l.register(c)
	}
	return woken, ended
}

// some returns the first connections, at most most, which the caller may append to, and the rest.
func some(all []*loopConn, most int) (first, rest []*loopConn) {
	if len(all) <= most {
		return all, nil
	}
	return all[:most:most], all[most:]
}

// accept accepts waiting connections of a listener; epoll reports the rest again.
func (l *Loop) accept(listener int) {
	d := &l.driver
	for range mostAccepted {
		fd, _, err := unix.Accept4(listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case err == nil:
			l.welcome(fd, d.listeners[listener])
		case isAborted(err):
		case err == unix.EAGAIN:
			return
		case err == unix.EINVAL: // the listener was closed: see closerOf
			delete(d.listeners, listener)
			_ = unix.Close(listener)
			return
		default: // descriptors or memory are short
			d.owner.endpoint.refusals.add(d.owner.endpoint.log, err)
			d.pause()
			return
		}
	}
}

// welcome makes a session for a new connection and hands it to the next loop in turn.
func (l *Loop) welcome(fd int, network string) {
	ls := l.driver.owner
	target := ls.pick()
	if network == "tcp" {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		keepSocketAlive(fd, ls.endpoint.host.KeepAlive())
	}
	c := &loopConn{loop: target, fd: fd, socket: fd}
	refusal, accepted := ls.endpoint.host.Open(c, Peer{Local: socketAddr(fd, unix.Getsockname), Remote: socketAddr(fd, unix.Getpeername), FD: fd})
	if !accepted {
		_, _ = unix.Write(fd, []byte(refusal))
		_ = unix.Close(fd)
		return
	}
	if target == l {
		l.register(c)
		return
	}
	target.driver.mu.Lock()
	target.driver.arrived = append(target.driver.arrived, c)
	target.driver.ring()
	target.driver.mu.Unlock()
}

// pick returns the loop for the next connection. Any goroutine may call it.
func (ls *loops) pick() *Loop { return ls.loops[int(ls.next.Add(1)-1)%len(ls.loops)] }

func (l *Loop) register(c *loopConn) {
	d := &l.driver
	for c.fd >= len(d.conns) {
		d.conns = append(d.conns, nil)
	}
	d.conns[c.fd] = c
	if err := c.watch(unix.EPOLL_CTL_ADD); err != nil {
		d.owner.endpoint.log.Warn("could not watch a connection", "cause", err)
		c.close()
		return
	}
	c.watched = true
	c.registered()
}

// socketAddr returns the address of one end of a socket.
func socketAddr(fd int, get func(int) (unix.Sockaddr, error)) net.Addr {
	sa, err := get(fd)
	if err != nil {
		return nil
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return &net.TCPAddr{IP: sa.Addr[:], Port: sa.Port}
	case *unix.SockaddrInet6:
		return &net.TCPAddr{IP: sa.Addr[:], Port: sa.Port}
	case *unix.SockaddrUnix:
		return &net.UnixAddr{Name: sa.Name, Net: "unix"}
	}
	return nil
}
