package replication

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockserver/internal/resp"
)

// dialled is a connection to the master. Every read and write has a deadline.
type dialled struct {
	net.Conn
	in *bufio.Reader

	mu      sync.Mutex
	timeout time.Duration // repl-timeout
}

// readBytes is the size of a read from the master.
const readBytes = 64 << 10

// Read implements io.Reader with a deadline.
func (c *dialled) Read(b []byte) (int, error) {
	c.mu.Lock()
	_ = c.Conn.SetReadDeadline(time.Now().Add(c.timeout))
	c.mu.Unlock()
	return c.Conn.Read(b)
}

// setTimeout changes the deadline of reads, including a read that is waiting now.
func (c *dialled) setTimeout(timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timeout != timeout {
		c.timeout = timeout
		_ = c.Conn.SetReadDeadline(time.Now().Add(timeout))
	}
}

// line reads a line without its end. It skips empty lines, which are keepalives.
func (c *dialled) line() (string, error) {
	for {
		text, err := c.in.ReadString('\n')
		if err != nil {
			return "", err
		}
		if len(text) > mostLine {
			return "", errors.New("the master's reply is too long")
		}
		if text = strings.TrimRight(text, "\r\n"); text != "" {
			return text, nil
		}
	}
}

// mostLine limits the length of a line from the master.
const mostLine = 4 << 10

// ask sends a command and reads the line that answers it.
func (l *link) ask(c *dialled, words ...string) (string, error) {
	argv := make([][]byte, len(words))
	for i, w := range words {
		argv[i] = []byte(w)
	}
	if err := l.send(resp.AppendCommand(nil, argv...)); err != nil {
		return "", err
	}
	return c.line()
}

// masterError is an unexpected reply of the master.
type masterError struct{ command, reply string }

func (e *masterError) Error() string { return "the master answers " + e.command + " by: " + e.reply }

// greetingWords holds the server's state that an attempt needs before it connects.
type greetingWords struct {
	user, password  string
	port            string
	address         string
	id              string
	offset          int64
	timeout         time.Duration
	encrypted, lead bool
	asks            bool // the master knows REPLCONF ask
}

// try connects to the master, and follows it until the connection ends.
func (l *link) try() error {
	n := l.node
	var g greetingWords
	stopped := false
	n.host.Do(func() {
		stopped = l.stopped
		c := n.config()
		l.state = connecting
		g = greetingWords{user: c.MasterUser, password: c.MasterAuth, address: c.AnnounceIP, id: "?", offset: -1,
			timeout: time.Duration(c.TimeoutMS) * time.Millisecond, encrypted: c.TLS, lead: l.failover}
		g.port = strconv.Itoa(n.host.Port(c.TLS))
		if c.AnnouncePort != 0 {
			g.port = strconv.Itoa(c.AnnouncePort)
		}
		if l.known {
			g.id, g.offset = n.id, n.Offset()+1
		}
	})
	if stopped {
		return nil
	}
	conn, err := l.dial(g.timeout)
	if err != nil {
		return err
	}
	c := &dialled{Conn: conn, timeout: g.timeout}
	c.in = bufio.NewReaderSize(c, readBytes)
	l.mu.Lock()
	l.conn = conn
	l.mu.Unlock()
	n.host.Do(func() {
		if stopped = l.stopped; !stopped {
			l.state, l.dialled = handshake, c
			l.retime()
		}
	})
	if stopped {
		return nil
	}
	if err := l.greet(c, &g); err != nil {
		return err
	}
	n.host.Do(func() { l.asks = g.asks })
	return l.psync(c, &g)
}

// dial connects to the master within timeout, unless the link ends first.
func (l *link) dial(timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	go func() {
		select {
		case <-l.stop:
		case <-l.node.host.Ending():
		case <-ctx.Done():
		}
		cancel()
	}()
	return l.node.host.Dial(ctx, l.host, l.port)
}

// greet introduces this server to the master.
func (l *link) greet(c *dialled, g *greetingWords) error {
	reply, err := l.ask(c, "PING")
	switch {
	case err != nil:
		return err
	case reply[0] != '+' && !isWord(reply, "-NOAUTH") && !isWord(reply, "-NOPERM") && !isWord(reply, "-ERR operation not permitted"):
		return &masterError{"PING", reply}
	}
	if g.password != "" {
		words := []string{"AUTH", g.password}
		if g.user != "" {
			words = []string{"AUTH", g.user, g.password}
		}
		if reply, err = l.ask(c, words...); err != nil {
			return err
		} else if reply[0] == '-' {
			return &masterError{"AUTH", reply}
		}
	}
	greetings := [][]string{{"REPLCONF", "listening-port", g.port}}
	if g.address != "" {
		greetings = append(greetings, []string{"REPLCONF", "ip-address", g.address})
	}
	greetings = append(greetings, []string{"REPLCONF", "capa", "eof", "capa", "psync2", "capa", ownKind, "capa", rulesKind})
	for _, words := range greetings {
		if reply, err = l.ask(c, words...); err != nil {
			return err
		} else if reply[0] == '-' && !isWord(reply, "-ERR") {
			return &masterError{strings.Join(words[:2], " "), reply}
		}
	}
	reply, err = l.ask(c, "REPLCONF", "ask", "0")
	g.asks = err == nil && reply[0] == '+'
	return err
}

