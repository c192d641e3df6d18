//go:build !linux

package transport

import (
	"crypto/tls"
	"errors"
	"net"
)

// HasLoops reports whether this system has event loops. On this system every connection has goroutines of
// its own, as with Addresses.Loops 0 on Linux.
const HasLoops = false

// Loop is an event loop. On this system a *Loop is always nil.
type Loop struct{}

// FlushAtEnd is never called.
func (*Loop) FlushAtEnd(Flusher) {}

// loops are never made.
type loops struct{ closers []func() }

func listenLoops(*Endpoint, []net.Listener, int) (*loops, error) {
	return nil, errors.ErrUnsupported
}

func (*loops) take(net.Listener) (closer func(), err error) { return nil, errors.ErrUnsupported }
func (*loops) adopt(*tls.Conn, *carriage) bool              { return false }
func (*loops) stop()                                        {}
