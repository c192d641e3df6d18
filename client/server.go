package client

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

// Server is the connection of a [Client] to a lockserver, by some client library. Its methods may be called
// from any goroutine. tests/clients/go/rueidis_adapter_test.go has a Server for rueidis, to be copied.
type Server interface {
	// Do sends a command over any connection and returns its reply: an int64, a string, a []any, another
	// value of the library, or nil for a null. A reply that is an error is a [ReplyError], possibly wrapped.
	// Any other error means that the command may have been done or not. Do may send a command again, except
	// GUARD, because the guarded command may be one that must not run twice. It should return soon after the
	// end of ctx; the client's calls do not wait for it. It is never given a command that waits.
	Do(ctx context.Context, args ...any) (any, error)
	// Dial opens a connection that only the caller uses, encrypted if need be. It returns the connection
	// before anything was sent. It must return when ctx ends.
	Dial(ctx context.Context) (net.Conn, Login, error)
}

// Cluster is a [Server] with several shards. [NewWith] uses these methods of a Server that has them. Do sends
// a command to the shard of its keys, and follows redirections. Dial is not called.
type Cluster interface {
	Server
	// Owner returns the address of the shard that serves a key, as far as the library knows. It is asked once
	// for each slot, and again after Refresh.
	Owner(ctx context.Context, key string) (addr string, err error)
	// DialTo is Dial to a shard, at an address that Owner has returned or a redirection has named.
	DialTo(ctx context.Context, addr string) (net.Conn, Login, error)
	// Refresh says that the answers of Owner may be old. It returns at once.
	Refresh()
}

// Login is the login of a new connection. An empty Password: no login.
type Login struct {
	User, Password string
	Database       int
}

// ReplyError is an error reply of the server, with its whole text: "NOPERM ...".
type ReplyError string

func (e ReplyError) Error() string { return string(e) }

// goRedis is the Server for a client of go-redis.
type goRedis struct{ rdb *redis.Client }

// Do implements Server.
func (g goRedis) Do(ctx context.Context, args ...any) (any, error) { return send(ctx, g.rdb, args) }

// Dial implements Server.
func (g goRedis) Dial(ctx context.Context) (net.Conn, Login, error) {
	return dial(ctx, g.rdb.Options())
}

// goCluster is the Server for a cluster client of go-redis.
type goCluster struct{ rdb *redis.ClusterClient }

// Do implements Server.
func (g goCluster) Do(ctx context.Context, args ...any) (any, error) { return send(ctx, g.rdb, args) }

// Dial implements Server.
func (g goCluster) Dial(ctx context.Context) (net.Conn, Login, error) { return g.DialTo(ctx, "") }

// Owner implements Cluster.
func (g goCluster) Owner(ctx context.Context, key string) (string, error) {
	master, err := g.rdb.MasterForKey(ctx, key)
	if err != nil {
		return "", err
	}
	return master.Options().Addr, nil
}

// DialTo implements Cluster. All nodes are reached in the same way.
func (g goCluster) DialTo(ctx context.Context, addr string) (net.Conn, Login, error) {
	any, err := g.rdb.MasterForKey(ctx, "any")
	if err != nil {
		return nil, Login{}, err
	}
	o := *any.Options()
	if addr != "" {
		o.Addr = addr
	}
	return dial(ctx, &o)
}

// Refresh implements Cluster.
func (g goCluster) Refresh() { g.rdb.ReloadState(context.Background()) }

// firstKey returns the index of the first key among the words of a command. A library that does not know the
// command takes its second word for the key, and is redirected.
func firstKey(args []any) int {
	switch args[0] {
	case "MLOCK", "MUNLOCK", "LIMIT.MTAKE", "XGROUP":
		return 2
	case "EVAL":
		return 3
	case "SECKILL.CART":
		return 4
	}
	return 1
}

// send is Server.Do by go-redis.
func send(ctx context.Context, by interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}, args []any) (any, error) {
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetFirstKeyPos(int8(firstKey(args)))
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

// guard is the command that must be sent only once.
const guard = "GUARD"