// psync requests the history, and reads it.
func (l *link) psync(c *dialled, g *greetingWords) error {
	words := []string{"PSYNC", g.id, strconv.FormatInt(g.offset, 10)}
	if g.lead {
		words = append(words, "FAILOVER")
	}
	reply, err := l.ask(c, words...)
	if err != nil {
		return err
	}
	at := strings.Fields(reply)
	if g.lead {
		leads := at[0] == "+CONTINUE" || at[0] == "+FULLRESYNC"
		l.node.host.Do(func() {
			if l.failover = false; !l.stopped {
				l.node.answeredFailover(leads)
			}
		})
	}
	switch {
	case at[0] == "+FULLRESYNC" && len(at) == 3 && len(at[1]) == len(noID):
		offset, err := strconv.ParseInt(at[2], 10, 64)
		if err != nil || offset < 0 {
			return &masterError{"PSYNC", reply}
		}
		l.node.host.Log().Info("Full resync from master: " + at[1] + ":" + at[2])
		return l.begin(c, at[1], offset)
	case at[0] == "+CONTINUE" && l.known:
		id := g.id
		if len(at) > 1 {
			if len(at[1]) != len(noID) {
				return &masterError{"PSYNC", reply}
			}
			id = at[1]
		}
		return l.resume(c, id)
	}
	return &masterError{"PSYNC", reply}
}

// begin reads a snapshot, and then the history after it. id is the name of the history, offset its length at
// the snapshot.
func (l *link) begin(c *dialled, id string, offset int64) error {
	n := l.node
	head, err := c.line()
	if err != nil {
		return err
	}
	from, err := l.snapshot(c, head)
	if err != nil {
		return err
	}
	stopped, how := false, way{}
	n.host.Do(func() {
		if stopped = l.stopped; stopped {
			return
		}
		how = n.wayOf(id)
		l.state, l.total = transferring, from.size
		l.progress.got.Store(0)
		l.hear()
	})
	if stopped {
		return nil
	}
	n.host.Log().Info("MASTER <-> REPLICA sync: receiving " + from.what + " from master " + how.to())
	db, err := l.take(from, how)
	if err != nil {
		return fmt.Errorf("the master's snapshot: %w", err)
	}
	n.host.Log().Info("MASTER <-> REPLICA sync: Finished with success")
	n.host.Do(func() {
		if stopped = l.stopped; stopped {
			return
		}
		n.dropReplicas() // they have another history
		n.id, n.id2, n.secondOffset = id, noID, -1
		n.stream.reset(offset)
		l.known, l.db = true, max(0, db)
		l.up()
	})
	if stopped {
		return nil
	}
	return l.stream(c)
}

// up records that the history is being read from now on.
func (l *link) up() {
	l.state, l.upMS, l.downSince, l.lastError = connected, l.node.host.NowMS(), 0, ""
	l.progress.read.Store(l.node.Offset())
	l.hear()
	l.acknowledge()
}

// resume reads the history after our position. The history may have got another name.
func (l *link) resume(c *dialled, id string) error {
	n, stopped := l.node, false
	n.host.Do(func() {
		if stopped = l.stopped; stopped {
			return
		}
		if id != n.id {
			n.id2, n.secondOffset = n.id, n.Offset()+1
			n.id = id
			n.dropReplicas() // so that they learn the new name
		}
		l.up()
		n.host.Log().Info("MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization.")
	})
	if stopped {
		return nil
	}
	return l.stream(c)
}

// incoming is a snapshot that the master sends.
type incoming struct {
	io.Reader
	size int64 // 0: not known
	what string
}

// snapshot reads how the snapshot will be sent: with a length, or up to a mark.
func (l *link) snapshot(c *dialled, head string) (incoming, error) {
	if head[0] == '-' {
		return incoming{}, &masterError{"PSYNC", head}
	}
	if mark, ok := strings.CutPrefix(head, "$EOF:"); ok && len(mark) == len(noID) {
		return incoming{Reader: newUntil(c.in, mark), what: "streamed RDB"}, nil
	}
	size, err := strconv.ParseInt(strings.TrimPrefix(head, "$"), 10, 64)
	if head[0] != '$' || err != nil || size < 0 {
		return incoming{}, fmt.Errorf("bad protocol from the master: its snapshot begins with %.50q", head)
	}
	return incoming{Reader: &exactly{c.in, size}, size: size, what: fmt.Sprintf("%d bytes", size)}, nil
}

// exactly reads a number of bytes, and fails if there are fewer.
type exactly struct {
	from io.Reader
	left int64
}

// Read implements io.Reader.
func (e *exactly) Read(b []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.from.Read(b[:min(int64(len(b)), e.left)])
	e.left -= int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// until reads the bytes before a mark. The master sends nothing after the mark before we have answered.
type until struct {
	from    io.Reader
	mark    string
	readBuf []byte
	buf     []byte // bytes read and not returned yet: the last of them may be the mark
}

func newUntil(from io.Reader, mark string) *until {
	return &until{from: from, mark: mark, readBuf: make([]byte, readBytes)}
}

// Read implements io.Reader.
func (u *until) Read(b []byte) (int, error) {
	for len(u.buf) <= len(u.mark) {
		if string(u.buf) == u.mark {
			return 0, io.EOF
		}
		n, err := u.from.Read(u.readBuf)
		u.buf = append(u.buf, u.readBuf[:n]...)
		switch {
		case n > 0: // the error comes again
		case errors.Is(err, io.EOF):
			return 0, io.ErrUnexpectedEOF
		case err != nil:
			return 0, err
		}
	}
	n := copy(b, u.buf[:len(u.buf)-len(u.mark)])
	u.buf = u.buf[:copy(u.buf, u.buf[n:])]
	return n, nil
}
