package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"

	"lockserver/server/raft"
)

// Network is how members reach each other: TCP connections that begin with the ids of caller and callee.
type Network struct {
	ID     string // the member's
	Group  string
	Listen string // host:port
	// Self is the member's address as the others know it (Address).
	Self hraft.ServerAddress
	Log  *slog.Logger
	// Identity is the identity of this member.
	Identity *Identity
	// Accept makes a connection that was accepted an encrypted one, and Dial connects; nil: not encrypted.
	Accept func(net.Conn) net.Conn
	Dial   func(ctx context.Context, address string) (net.Conn, error)
	// Names are names (AnyName). A member's certificate may have one in place of its address.
	Names []string
	// Addresses is Engine.Addresses; nil: certificates are for any address.
	Addresses func(ctx context.Context, id string, ask bool) (at []string, others bool, err error)
	// Position returns the answer to a member that asks the leader for its position; nil: this member does
	// not answer.
	Position func() (raft.Position, error)

	asker asker
}

const (
	// pooled are connections to a member that are kept.
	pooled = 3
	// sendTimeout bounds how long an exchange may take, a snapshot's one for each 256 KB of it.
	sendTimeout = 10 * time.Second
	// greetTimeout bounds how long a caller may take to send its first line.
	greetTimeout = 5 * time.Second
	// longestGreeting is above the length of any.
	longestGreeting = 1024
)

// Transport begins to listen, for Options.Transport.
func (n *Network) Transport() (hraft.Transport, error) {
	l, err := net.Listen("tcp", n.Listen)
	if err != nil {
		return nil, fmt.Errorf("raft-listen: %w", err)
	}
	s := newStream(n, l)
	s.accepting.Go(s.accept)
	s.accepting.Go(s.lookOut)
	return &transport{NetworkTransport: hraft.NewNetworkTransportWithLogger(s, pooled, sendTimeout, newLogger(n.Log)), stream: s}, nil
}

// stream is the library's layer of connections.
type stream struct {
	network   *Network
	mark      string // newMark
	listener  net.Listener
	greeted   chan net.Conn
	closed    chan struct{}
	once      sync.Once
	accepting sync.WaitGroup

	calls    context.Context // ends when no more are made, and those that there are end
	endCalls context.CancelFunc
	mu       sync.Mutex
	dialed   map[net.Conn]struct{} // to the others, and open
}

func newStream(n *Network, l net.Listener) *stream {
	s := &stream{network: n, mark: newMark(), listener: l, greeted: make(chan net.Conn), closed: make(chan struct{}), dialed: make(map[net.Conn]struct{})}
	s.calls, s.endCalls = context.WithCancel(context.Background())
	return s
}

var _ hraft.StreamLayer = (*stream)(nil)

// Addr implements hraft.StreamLayer. The library uses the address as the name of this member.
func (s *stream) Addr() net.Addr { return named(s.network.Self) }

// named is an address by its name.
type named string

func (named) Network() string  { return "tcp" }
func (n named) String() string { return string(n) }

// Close implements hraft.StreamLayer.
func (s *stream) Close() (err error) {
	s.once.Do(func() {
		close(s.closed)
		s.network.hangUpAsker()
		err = s.listener.Close()
		s.accepting.Wait()
	})
	return err
}

// Accept implements hraft.StreamLayer.
func (s *stream) Accept() (net.Conn, error) {
	select {
	case c := <-s.greeted:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// accept admits callers that send the right words. Each has a goroutine of its own, so that they do not wait
// for each other.
func (s *stream) accept() {
	for {
		c, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.network.Log.Warn("raft: a connection could not be accepted", "cause", err)
			time.Sleep(10 * time.Millisecond)
			continue
		}
		go s.admit(c)
	}
}

func (s *stream) admit(c net.Conn) {
	if s.network.Accept != nil {
		c = s.network.Accept(c)
	}
	_ = c.SetDeadline(time.Now().Add(greetTimeout))
	said, err := readLine(c)
	if err != nil {
		s.turnAway(c, err)
		return
	}
	if s.isItself(said) {
		answerItself(c)
		return
	}
	if words, ok := strings.CutPrefix(said, question+" "); ok {
		if err := s.network.answerHello(c, strings.Fields(words)); err != nil {
			_, _ = fmt.Fprintf(c, "-%v\n", err)
		}
		_ = c.Close()
		return
	}
	if words, ok := strings.CutPrefix(said, refusing+" "); ok {
		s.isRefused(c, words)
		return
	}
	if words, ok := strings.CutPrefix(said, askPosition+" "); ok {
		s.answerPositions(c, strings.Fields(words))
		return
	}
	from, answer, err := s.network.judge(c, said)
	switch {
	case err == nil:
	case errors.Is(err, errTaking): // it calls again
		_ = c.Close()
		return
	case from == "":
		s.turnAway(c, err)
		return
	default:
		s.network.Identity.refuse(from, "", err)
		answerNo(c, err)
		return
	}
	if _, err := fmt.Fprintf(c, "+%s\n", answer); err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetDeadline(time.Time{})
	select {
	case s.greeted <- c:
	case <-s.closed:
		_ = c.Close()
	}
}

// turnAway ends a connection of a caller that has not said which member it is: no member is refused. A
// connection that only ends, or says too little, gets no line in the log. Checks of ports make such
// connections, and so does a member that is killed or paused.
func (s *stream) turnAway(c net.Conn, why error) {
	if hasEnded(why) {
		_ = c.Close()
		return
	}
	from, _, _ := net.SplitHostPort(c.RemoteAddr().String()) // the port is another each time
	s.network.Identity.turnedAway(from, why)
	answerNo(c, why)
}

// hasEnded reports whether an error only says that a connection has ended, or was silent for too long. A TLS
// handshake writes, too, and its write fails if the caller is paused.
func hasEnded(err error) bool {
	var failed *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &failed) && (failed.Op == "read" || failed.Op == "write")
}

