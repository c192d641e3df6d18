//go:build oracle

package differential

import (
	"bytes"
	"errors"
	"net"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/testkit"
)

const (
	// quiet is the time without data from Redis after which its answer counts as complete.
	quiet = 200 * time.Millisecond
	// patience is how long lockserver may take for the same amount of data.
	patience = time.Minute
	// pause is the time between the parts of the input.
	pause = 10 * time.Millisecond
)

// rawCase is the input of a client, in one write or in several with pauses between them.
type rawCase struct {
	name  string
	parts []string
	// deviation is the entry of docs/DIFFERENCES.md for a difference, or empty if there must be none.
	deviation string
}

// answer holds the received bytes, and whether the server then closed the connection.
type answer struct {
	bytes  string
	closed bool
}

func (a answer) String() string {
	end := " and stays open"
	if a.closed {
		end = " and closes"
	}
	return strconv.Quote(shorten(a.bytes)) + end
}

func shorten(s string) string {
	if len(s) > 1000 {
		return s[:1000] + "..."
	}
	return s
}

// TestRaw sends invalid commands, and valid ones in unusual forms, over both kinds of transport.
func TestRaw(t *testing.T) { onBothTransports(t, "", rawCases()) }

// TestRawWithPassword does the same to servers with a password.
func TestRawWithPassword(t *testing.T) { onBothTransports(t, "secret", passwordCases()) }

func onBothTransports(t *testing.T, password string, cases []rawCase) {
	p := startPair(t, password)
	t.Run("in process", func(t *testing.T) { p.in(t).compareRaw(cases) })
	t.Run("event loop", func(t *testing.T) {
		on := p.in(t)
		on.ours.dial = startLoops(t, password)
		on.redis.watch = testkit.Dial(t, on.redis.dial)
		if password != "" {
			on.redis.watch.Do("AUTH", password)
		}
		on.redis.watch.Do("FLUSHALL")
		on.compareRaw(cases)
	})
}

// startLoops starts a lockserver like the server program, and returns a function to connect to it.
func startLoops(t *testing.T, password string) func() (net.Conn, error) {
	t.Helper()
	srv, err := server.New(server.Options{Directives: configOf(password).Directives(), EventLoops: true})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return func() (net.Conn, error) { return net.Dial("tcp", srv.Addr().String()) }
}

// atOnce is the number of cases that run at the same time: they mostly wait.
const atOnce = 24

// compareRaw plays the cases on new connections, and compares the answers.
func (p *pair) compareRaw(cases []rawCase) {
	outcomes := make([]outcome, len(cases))
	free := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, c := range cases {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			for _, wait := range []time.Duration{quiet, 5 * quiet, 50 * quiet} { // Redis may be slow on a busy machine
				outcomes[i] = p.playRaw(c, wait)
				if o := outcomes[i]; o.err != nil || c.deviation != "" || masked(o.ours) == masked(o.redis) {
					break
				}
			}
		})
	}
	all.Wait()
	for i, c := range cases {
		p.t.Run(c.name, func(t *testing.T) {
			o := outcomes[i]
			require.NoError(t, o.err)
			a, b := masked(o.ours), masked(o.redis)
			if c.deviation != "" {
				require.NotEqual(t, b, a, "no difference, but it cites %s", c.deviation)
				return
			}
			require.True(t, a == b, "redis:      %s\nlockserver: %s", o.redis, o.ours)
		})
	}
}

// outcome holds the answers of both servers.
type outcome struct {
	ours, redis answer
	err         error
}

// playRaw plays one case on both servers.
func (p *pair) playRaw(c rawCase, quiet time.Duration) (o outcome) {
	if o.redis, o.err = exchange(p.redis.dial, c.parts, quiet, -1); o.err != nil {
		return o
	}
	enough := len(o.redis.bytes)
	if c.deviation != "" {
		enough = -1
	}
	o.ours, o.err = exchange(p.ours.dial, c.parts, quiet, enough)
	return o
}

// masked removes data that may differ: versions and clients' ids in the reply to HELLO.
func masked(a answer) answer {
	a.bytes = regexp.MustCompile(`\$(\d+)\r\n\d+\.\d+\.\d+\r\n`).ReplaceAllString(a.bytes, "<version>")
	a.bytes = regexp.MustCompile(`\$2\r\nid\r\n:\d+\r\n`).ReplaceAllString(a.bytes, "<id>")
	return a
}

// exchange sends the parts on a new connection. It reads until the server closes it, or no data came for a
// while. enough is the expected number of bytes, for which it waits longer, or -1.
func exchange(dial func() (net.Conn, error), parts []string, quiet time.Duration, enough int) (answer, error) {
	conn, err := dial()
	if err != nil {
		return answer{}, err
	}
	defer conn.Close()
	go func() {
		for i, part := range parts {
			if i > 0 {
				time.Sleep(pause)
			}
			if _, err := conn.Write([]byte(part)); err != nil {
				return // the server has closed it: its earlier data is compared
			}
		}
	}()
	var got bytes.Buffer
	buf := make([]byte, 64<<10)
	for {
		wait := quiet + time.Duration(len(parts)-1)*pause
		if got.Len() < enough {
			wait = patience
		}
		if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return answer{}, err
		}
		n, err := conn.Read(buf)
		got.Write(buf[:n])
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return answer{got.String(), false}, nil
		case err != nil: // io.EOF, or a reset by a server that did not read all input
			return answer{got.String(), true}, nil
		}
	}
}
