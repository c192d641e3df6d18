package client

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

// Server is how a [Client] reaches a lockserver: by some client library. Its methods may be called from any
// goroutine. The one for rueidis is in tests/clients/go/rueidis_adapter_test.go, to be copied.
type Server interface {
	// Do sends a command over any connection and returns its reply: an int64, a string, a []any, another
	// value that the library makes of it, or nil for a null. A reply that is an error is a [ReplyError],
	// possibly wrapped; any other error says that the command may have been done or not. It may send a
	// command again, except GUARD: its command may be one that must not run twice. It should return
	// soon after the end of ctx; the client's calls do not wait for it. No command that it is given waits.
	Do(ctx context.Context, args ...any) (any, error)
	// Dial opens a connection that is the caller's alone, encrypted if need be, and returns it before
	// anything was sent. It must return when ctx ends.
	Dial(ctx context.Context) (net.Conn, Login, error)
}

// Login is how a connection begins. An empty Password: without logging in.
type Login struct {
	User, Password string
	Database       int
}

// ReplyError is an error that the server replied, with its whole text: "NOPERM ...".
type ReplyError string

func (e ReplyError) Error() string { return string(e) }

// goRedis is the Server that a client of go-redis makes.
type goRedis struct{ rdb *redis.Client }

// Do implements Server.
func (g goRedis) Do(ctx context.Context, args ...any) (any, error) { return send(ctx, g.rdb, args) }

// Dial implements Server.
func (g goRedis) Dial(ctx context.Context) (net.Conn, Login, error) {
	return dial(ctx, g.rdb.Options())
}

// goCluster is the Server that a client of a cluster makes if one node has all slots.
type goCluster struct{ rdb *redis.ClusterClient }

// Do implements Server.
func (g goCluster) Do(ctx context.Context, args ...any) (any, error) { return send(ctx, g.rdb, args) }

// Dial implements Server.
func (g goCluster) Dial(ctx context.Context) (net.Conn, Login, error) {
	g.rdb.ReloadState(ctx) // in the background: if this one leads no more, the next call knows who does
	leader, err := g.rdb.MasterForKey(ctx, "any")
	if err != nil {
		return nil, Login{}, err
	}
	return dial(ctx, leader.Options())
}

// send is Server.Do by go-redis.
func send(ctx context.Context, by interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}, args []any) (any, error) {
	cmd := redis.NewCmd(ctx, args...)
	if args[0] == guard {
		_ = by.Process(ctx, once{cmd})
	} else {
		_ = by.Process(ctx, cmd)
	}
	reply, err := cmd.Result()
	var replied redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case errors.As(err, &replied):
		return nil, ReplyError(replied.Error())
	}
	return reply, err
}

// once is a command that go-redis does not send again.
type once struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (once) NoRetry() bool { return true }

// dial is Server.Dial by the options of go-redis.
func dial(ctx context.Context, o *redis.Options) (net.Conn, Login, error) {
	login := Login{User: o.Username, Password: o.Password, Database: o.DB}
	switch {
	case o.CredentialsProviderContext != nil:
		user, password, err := o.CredentialsProviderContext(ctx)
		if err != nil {
			return nil, Login{}, err
		}
		login.User, login.Password = user, password
	case o.CredentialsProvider != nil:
		login.User, login.Password = o.CredentialsProvider()
	}
	nc, err := o.Dialer(ctx, o.Network, o.Addr)
	return nc, login, err
}