// answerNo tells a caller what is wrong with it.
func answerNo(c net.Conn, why error) {
	_, _ = fmt.Fprintf(c, "-%v\n", why)
	_ = c.Close()
}

// The first line of a connection, do not change: a word, a version, the group's name, the caller's id, and
// the called address, with spaces between them. In version 1 the charter follows, in version 2 the words of
// an identity. The answer is a line that begins with + or, with what is wrong, with -.
const (
	greeting  = "lockserver-raft 1"
	greeting2 = "lockserver-raft 2"
)

// judge returns which member a caller says it is, and the answer to it, or what is wrong with it. from is
// empty if it does not say what a member says.
func (n *Network) judge(c net.Conn, said string) (from, answer string, err error) {
	words := strings.Fields(said)
	version := strings.Join(words[:min(2, len(words))], " ")
	if !(version == greeting && len(words) == 6 || version == greeting2 && len(words) == 9) {
		return "", "", fmt.Errorf("a member begins with '%s', and not with '%.40s'", greeting, said)
	}
	from = words[3]
	if from == n.ID {
		return from, "", fmt.Errorf("it has the id %s of this member: an id is one server's", from)
	}
	if err := n.misled(words[2], words[4]); err != nil {
		return from, "", err
	}
	if err := n.checkCaller(c, from); err != nil {
		return from, "", err
	}
	if version == greeting {
		return from, "", n.Identity.judgeOlder(words[5])
	}
	answer, err = n.Identity.judge(words[5:])
	return from, " " + answer, err
}

// misled says what is wrong with a caller that wants a member of a group, at an address.
func (n *Network) misled(group, to string) error {
	self := peerOf("", n.Self).Raft
	switch {
	case group != n.Group:
		return fmt.Errorf("it is a member of the group %s, and this one of %s (raft-group)", group, n.Group)
	case to != self:
		return fmt.Errorf("it is called by %s, and its own raft address is %s: each member is known by one address only", to, self)
	}
	return nil
}

// readLine reads a line, and nothing behind it.
func readLine(r io.Reader) (string, error) {
	var line []byte
	b := make([]byte, 1) // what is behind the line is another's
	for len(line) < longestGreeting {
		if _, err := io.ReadFull(r, b); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return string(line), nil
		}
		line = append(line, b[0])
	}
	return "", errors.New("its first line is too long")
}

// Dial implements hraft.StreamLayer.
func (s *stream) Dial(address hraft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	to := peerOf("", address).Raft
	ctx, cancel := context.WithTimeout(s.calls, min(timeout, greetTimeout))
	defer cancel()
	c, err := s.network.dial(ctx, to)
	if err == nil {
		c, err = s.keep(c)
	}
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	_ = c.SetDeadline(deadline)
	if err = s.greet(c, address, to); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	_ = c.SetDeadline(time.Time{})
	return c, nil
}

// greet sends the first line to the member at an address, and checks the answer.
func (s *stream) greet(c net.Conn, address hraft.ServerAddress, to string) error {
	y, version := s.network.Identity, greeting2
	words, ok := y.words(address)
	if !ok {
		version, words = greeting, y.charter.said()
	}
	if _, err := fmt.Fprintf(c, "%s %s %s %s %s\n", version, s.network.Group, s.network.ID, to, words); err != nil {
		return err
	}
	answer, err := readLine(c)
	if err != nil {
		return err
	}
	answer, ok = strings.CutPrefix(answer, "+")
	switch {
	case !ok:
		err = fmt.Errorf("%s refuses this member: %s", to, strings.TrimPrefix(answer, "-"))
	case version == greeting2:
		err = y.heard(address, answer)
	}
	if err != nil {
		y.refuse("", to, err)
	}
	return err
}
