package dump

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"lockserver/commands"
	"lockserver/internal/resp"
)

// target is the address of a MIGRATE, in the words of its call.
type target struct{ host, port string }

// Targets holds connections of MIGRATE for reuse. Its methods need no lock.
type Targets struct {
	mu   sync.Mutex
	idle map[target]*targetConn
}

// The limits of unused connections, as in Redis: their number, and their idle time.
const (
	mostIdle = 64
	idleTTL  = 10 * time.Second
)

// targetConn is a connection to a target.
type targetConn struct {
	net.Conn
	in   *bufio.Reader
	db   int64 // the selected database; -1: not known
	used time.Time
}

// Len returns the number of kept connections.
func (t *Targets) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.idle)
}

// Tick must be called about once a second: it closes connections that were idle for long.
func (t *Targets) Tick() { t.drop(func(c *targetConn) bool { return time.Since(c.used) > idleTTL }) }

// Close closes all kept connections.
func (t *Targets) Close() { t.drop(func(*targetConn) bool { return true }) }

func (t *Targets) drop(which func(c *targetConn) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for to, c := range t.idle {
		if which(c) {
			delete(t.idle, to)
			_ = c.Close()
		}
	}
}

// take returns a connection to a target. No other migration uses it until giveBack.
func (t *Targets) take(ctx context.Context, to target, timeout time.Duration) (*targetConn, error) {
	t.mu.Lock()
	c := t.idle[to]
	delete(t.idle, to)
	t.mu.Unlock()
	if c != nil {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	port := strconv.Itoa(commands.LeadingInt([]byte(to.port)))
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(to.host, port))
	if err != nil {
		return nil, err
	}
	return &targetConn{Conn: conn, in: bufio.NewReader(conn), db: -1}, nil
}

// giveBack keeps a connection for the next MIGRATE.
func (t *Targets) giveBack(to target, c *targetConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, another := t.idle[to]; another {
		_ = c.Close()
		return
	}
	if len(t.idle) >= mostIdle {
		for other, old := range t.idle { // any other connection
			delete(t.idle, other)
			_ = old.Close()
			break
		}
	}
	if t.idle == nil {
		t.idle = map[target]*targetConn{}
	}
	c.used = time.Now()
	t.idle[to] = c
}

// try sends all commands once. again reports that the connection broke before the target answered. A kept
// connection may have been closed long ago, so the first failure is tried again.
func (m *migration) try(ctx context.Context, targets *Targets, first bool) (again bool) {
	c, err := targets.take(ctx, m.target, m.timeout())
	switch {
	case errors.Is(err, syscall.ECONNREFUSED): // Redis notices that when it writes
		m.err = commands.ErrMigrateWrite
		return first
	case err != nil:
		m.err = commands.ErrMigrateConnect
		return false
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	selects := c.db != m.db
	if err := m.write(ctx, c, selects); err != nil {
		_ = c.Close()
		m.err = commands.ErrMigrateWrite
		return first && !timedOut(err)
	}
	read, err := m.readReplies(ctx, c, selects)
	switch {
	case err == nil:
		targets.giveBack(m.target, c)
	case m.err != nil: // the target itself replied an error
		_ = c.Close()
	default:
		_ = c.Close()
		m.err = commands.ErrMigrateRead
		return first && read == 0 && !timedOut(err) && !errors.Is(err, errNoServer)
	}
	return false
}

func (m *migration) timeout() time.Duration {
	return time.Duration(min(m.timeoutMS, mostTimeoutMS)) * time.Millisecond
}

// mostTimeoutMS is the longest timeout that a clock can hold: a hundred years.
const mostTimeoutMS = 100 * 365 * 24 * 3600 * 1000

// timedOut reports whether a step took too long, or everything was cancelled.
func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// prolong sets the deadline of the next step.
func (m *migration) prolong(ctx context.Context, c *targetConn) {
	_ = c.SetDeadline(time.Now().Add(m.timeout()))
	if ctx.Err() != nil { // it may have ended before
		_ = c.SetDeadline(time.Unix(1, 0))
	}
}

// writeBytes is the size of a write.
const writeBytes = 64 << 10

func (m *migration) write(ctx context.Context, c *targetConn, selects bool) error {
	head := append([]byte(nil), m.auth...)
	if selects {
		head = resp.AppendCommand(head, []byte("SELECT"), strconv.AppendInt(nil, m.db, 10))
	}
	for _, b := range [][]byte{head, m.restores} {
		for len(b) > 0 {
			m.prolong(ctx, c)
			n, err := c.Write(b[:min(len(b), writeBytes)])
			if err != nil {
				return err
			}
			b = b[n:]
		}
	}
	return nil
}

// readReplies reads all replies, and returns the number that belong to RESTORE. The error is that of the
// connection; an error reply of the target is stored in m.err.
func (m *migration) readReplies(ctx context.Context, c *targetConn, selects bool) (read int, err error) {
	m.err = nil
	refusal := ""
	for _, asked := range []bool{m.auth != nil, selects} {
		if !asked {
			continue
		}
		line, err := m.line(ctx, c)
		if err != nil {
			return 0, err
		}
		if refusal == "" && strings.HasPrefix(line, "-") {
			refusal = line
		}
	}
	for i := range m.keys {
		line, err := m.line(ctx, c)
		if err != nil {
			return i, err
		}
		switch {
		case refusal != "":
			line = refusal
		case strings.HasPrefix(line, "+"):
			m.acked[i] = true
			continue
		case !strings.HasPrefix(line, "-"): // it does not know RESTORE: Redis would remove the key
			return i, errNoServer
		}
		if m.err == nil {
			m.err = commands.Error("ERR Target instance replied with error: " + line[1:])
		}
	}
	if c.db = m.db; m.err != nil {
		c.db = -1
	}
	return len(m.keys), nil
}

// errNoServer says that the target does not speak the protocol.
var errNoServer = errors.New("the target does not answer as a server does")

// mostLine limits a reply line of the target. Redis has the same limit.
const mostLine = 1023

// line reads one reply.
func (m *migration) line(ctx context.Context, c *targetConn) (string, error) {
	m.prolong(ctx, c)
	var text []byte
	for {
		b, err := c.in.ReadByte()
		if err != nil {
			return "", err
		}
		if b == '\n' || len(text) == mostLine {
			return strings.TrimSuffix(string(text), "\r"), nil
		}
		text = append(text, b)
	}
}
