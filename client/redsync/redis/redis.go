// Package redis has the pools that package redsync takes locks by, with the names of the package redis of
// github.com/go-redsync/redsync/v4. Package goredis/v9 makes one of a client of go-redis, [NewPool] of any
// other library.
package redis

import (
	"context"
	"errors"
	"time"

	"lockserver/client/internal/leased"
)

// Pool is a server, by a client of some library. It comes from NewPool of this package or of goredis/v9.
type Pool interface {
	Get(ctx context.Context) (Conn, error)
}

// Conn looks at locks by their keys and values. Package redsync needs more, which only the pools of these
// packages have.
type Conn interface {
	// Get returns the value that holds the lock at name, or the string that is there; "": neither.
	Get(name string) (string, error)
	// Set writes a string, over a lock, too.
	Set(name string, value string) (bool, error)
	// SetNX takes the lock at name for value if it is free.
	SetNX(name string, value string, expiry time.Duration) (bool, error)
	// Eval runs a script.
	Eval(script *Script, keysAndArgs ...any) (any, error)
	// ScriptLoad loads a script, and sets its hash.
	ScriptLoad(script *Script) error
	// PTTL returns how long the key lasts; -1 ns: without end, -2 ns: there is no key.
	PTTL(name string) (time.Duration, error)
	// Close does nothing.
	Close() error
}

// Script is a script in Lua.
type Script struct {
	KeyCount int
	Src      string
	Hash     string // of Src (SHA-1); empty: Src is sent
}

// NewScript returns a script with a number of keys.
func NewScript(keyCount int, src, hash string) *Script { return &Script{keyCount, src, hash} }

// NewPool returns a pool by a client of a library: a *redis.Client or a *redis.ClusterClient of go-redis, or
// a client.Server. With another type each lock fails with an error.
func NewPool(library any) Pool { return pool{leased.By("redsync", library)} }

type pool struct{ locks leased.Locks }

// Of is for package redsync: the locks on the server.
func (p pool) Of() leased.Locks { return p.locks }

// Get implements Pool.
func (p pool) Get(ctx context.Context) (Conn, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	return conn{p.locks, ctx}, nil
}

type conn struct {
	locks leased.Locks
	ctx   context.Context
}

// Get implements Conn.
func (c conn) Get(name string) (string, error) { return c.locks.ValueOf(c.ctx, name) }

// Set implements Conn.
func (c conn) Set(name, value string) (bool, error) {
	reply, err := c.locks.Do(c.ctx, "SET", name, value)
	return reply == "OK", err
}

// SetNX implements Conn.
func (c conn) SetNX(name, value string, expiry time.Duration) (bool, error) {
	_, err := c.locks.Acquire(c.ctx, leased.Wish{Key: name, Value: value, Lease: expiry})
	if errors.Is(err, leased.ErrTaken) {
		return false, nil
	}
	return err == nil, err
}

// PTTL implements Conn.
func (c conn) PTTL(name string) (time.Duration, error) {
	reply, err := c.locks.Do(c.ctx, "PTTL", name)
	ms, _ := reply.(int64)
	if ms < 0 {
		return time.Duration(ms), err
	}
	return time.Duration(ms) * time.Millisecond, err
}

// Eval implements Conn.
func (c conn) Eval(script *Script, keysAndArgs ...any) (any, error) {
	words := append([]any{"EVAL", script.Src, script.KeyCount}, keysAndArgs...)
	return c.locks.Do(c.ctx, words...)
}

// ScriptLoad implements Conn.
func (c conn) ScriptLoad(script *Script) error {
	reply, err := c.locks.Do(c.ctx, "SCRIPT", "LOAD", script.Src)
	if hash, ok := reply.(string); ok {
		script.Hash = hash
	}
	return err
}

// Close implements Conn.
func (conn) Close() error { return nil }
