//go:build netns

package vanish

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// lan is a network of hosts that all reach each other. Each pair of hosts has its own link, with two
// directions.
type lan struct {
	hosts []*host
	ways  [][]*direction // from a host to another
	heard atomic.Pointer[func(from, to int, b []byte)]
}

// listen calls f for each packet that is delivered.
func (l *lan) listen(f func(from, to int, b []byte)) { l.heard.Store(&f) }

// address returns the address of a host.
func address(i int) string { return fmt.Sprint("10.92.0.", i+1) }

// newLAN creates hosts, which are removed at the end of the test.
func newLAN(t *testing.T, hosts int) *lan {
	t.Helper()
	l := &lan{}
	for i := range hosts {
		l.hosts = append(l.hosts, newHost(t, fmt.Sprint("h", i), address(i)+"/24"))
		l.ways = append(l.ways, nil)
		for range hosts {
			l.ways[i] = append(l.ways[i], new(direction))
		}
	}
	for i := range hosts {
		go l.carry(i)
	}
	return l
}

// carry takes packets from a host to their destination. The last byte of an address is the number of the
// host.
func (l *lan) carry(from int) {
	var late []chan packet
	for to, h := range l.hosts {
		late = append(late, l.ways[from][to].begin(h.device))
		defer close(late[to])
	}
	const version, destination = 0, 19 // offsets in an IPv4 header
	receive(l.hosts[from].device, func(b []byte) {
		if len(b) <= destination || b[version]>>4 != 4 {
			return
		}
		if to := int(b[destination]) - 1; to >= 0 && to < len(late) {
			if f := l.heard.Load(); f != nil && !l.ways[from][to].cut.Load() {
				(*f)(from, to, b)
			}
			l.ways[from][to].put(late[to], b)
		}
	})
}

// cut cuts the way from one host to another, or mends it.
func (l *lan) cut(from, to int, is bool) { l.ways[from][to].cut.Store(is) }

// mend mends all ways.
func (l *lan) mend() {
	for _, ways := range l.ways {
		for _, d := range ways {
			d.cut.Store(false)
			d.delayMS.Store(0)
			d.lostInPct.Store(0)
		}
	}
}

// connect connects from a host to a server on another.
func (l *lan) connect(from, to int) (nc net.Conn, err error) {
	bad := l.hosts[from].enter(func() { nc, err = net.DialTimeout("tcp", address(to)+":6379", time.Second) })
	if bad != nil {
		return nil, bad
	}
	return nc, err
}
