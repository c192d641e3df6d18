package inspect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options say which server to look at, and as whom.
type Options struct {
	Addr     string // host:port, or the path of a unix socket
	User     string // empty: the default user
	Password string
	DB       int
	TLS      *tls.Config // nil: in the clear
}

// Server is a connection to a server.
type Server struct {
	rdb  *redis.Client
	addr string
}

// patience is how long a connection and a reply may take.
const patience = 5 * time.Second

// Connect connects and logs in. It fails if nothing answers, if the user is refused, or if the server has
// no locks.
func Connect(ctx context.Context, o Options) (*Server, error) {
	network := "tcp"
	if strings.HasPrefix(o.Addr, "/") {
		network = "unix"
	} else if _, _, err := net.SplitHostPort(o.Addr); err != nil {
		return nil, fmt.Errorf("the address is host:port, or the path of a unix socket: %w", err)
	}
	s := &Server{addr: o.Addr, rdb: redis.NewClient(&redis.Options{
		Network: network, Addr: o.Addr, Username: o.User, Password: o.Password, DB: o.DB, TLSConfig: o.TLS,
		Protocol: 3, ClientName: "lockserver-inspect", PoolSize: 1, MaxRetries: -1,
		DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience,
	})}
	known, err := s.rdb.Do(ctx, "COMMAND", "INFO", "lock.info").Slice()
	if err == nil && (len(known) == 0 || known[0] == nil) {
		err = fmt.Errorf("the server at %s has no LOCK: it is no lockserver", o.Addr)
	}
	if err != nil {
		_ = s.rdb.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the connection.
func (s *Server) Close() error { return s.rdb.Close() }

// Client is a connection of the server's.
type Client struct {
	ID      int64  `json:"id"`
	Address string `json:"address"`
	Name    string `json:"name,omitempty"`
}

// String is the name of the client if it has one, otherwise its address.
func (c *Client) String() string {
	switch {
	case c == nil:
		return ""
	case c.Name != "":
		return c.Name
	}
	return c.Address
}

// Waiter is somebody who stands in the queue of a lock.
type Waiter struct {
	Owner    string     `json:"owner"`
	Client   *Client    `json:"client"`
	Since    time.Time  `json:"waiting_since"`
	Deadline *time.Time `json:"deadline"` // nil: it waits without limit
}

// Lock is a lock that is held.
type Lock struct {
	Key      string     `json:"key"`
	Owner    string     `json:"owner"`
	Holds    int64      `json:"holds"`
	Token    int64      `json:"token"`
	TTLMS    int64      `json:"ttl_ms"` // -1: without end
	Watchdog bool       `json:"watchdog"`
	Client   *Client    `json:"client"`
	Since    *time.Time `json:"held_since"`
	Waiting  int64      `json:"waiting"` // how many wait; Waiters may be the first of them
	Waiters  []Waiter   `json:"waiters"`
	// WaitsFor are the keys of locks that the owner waits for itself.
	WaitsFor []string `json:"owner_waits_for,omitempty"`
}

// Lock tells of a lock with all who wait for it; nil if nobody holds it.
func (s *Server) Lock(ctx context.Context, key string) (*Lock, error) {
	return lockOf(key, s.rdb.Do(ctx, "LOCK.INFO", key))
}

// lockOf is the reply of LOCK.INFO.
func lockOf(key string, cmd *redis.Cmd) (*Lock, error) {
	f, err := fieldsOf(cmd)
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := &Lock{Key: key, Owner: f.text("owner"), Holds: f.integer("holds"), Token: f.integer("token"), TTLMS: f.integer("ttl"),
		Watchdog: f.flag("watchdog"), Client: f.client(), Since: f.moment("held-since"), Waiting: f.integer("waiting"), Waiters: []Waiter{}}
	for _, w := range f.maps("waiters") {
		l.Waiters = append(l.Waiters, w.waiter())
	}
	l.Waiting = max(l.Waiting, int64(len(l.Waiters))) // of all of them it is not told how many they are
	return l, nil
}

// waits returns who waits for locks, as LOCK.WAITERS with some options tells of them.
func (s *Server) waits(ctx context.Context, options ...any) (list []wait, err error) {
	reply, err := s.rdb.Do(ctx, append([]any{"LOCK.WAITERS"}, options...)...).Slice()
	if err != nil {
		return nil, err
	}
	for _, w := range mapsOf(reply) {
		one := wait{Waiter: w.waiter()}
		for _, v := range w.list("locks") {
			if lock, ok := v.([]any); ok && len(lock) > 0 {
				key, _ := lock[0].(string)
				one.keys = append(one.keys, key)
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// wait is a waiter with the keys of the locks that it waits for.
type wait struct {
	Waiter
	keys []string
}

// Filter says which locks are listed; empty: all.
type Filter struct {
	Match string // a pattern of keys
	Owner string
}

// piece is how many locks are asked for at a time, so that nobody waits for a long list.
const piece = 1000

// EachLock calls f with every lock that is held, in no order, without its client and waiters. One that is
// taken or released meanwhile may be missing.
func (s *Server) EachLock(ctx context.Context, by Filter, f func(Lock) error) error {
	for next := "0"; ; {
		after, found, err := s.lockPiece(ctx, by, next, piece)
		if err != nil {
			return err
		}
		for _, l := range found {
			if err := f(l); err != nil {
				return err
			}
		}
		if after == "0" {
			return nil
		}
		next = after
	}
}

// lockPiece returns locks of those that the server looks at from a cursor on, and the cursor behind them.
func (s *Server) lockPiece(ctx context.Context, by Filter, cursor string, looked int) (next string, list []Lock, err error) {
	args := []any{"LOCK.LIST", "CURSOR", cursor, "COUNT", looked}
	if by.Match != "" {
		args = append(args, "MATCH", by.Match)
	}
	if by.Owner != "" {
		args = append(args, "OWNER", by.Owner)
	}
	reply, err := s.rdb.Do(ctx, args...).Slice()
	if err != nil {
		return "", nil, err
	}
	next, found, err := pieceOf(reply)
	for _, l := range mapsOf(found) {
		list = append(list, Lock{Key: l.text("key"), Owner: l.text("owner"), Holds: l.integer("holds"), Token: l.integer("token"), TTLMS: l.integer("ttl")})
	}
	return next, list, err
}
