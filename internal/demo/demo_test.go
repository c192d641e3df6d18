package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/server"
)

// small returns options of a sale that ends in a moment, on its own server.
func small(t *testing.T, so server.Options) (Options, *conn) {
	t.Helper()
	srv, err := server.New(so)
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.Start())
	o := Defaults()
	o.Name, o.Stock, o.Users, o.Connections, o.Workers = "demo-test", 60, 600, 8, 3
	o.Out = new(lockedBuffer)
	o.Dial = func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", srv.Addr().String())
	}
	c, err := connect(context.Background(), o)
	require.NoError(t, err)
	t.Cleanup(c.close)
	return o, c
}

// lockedBuffer can be written by one goroutine and read by another.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// held fails the test unless every check was kept.
func held(t *testing.T, r *Result) {
	t.Helper()
	var out bytes.Buffer
	r.Print(&out)
	require.True(t, r.Holds(), out.String())
	require.Contains(t, out.String(), fmt.Sprintf("\nall %d checks hold\n", len(r.Checks)))
}

// size returns the number of keys.
func size(t *testing.T, c *conn) int64 {
	t.Helper()
	n, err := c.integer("DBSIZE")
	require.NoError(t, err)
	return n
}

func TestEveryPromiseHolds(t *testing.T) {
	t.Parallel()
	for _, so := range []server.Options{{}, {EventLoops: true}} {
		t.Run(fmt.Sprint("event loops ", so.EventLoops), func(t *testing.T) {
			t.Parallel()
			o, c := small(t, so)
			for _, change := range []func(){
				func() {},
				func() { o.Seed = 2 },
				func() { o.Stock, o.Users = 500, 40 }, // more pieces than buyers
				func() { o.Stock, o.Users, o.Connections, o.Workers = 1, 1, 1, 2 },        // the smallest sale
				func() { o.Stock, o.Users, o.Connections, o.Workers = 700, 2_000, 20, 5 }, // more than one page
			} {
				change()
				r, err := Run(t.Context(), o)
				require.NoError(t, err)
				held(t, r)
				require.Equal(t, min(o.Stock, o.Users), r.orders)
				require.Zero(t, size(t, c), "every key is gone")
			}
			require.Contains(t, o.Out.(*lockedBuffer).String(), "killed    worker-")
		})
	}
}

// TestTheSameSeedAsksTheSame: the requests of the users depend only on the seed.
func TestTheSameSeedAsksTheSame(t *testing.T) {
	o := Defaults()
	list := plan(o)
	require.Equal(t, list, plan(o))
	other := o
	other.Seed++
	require.NotEqual(t, list, plan(other))

	seen := make(map[string]bool)
	habits := make(map[habit]int)
	for i, r := range list {
		require.False(t, seen[r.order()], "every order has a number of its own")
		seen[r.order()] = true
		if r.second {
			require.Equal(t, request{user: r.user, habit: clicksTwice}, list[i-1], "side by side")
			continue
		}
		habits[r.habit]++
	}
	for habit, percent := range map[habit]float64{clicksTwice: percentTwice, resends: percentResend, losesAnswer: percentLose} {
		require.InDelta(t, percent, 100*float64(habits[habit])/float64(o.Users), 1)
	}
	require.Equal(t, o.Users+habits[clicksTwice]+habits[resends], requests(list))
	require.Len(t, seen, o.Users+habits[clicksTwice])

	o.Users = 20 * mostLost * 3
	lost := 0
	for _, r := range plan(o) {
		if r.habit == losesAnswer {
			lost++
		}
	}
	require.Equal(t, mostLost, lost, "a machine has only so many ports")
}

func TestKeysThatExistAreLeftAlone(t *testing.T) {
	o, c := small(t, server.Options{})
	s, err := newSale(c, o)
	require.NoError(t, err)
	for _, key := range s.keys() {
		_, err := c.do("SET", key, "mine")
		require.NoError(t, err)
		_, err = Run(t.Context(), o)
		require.EqualError(t, err, fmt.Sprintf("the key %q exists already; nothing was touched", key))
		v, err := c.do("GETDEL", key)
		require.NoError(t, err)
		require.Equal(t, "mine", v.Str)
		require.Zero(t, size(t, c))
	}
	// Another client makes the key just before the sale does.
	_, err = c.do("SET", s.stock, "7")
	require.NoError(t, err)
	require.Error(t, s.open(c, o.Stock))
	require.NoError(t, s.remove(t.Context(), o))
	v, err := c.do("GET", s.stock)
	require.NoError(t, err)
	require.Equal(t, "7", v.Str, "what the sale has not made it does not remove")
}

