package runner

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"

	"lockserver/internal/call"
	"lockserver/internal/resp"
)

// link is a connection. Replies come in the order of the commands, and pushes between them go to pushed.
type link struct {
	nc     net.Conn
	pushed func(resp.Value)

	mu      sync.Mutex
	pending []chan answer // commands that wait for their replies
	broken  error         // nil: no error so far
}

type answer struct {
	value resp.Value
	err   error
}

func newLink(nc net.Conn, pushed func(resp.Value)) *link {
	l := &link{nc: nc, pushed: pushed}
	go l.read()
	return l
}

func (l *link) read() {
	in := bufio.NewReader(l.nc)
	for {
		v, err := resp.ReadValue(in)
		if err != nil {
			l.close(err)
			return
		}
		if v.Kind == resp.Push {
			l.pushed(v)
			continue
		}
		l.mu.Lock()
		var first chan answer
		if len(l.pending) > 0 {
			first, l.pending = l.pending[0], l.pending[1:]
		}
		l.mu.Unlock()
		if first == nil {
			l.close(errors.New("a reply without a command"))
			return
		}
		first <- answer{v, call.Failure(v)}
	}
}

// close ends the connection and all calls that are waiting on it.
func (l *link) close(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return
	}
	l.broken = why
	_ = l.nc.Close()
	for _, p := range l.pending {
		p <- answer{err: why}
	}
	l.pending = nil
}

// do sends a command and returns its reply. An error that is not a [call.Error] concerns the connection,
// which is then closed. That also happens if ctx ends first.
func (l *link) do(ctx context.Context, words ...string) (resp.Value, error) {
	out := resp.AppendArray(nil, len(words))
	for _, word := range words {
		out = resp.AppendBulk(out, word)
	}
	came := make(chan answer, 1)
	l.mu.Lock()
	if l.broken != nil {
		l.mu.Unlock()
		return resp.Value{}, l.broken
	}
	l.pending = append(l.pending, came)
	l.mu.Unlock()
	go func() {
		if _, err := l.nc.Write(out); err != nil {
			l.close(err)
		}
	}()
	select {
	case a := <-came:
		return a.value, a.err
	case <-ctx.Done():
		l.close(context.Cause(ctx))
		return resp.Value{}, context.Cause(ctx)
	}
}
