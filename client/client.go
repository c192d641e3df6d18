package client

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Client takes locks and buys at sales on one server. Its methods may be called from any goroutine. One for
// a program, or for each server that it uses, is enough.
type Client struct {
	server Server
	name   string // begins the owners' names; unlike that of any other client
	hooks  Hooks
	spares spares
	keeper *keeper
}

// Setting is a part of how a [Client] is.
type Setting func(*Client)

// Name begins the names of the owners, which operators see: "billing" gives "billing:<random>:<number>".
// Without it the name of the connection and the owners is "lock".
func Name(name string) Setting { return func(c *Client) { c.name = name } }

// Hooks are told what becomes of locks, for metrics and logs. Each may be nil; they are called by goroutines
// of the client and must return soon.
type Hooks struct {
	// Acquired: a lock was had, after so long.
	Acquired func(key string, waited time.Duration)
	// Refused: it was not, after so long, for that reason.
	Refused func(key string, waited time.Duration, err error)
	// Released: it was unlocked, having been held for so long.
	Released func(key string, held time.Duration)
	// Lost: it was lost.
	Lost func(lost *LostError)
	// Connected: the connection that vouches for the locks is there (nil), or was lost (why), at last by
	// Close ([ErrClosed]).
	Connected func(err error)
}

func (h *Hooks) connected(err error) {
	if h.Connected != nil {
		h.Connected(err)
	}
}

// Observe has hooks told of everything.
func Observe(hooks Hooks) Setting { return func(c *Client) { c.hooks = hooks } }

// New returns a client that speaks through rdb, which stays the caller's, and says at once if the server
// lacks the native commands ([ErrNotLockserver]) or cannot be reached.
func New(rdb *redis.Client, settings ...Setting) (*Client, error) {
	return NewWith(goRedis{rdb}, settings...)
}

// NewCluster is [New] for the members of a raft group, which look like a cluster. A
// ClusterStateReloadInterval of a second has go-redis find the next leader soon: it is a minute otherwise. A
// member that is asked before there is one has not answered: what could not be done is told as an error, and
// asked again by the caller.
func NewCluster(rdb *redis.ClusterClient, settings ...Setting) (*Client, error) {
	return NewWith(goCluster{rdb}, settings...)
}

// NewWith is [New] for any client library.
func NewWith(server Server, settings ...Setting) (*Client, error) {
	c := &Client{server: server, name: "lock"}
	for _, set := range settings {
		set(c)
	}
	c.name += ":" + strings.ToLower(rand.Text()[:16])
	k, err := newKeeper(c)
	if err != nil {
		return nil, replied(err)
	}
	c.keeper = k
	return c, nil
}

// Close ends the connections of the client, not that of the library. What is still held counts as lost, and
// the server lets go of it at the end of its lease.
func (c *Client) Close() {
	c.keeper.close()
	c.spares.close()
}

// pauses are those between the attempts of a command that may be sent twice.
var pauses = []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond}

// again sends a command that may be sent twice until the server has answered, or often enough.
func (c *Client) again(ctx context.Context, words []string) (any, error) {
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
	}
	for attempt := 0; ; attempt++ {
		reply, err := c.server.Do(ctx, args...)
		if isReply(err) || attempt == len(pauses) || ctx.Err() != nil {
			return reply, replied(err)
		}
		select {
		case <-time.After(pauses[attempt]):
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), err)
		}
	}
}
