package inspect

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"lockserver/internal/call"
)

// Lasting is a server that may restart, or the leader of a group that may change. It reconnects when the
// connection breaks, or when the member at the other end is no longer the leader.
type Lasting struct {
	ctx context.Context
	of  Target

	mu     sync.Mutex // held during each question
	server *Server    // nil: not connected
	// addrs are the addresses to try, in this order: the address that the user gave, and the last known
	// members of the group.
	addrs []string
}

// Lasting returns a Lasting for this server. It owns the connection, and reconnects until ctx ends.
func (s *Server) Lasting(ctx context.Context) *Lasting {
	l := &Lasting{ctx: ctx, of: s.options, server: s, addrs: []string{s.options.Addr}}
	l.learn()
	return l
}

// Close ends the connection.
func (l *Lasting) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop()
}

func (l *Lasting) drop() {
	if l.server != nil {
		l.server.Close()
		l.server = nil
	}
}

// Sample returns a sample of the connected server: see Server.Sample.
func (l *Lasting) Sample() (sample *Sample, err error) {
	err = l.ask(func(s *Server) error {
		sample, err = s.Sample()
		return err
	})
	return sample, err
}

// Why explains a lock of the connected server: see Server.Why.
func (l *Lasting) Why(key string) (reason *Reason, err error) {
	err = l.ask(func(s *Server) error {
		reason, err = s.Why(key)
		return err
	})
	return reason, err
}

// ask asks a question. If the connection is lost it asks again over a new connection.
func (l *Lasting) ask(question func(s *Server) error) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server != nil {
		if l.server.sentOn() == "" {
			if err = question(l.server); !isOver(err) {
				return err
			}
		}
		l.drop()
	}
	if err := l.connect(); err != nil {
		return err
	}
	return question(l.server)
}

// isOver reports whether a new connection may help after this error.
func isOver(err error) bool {
	var said call.Error
	if errors.As(err, &said) {
		word, _, _ := strings.Cut(string(said), " ")
		return slices.Contains([]string{"MOVED", "READONLY", "CLUSTERDOWN", "MASTERDOWN"}, word)
	}
	return errors.Is(err, call.ErrLost)
}

// connect connects to the first address that leads to a server with the data.
func (l *Lasting) connect() (err error) {
	for _, addr := range l.addrs {
		o := l.of
		o.Addr = addr
		s, failed := Connect(l.ctx, o)
		if failed == nil {
			l.server = s
			l.learn()
			return nil
		}
		if err == nil {
			err = failed // report the failure at the address that the user knows
		}
	}
	return err
}

// learn stores the members of the server's group, if it belongs to a group.
func (l *Lasting) learn() {
	members, err := l.server.conn.Do("RAFT", "MEMBERS")
	if err != nil {
		return
	}
	l.addrs = l.addrs[:1]
	for _, v := range members.Elems {
		if m := memberOf(call.FieldsOf(v)); m.Client != l.addrs[0] {
			l.addrs = append(l.addrs, m.Client)
		}
	}
}
