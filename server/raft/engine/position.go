package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"lockserver/server/raft"
)

// A follower asks the leader how far the history goes (raft.Position). It asks a few times a second, so the
// connection stays open.

// The question, do not change: these words, the group's name, the caller's id, and the called address, with
// spaces between them. The answer is a line that begins with + and goes on as Position.Text, or that begins
// with - and says why there is none. After an answer the line askAgainFor asks again.
const (
	askPosition = "lockserver-raft 2 position"
	askAgainFor = "position"
)

// positionIdle is for how long the connection may be silent.
const positionIdle = 30 * time.Second

// asker is the connection by which a member asks the leader for its position.
type asker struct {
	mu   sync.Mutex
	to   string
	conn net.Conn // nil: there is none
	in   *bufio.Reader
}

// AskPosition asks the leader at an address, for Options.Position.
func (n *Network) AskPosition(ctx context.Context, address string) (p raft.Position, err error) {
	a := &n.asker
	a.mu.Lock()
	defer a.mu.Unlock()
	answer, err := a.ask(ctx, n, address)
	if err != nil {
		a.close()
		return p, err
	}
	text, ok := strings.CutPrefix(answer, "+")
	if !ok {
		a.close()
		n.hearRefusal(address, answer)
		return p, fmt.Errorf("%w: %s", raft.ErrNoPosition, strings.TrimPrefix(answer, "-"))
	}
	return raft.ParsePosition(text)
}

// ask sends the question, on the connection that there is or on a new one, and returns the answer.
func (a *asker) ask(ctx context.Context, n *Network, address string) (answer string, err error) {
	words := askAgainFor
	if a.conn == nil || a.to != address {
		a.close()
		if a.conn, err = n.dial(ctx, address); err != nil {
			a.conn = nil
			return "", err
		}
		a.to, a.in = address, bufio.NewReader(a.conn)
		words = fmt.Sprintf("%s %s %s %s", askPosition, n.Group, n.ID, address)
	}
	conn := a.conn
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := io.WriteString(conn, words+"\n"); err != nil {
		return "", err
	}
	answer, err = a.in.ReadString('\n')
	return strings.TrimRight(answer, "\n"), err
}

// close ends the connection.
func (a *asker) close() {
	if a.conn != nil {
		_ = a.conn.Close()
		a.conn, a.in = nil, nil
	}
}

// hangUpAsker ends the connection unless a question is under way, which ends it then.
func (n *Network) hangUpAsker() {
	if n.asker.mu.TryLock() {
		n.asker.close()
		n.asker.mu.Unlock()
	}
}

// answerPositions answers questions for the position until the caller ends it, or the listener is closed.
func (s *stream) answerPositions(c net.Conn, words []string) {
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-s.closed:
		case <-over:
		}
		_ = c.Close()
	}()
	for err := error(nil); err == nil; {
		if err = s.network.answerPosition(c, words); err == nil {
			_ = c.SetDeadline(time.Now().Add(positionIdle))
			var said string
			if said, err = readLine(c); err == nil && said != askAgainFor {
				return
			}
		}
	}
}

var errNoQuestion = errors.New("a question is '" + askPosition + "', a group, the caller's id, and the called address")

// answerPosition writes one answer. It returns an error when the connection is to be closed.
func (n *Network) answerPosition(c net.Conn, words []string) (err error) {
	var p raft.Position
	switch {
	case len(words) != 3:
		err = errNoQuestion
	case n.Position == nil:
		err = raft.ErrCannotAsk
	default:
		if err = n.misled(words[0], words[2]); err == nil {
			err = n.checkCaller(c, words[1])
		}
		if err == nil {
			p, err = n.Position()
		}
	}
	if err != nil {
		_, failed := fmt.Fprintf(c, "-%v\n", err)
		return errors.Join(err, failed)
	}
	_, err = fmt.Fprintf(c, "+%s\n", p.Text())
	return err
}
