//go:build linux

package transport

import "golang.org/x/sys/unix"

// nestedRound holds the further state of a loop that serves its other connections while a connection is busy
// for long, for example with a script. The outer round is in the middle of its events, and uses its scratch
// and read buffer.
type nestedRound struct {
	events  [loopEvents]unix.EpollEvent
	buf     []byte
	plain   []byte
	scratch Scratch
}

// pollWhileBusy handles the ready events of the loop's other connections, without waiting. running is the
// connection with the busy script: it is not touched, and its turn comes after the script.
func (l *Loop) pollWhileBusy(running *loopConn) {
	d := &l.driver
	if d.nested == nil {
		d.nested = &nestedRound{buf: make([]byte, loopReadBytes), scratch: d.owner.newScratch()}
	}
	n := d.nested
	l.releaseOthers(running)
	scratch, buf, plain := l.scratch, d.buf, d.plain
	l.scratch, d.buf, d.plain = n.scratch, n.buf, n.plain
	defer func() {
		n.plain = d.plain
		l.scratch, d.buf, d.plain = scratch, buf, plain
	}()
	if d.pausing {
		d.resume()
	}
	count, err := unix.EpollWait(d.epoll, n.events[:], 0)
	if err != nil && err != unix.EINTR {
		panic("transport: epoll_wait: " + err.Error())
	}
	rest := d.todo // the rest of the outer round, because epoll does not report these events again
	d.todo = nil
	l.handleWhileBusy(rest, running)
	l.handleWhileBusy(n.events[:max(count, 0)], running)
	l.releaseOthers(running)
	n.scratch.Recycle()
}

// handleWhileBusy handles events of other connections than running, and keeps the events of running for
// later.
func (l *Loop) handleWhileBusy(events []unix.EpollEvent, running *loopConn) {
	d := &l.driver
	for i := range events {
		ev := &events[i]
		fd := int(ev.Fd)
		switch {
		case fd < len(d.conns) && d.conns[fd] != nil:
			if d.conns[fd] == running {
				d.missed = append(d.missed, running)
			} else {
				d.conns[fd].ready(ev.Events)
			}
		case fd == d.bell:
			l.answerBellWhileBusy(running)
		case fd == d.unauthEpoll:
			l.serveUnauth(running)
		case d.listeners[fd] != "":
			l.accept(fd)
		}
	}
}

// releaseOthers writes the held output, except that of the connection with the busy script. Writing might
// fail and close the connection, and the script's session must not end before the script.
func (l *Loop) releaseOthers(running *loopConn) {
	d := &l.driver
	left := d.holding[:0]
	for _, c := range d.holding {
		if c == running {
			left = append(left, c)
			continue
		}
		d.heldBytes -= len(c.held)
		c.releaseContained()
	}
	clear(d.holding[len(left):])
	d.holding = left
}

// answerBellWhileBusy handles requests of other goroutines. The bell stays set if the loop must end.
func (l *Loop) answerBellWhileBusy(running *loopConn) {
	woken, _ := l.takeLeft()
	for _, c := range woken {
		if c == running {
			l.queue = append(l.queue, c)
			continue
		}
		c.woken()
	}
}
