package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"lockserver/internal/call"
	"lockserver/internal/inspect"
	"lockserver/internal/resp"
)

// session sends commands to the leading server, over connections that it makes when they are needed. It is
// for one goroutine at a time, except hangUp.
type session struct {
	server inspect.Target
	addrs  []string
	owner  string // owner of the lock; the server reports its loss on this connection; empty: no reports
	lost   func(token int64, reason string)
	asked  func(token int64, reason string) // a LOCK.ASK for the lock; nil: it is ignored

	leader string // the address to try first; empty: the first of addrs
	mu     sync.Mutex
	link   *link // nil: not connected
}

// errAway is a temporary failure: no server answers, or the server is not ready.
type errAway struct{ cause error }

func (e errAway) Error() string { return e.cause.Error() }
func (e errAway) Unwrap() error { return e.cause }

func isAway(err error) bool { return errors.As(err, new(errAway)) }

// notReady lists the code words of errors that are temporary.
var notReady = []string{"LOADING", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "READONLY", "NOREPLICAS", "MISCONF", "BUSY", "UNBLOCKED"}

// do sends a command and returns its reply. It follows a group to its leader. The error is an errAway, or a
// [call.Error] of the server.
func (s *session) do(ctx context.Context, words ...string) (resp.Value, error) {
	for range mostRedirections {
		l, err := s.connect(ctx)
		if err != nil {
			return resp.Value{}, err
		}
		v, err := l.do(ctx, words...)
		var replied call.Error
		if err == nil {
			return v, nil
		}
		if !errors.As(err, &replied) {
			s.drop(l, err)
			return v, errAway{err}
		}
		first, rest, _ := strings.Cut(string(replied), " ")
		switch {
		case first == "MOVED":
			s.follow(l, rest)
		case first == "READONLY" && s.askLeader(ctx, l): // try again with the new leader
		case slices.Contains(notReady, first):
			s.drop(l, err)
			return v, errAway{err}
		default:
			return v, err
		}
	}
	return resp.Value{}, errAway{errors.New("the members of the group send on to one another")}
}

// follow uses the address in a MOVED reply. rest is a slot and host:port; an empty host means the same host.
func (s *session) follow(l *link, rest string) {
	_, addr, _ := strings.Cut(rest, " ")
	if port, here := strings.CutPrefix(addr, ":"); here {
		host, _, _ := net.SplitHostPort(l.nc.RemoteAddr().String())
		addr = net.JoinHostPort(host, port)
	}
	s.drop(l, errors.New("it does not lead"))
	s.leader = addr
}

// askLeader finds the leader of a group with RAFT INFO, and reports whether it is another server.
func (s *session) askLeader(ctx context.Context, l *link) bool {
	info, err := l.do(ctx, "RAFT", "INFO")
	if err != nil {
		return false
	}
	for line := range strings.Lines(info.Str) {
		if addr, ok := strings.CutPrefix(strings.TrimSpace(line), "raft_leader_address:"); ok && addr != "" {
			s.drop(l, errors.New("it does not lead"))
			s.leader = addr
			return true
		}
	}
	return false
}

// drop closes a useless connection, and forgets the leader.
func (s *session) drop(l *link, why error) {
	l.close(why)
	s.mu.Lock()
	s.link = nil
	s.mu.Unlock()
	s.leader = ""
	s.addrs = append(s.addrs[1:len(s.addrs):len(s.addrs)], s.addrs[0]) // the next attempt begins with the next address
}

// hangUp closes the connection, which ends the running command.
func (s *session) hangUp(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		s.link.close(why)
	}
}

// connect returns the connection, or makes one to the first address that answers.
func (s *session) connect(ctx context.Context) (*link, error) {
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l != nil {
		return l, nil
	}
	addrs := s.addrs
	if s.leader != "" {
		addrs = append([]string{s.leader}, addrs...)
	}
	var failures []error
	for _, addr := range addrs {
		l, err := s.connectTo(ctx, addr)
		if err == nil {
			s.mu.Lock()
			s.link = l
			s.mu.Unlock()
			return l, nil
		}
		failures = append(failures, err)
		if !isAway(err) { // for example a wrong password
			return nil, err
		}
	}
	s.leader = ""
	return nil, errAway{errors.Join(failures...)}
}

func (s *session) connectTo(ctx context.Context, addr string) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	o := s.server
	o.Addr = addr
	nc, err := inspect.Dial(ctx, o)
	if err != nil {
		return nil, errAway{err}
	}
	l := newLink(nc, s.push)
	if err := s.greet(ctx, l); err != nil {
		l.close(err)
		return nil, err
	}
	return l, nil
}

// greet logs in, and asks the server to report the loss of the lock on this connection.
func (s *session) greet(ctx context.Context, l *link) error {
	hello := []string{"HELLO", "3"}
	if s.server.User != "" || s.server.Password != "" {
		hello = append(hello, "AUTH", cmp.Or(s.server.User, "default"), s.server.Password)
	}
	for _, words := range [][]string{append(hello, "SETNAME", clientName), {"SELECT", strconv.Itoa(s.server.DB)}} {
		_, err := l.do(ctx, words...)
		switch {
		case err == nil:
		case !errors.As(err, new(call.Error)) || slices.Contains(notReady, strings.Fields(err.Error())[0]):
			return errAway{err}
		default:
			return err
		}
	}
	if s.owner == "" {
		return nil
	}
	_, err := l.do(ctx, "LOCK.ATTACH", s.owner)
	if err != nil && !errors.As(err, new(call.Error)) { // the server refused: then the next renewal shows a loss
		return errAway{err}
	}
	return nil
}

// push handles a message that the server sends by itself: lock-lost key token reason, or lock-asked with the
// same words.
func (s *session) push(v resp.Value) {
	if len(v.Elems) < 4 || v.Elems[0].Str != "lock-lost" && (v.Elems[0].Str != "lock-asked" || s.asked == nil) {
		return
	}
	token := v.Elems[2].Int
	if v.Elems[2].Kind != resp.Integer {
		token, _ = strconv.ParseInt(v.Elems[2].Str, 10, 64)
	}
	if v.Elems[0].Str == "lock-asked" {
		s.asked(token, v.Elems[3].Str)
		return
	}
	s.lost(token, fmt.Sprintf("the server says: %s", v.Elems[3].Str))
}