func TestOtherKeysStay(t *testing.T) {
	t.Parallel()
	o, c := small(t, server.Options{})
	_, err := c.do("SET", "other", "1")
	require.NoError(t, err)
	o.Keep = true
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	held(t, r)
	v, err := c.do("GET", "seckill:stock:"+o.Name)
	require.NoError(t, err)
	require.Equal(t, "0", v.Str, "kept")
	_, err = Run(t.Context(), o)
	require.ErrorContains(t, err, "exists already")

	o.Keep, o.Name = false, "another"
	before := size(t, c)
	_, err = Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, before, size(t, c))
}

func TestInterruptedSaleLeavesNothing(t *testing.T) {
	o, c := small(t, server.Options{})
	o.Users = 50_000
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	dial, dialed := o.Dial, atomic.Int32{}
	o.Dial = func(ctx context.Context) (net.Conn, error) {
		// The demo itself has one connection, the workers have three and the buyers eight. The failing
		// connections come in the middle of the sale.
		if dialed.Add(1) == 1+3+8+10 {
			cancel(stop)
		}
		return dial(ctx)
	}
	_, err := Run(ctx, o)
	require.ErrorIs(t, err, stop)
	require.Zero(t, size(t, c))
}

// The demo detects a server that sells too many pieces.
func TestOversellingIsFoundOut(t *testing.T) {
	t.Parallel()
	o, c := small(t, server.Options{})
	dial := o.Dial
	var mu sync.Mutex // c is one connection
	tampered := false
	o.Dial = func(ctx context.Context) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		if n, err := c.integer("EXISTS", "seckill:stock:"+o.Name); err == nil && n == 1 && !tampered {
			_, err := c.do("INCRBY", "seckill:stock:"+o.Name, "5")
			tampered = err == nil
		}
		return dial(ctx)
	}
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.False(t, r.Holds())
	var out bytes.Buffer
	r.Print(&out)
	require.Contains(t, out.String(), "  FAILED  no more and no less: 65 of 60 pieces were sold\n")
	require.Contains(t, out.String(), "checks FAILED\n")
}

func TestPassword(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Port, c.Save, c.DBFilename, c.RequirePass = 0, nil, "", "secret"
	srv, err := server.New(server.Options{Directives: c.Directives()})
	require.NoError(t, err)
	defer srv.Close()
	require.NoError(t, srv.Start())
	o := Defaults()
	o.Name, o.Stock, o.Users, o.Connections = "demo-test", 5, 20, 2
	o.Dial = func(context.Context) (net.Conn, error) { return srv.Dial() }
	_, err = Run(t.Context(), o)
	require.ErrorContains(t, err, "NOAUTH")
	o.Password = "wrong"
	_, err = Run(t.Context(), o)
	require.ErrorContains(t, err, "WRONGPASS")
	o.Password = "secret"
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	held(t, r)
}

// answering is a server that gives the same reply to every command.
func answering(reply string) Dialer {
	return func(context.Context) (net.Conn, error) {
		client, end := net.Pipe()
		go func() {
			buf := make([]byte, 4096)
			for {
				if _, err := end.Read(buf); err != nil {
					return
				}
				if _, err := end.Write([]byte(reply)); err != nil {
					return
				}
			}
		}()
		return client, nil
	}
}

func TestWhatCannotBePlayed(t *testing.T) {
	o := Defaults()
	o.Dial = func(context.Context) (net.Conn, error) { return nil, net.ErrClosed }
	_, err := Run(t.Context(), o)
	require.ErrorIs(t, err, net.ErrClosed)
	o.Dial = answering("*1\r\n*-1\r\n")
	_, err = Run(t.Context(), o)
	require.ErrorIs(t, err, errNoSales, "a Redis")
	o.Dial = answering("-ERR nothing doing\r\n")
	_, err = Run(t.Context(), o)
	require.EqualError(t, err, "COMMAND: ERR nothing doing")
	o.Dial = answering("HTTP/1.1 400 Bad Request\r\n")
	_, err = Run(t.Context(), o)
	require.ErrorContains(t, err, "malformed reply")

	o = Defaults()
	require.NoError(t, o.Validate())
	for flag, value := range map[string]*int{"stock": &o.Stock, "users": &o.Users, "connections": &o.Connections, "workers": &o.Workers} {
		good := *value
		for _, bad := range []int{-1, 0, 1 << 30} {
			*value = bad
			_, err := Run(t.Context(), o)
			require.ErrorContains(t, err, "--"+flag+" must be between ")
		}
		*value = good
	}
}
