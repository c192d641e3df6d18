package admin

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// The limits of connections. Requests other than probes are at most mostRequests at a time. So at least
// mostProbes connections can always be replaced.
const (
	mostRequests = 64
	mostProbes   = 16
	mostConns    = mostRequests + mostProbes
)

// crowd holds the connections of a port. A connection is served while it has one of the places for requests.
// Otherwise it is idle: it has sent nothing, or a part of a request, or a probe, which takes a moment. If
// there are too many connections, a new connection replaces the one that has been idle for longest. So
// clients that only hold connections do not block other clients, and no number of requests blocks probes.
type crowd struct {
	most   int
	places chan struct{} // one for each connection that is served; fewer than most

	mu sync.Mutex
	// idle has the open connections, and since when each is idle; zero: it is served.
	idle map[net.Conn]time.Time
}

// newCrowd returns a crowd with places for a number of requests, and for probes connections beside them.
// Both numbers are above 0.
func newCrowd(requests, probes int) *crowd {
	return &crowd{most: requests + probes, places: make(chan struct{}, requests), idle: make(map[net.Conn]time.Time)}
}

// enter adds a connection. If there are too many, it replaces another connection.
func (c *crowd) enter(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) >= c.most {
		var oldest net.Conn
		for conn, since := range c.idle {
			if !since.IsZero() && (oldest == nil || since.Before(c.idle[oldest])) {
				oldest = conn
			}
		}
		delete(c.idle, oldest)
		_ = oldest.Close()
	}
	c.idle[conn] = time.Now()
}

// mark records since when a connection is idle; zero: it is served. A connection that has been replaced is
// not added again.
func (c *crowd) mark(conn net.Conn, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, is := c.idle[conn]; is {
		c.idle[conn] = since
	}
}

// moved is the ConnState of an http.Server.
func (c *crowd) moved(conn net.Conn, to http.ConnState) {
	switch to {
	case http.StateIdle:
		c.mark(conn, time.Now())
	case http.StateClosed, http.StateHijacked:
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.idle, conn)
	}
}

// connKey is the key of a connection in the context of its requests.
type connKey struct{}

// remember is the ConnContext of an http.Server.
func (c *crowd) remember(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// probe serves requests that take a moment.
func (c *crowd) probe(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _ := r.Context().Value(connKey{}).(net.Conn)
		c.mark(conn, time.Now())
		h(w, r)
	})
}

// request serves requests for which there are places.
func (c *crowd) request(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case c.places <- struct{}{}:
		default:
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "1")
			tell(w, http.StatusServiceUnavailable, "too many requests at a time")
			return
		}
		conn, _ := r.Context().Value(connKey{}).(net.Conn)
		c.mark(conn, time.Time{})
		defer func() {
			c.mark(conn, time.Now())
			<-c.places
		}()
		h.ServeHTTP(w, r)
	})
}

// limit returns a listener that adds its connections to the crowd.
func (c *crowd) limit(l net.Listener) net.Listener { return crowdListener{l, c} }

type crowdListener struct {
	net.Listener
	crowd *crowd
}

// Accept implements net.Listener.
func (l crowdListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.crowd.enter(conn)
	}
	return conn, err
}
