package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// An id may be used twice, as by a server that was set up with another's configuration, or from a copy of its
// disk. That does no harm to the group: the others call the server that answers at the id's address. But the
// second server waits for a leader that never speaks to it. So each member looks which server answers at its
// own address.

const (
	// firstLook is when a member looks for the first time, and lookEvery how often then.
	firstLook = time.Second
	lookEvery = time.Minute
	// itself is the answer that a member gives to itself.
	itself = "this is the caller itself"
)

// newMark returns what a server knows itself by, until it ends.
func newMark() string { return rand.Text() }

// isItself reports whether a caller, by its first line, is this server: it has the mark where others have
// their charter.
func (s *stream) isItself(said string) bool { return strings.HasSuffix(said, " "+s.mark) }

// lookOut says in the log that another server has this one's address, as long as one does.
func (s *stream) lookOut() {
	for wait := firstLook; ; wait = lookEvery {
		select {
		case <-time.After(wait):
		case <-s.closed:
			return
		}
		if at := peerOf("", s.network.Self).Raft; s.anotherAt(at) {
			s.network.Log.Error("raft: another server answers at "+at+", where raft-members has this one, "+s.network.ID+
				": the id is used twice, or the address is another's. No member calls this server. Stop the one of the two that is not meant to be "+
				s.network.ID+", and give it an id and an address of its own (RAFT ADD)", "id", s.network.ID)
		}
	}
}

// anotherAt reports whether a server that is not this one answers at an address. False may also mean that no
// server answers, or that this host cannot reach it.
func (s *stream) anotherAt(address string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), greetTimeout)
	defer cancel()
	go func() {
		select {
		case <-s.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	c, err := s.network.dial(ctx, address)
	if err != nil {
		return false
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	defer func() { _ = c.Close() }()
	_, err = fmt.Fprintf(c, "%s %s %s %s %s\n", greeting, s.network.Group, s.network.ID, address, s.mark)
	if err != nil {
		return false
	}
	said, err := readLine(c)
	return err == nil && said != "-"+itself
}

// answerItself answers a member's own call.
func answerItself(c net.Conn) {
	_, _ = io.WriteString(c, "-"+itself+"\n")
	_ = c.Close()
}

// dial connects to an address, encrypted if members are. The certificate that is shown there is a member's.
func (n *Network) dial(ctx context.Context, address string) (net.Conn, error) {
	if n.Dial == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	c, err := n.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := n.checkCalled(ctx, c, address); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
