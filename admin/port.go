package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"lockserver/admin/console"
	"lockserver/admin/history"
	"lockserver/commands"
	"lockserver/server"
	"lockserver/server/raft"
)

// Source is a server that a port reports about. *server.Server is one.
type Source interface {
	// Ready returns nil if clients are served, and otherwise the reason in one line.
	Ready() error
	// Alarms are problems for an operator although clients are served, each in one line.
	Alarms() []raft.Alarm
	// Figures returns the figures of the server.
	Figures() server.Figures
	// EachSale visits the sales, until visit returns false.
	EachSale(visit func(db int, s *commands.SaleFigures) bool)
	// DialAudited returns a new connection for commands, like that of a client that has not logged in. The
	// caller audits its commands.
	DialAudited() (net.Conn, error)
	// Permits reports whether a user of the ACL may run a command.
	Permits(user string, command ...string) bool
	// Runs reports whether a user of the ACL may run a command if it names other keys.
	Runs(user string, command ...string) bool
	// DelayedStreams and DelayedTimes are about delayed entries that a user may read: see server.Server.
	DelayedStreams(user string) (list []server.DelayedStream, more bool)
	DelayedTimes(user string, db int, stream, id string, n int) []int64
	// RefusedLimits returns the limiters that refused the most calls and that a user may read.
	RefusedLimits(user string, most int) server.RefusedLimits
	// Directives are the directives that are set, by name: see server.Server.
	Directives() map[string]string
	// NowMS is the time of the server's data, in milliseconds since 1970.
	NowMS() int64
}

// Options say where a port listens.
type Options struct {
	Addr string // host:port; port 0 stands for a free port, which Port.Addr returns
	Log  *slog.Logger
	// Audit gets the actions of users in the console; nil: they only go to Log.
	Audit *slog.Logger
	// AutoLogin logs in requests of this machine to the console as the user default, if that user has no
	// password. It has an effect only while the port listens on a loopback address.
	AutoLogin bool
	// Debug is the content of /debug; nil: there is no /debug.
	Debug *Debug
	// Hosts are names that a request for /metrics may use, besides addresses and names without a dot; "*":
	// any name.
	Hosts []string
}

// The limits of a port. It is for a few programs and people, and other clients must not cost the server
// anything.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	endTimeout    = time.Second // for requests under way when the port closes
	mostHeader    = 16 << 10    // bytes
	mostBody      = 64 << 10    // bytes
)

// Port is one admin port. Make it with Open, end it with Close.
type Port struct {
	shards   []Source // the servers of the process, in the order of their slots; mostly there is one
	options  Options
	log      *slog.Logger
	listener net.Listener
	crowd    *crowd
	http     *http.Server
	served   sync.WaitGroup
	past     history.Book
	closing  chan struct{}
	// begun is when the port was opened, a moment after the process began.
	begun time.Time
}

// Open listens and begins to serve, for a server or for all shards of a cluster. The error says why it
// cannot.
func Open(shards []Source, o Options) (*Port, error) {
	listener, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("admin-port: %w", err)
	}
	crowd := newCrowd(mostRequests, mostProbes)
	p := &Port{shards: shards, options: o, log: o.Log, listener: crowd.limit(listener), crowd: crowd, begun: time.Now(), closing: make(chan struct{})}
	p.http = &http.Server{
		Handler: p.routes(), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: mostHeader, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		ConnState: crowd.moved, ConnContext: crowd.remember,
	}
	p.served.Go(func() {
		if err := p.http.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
			p.log.Error("the admin port has ended", "cause", err)
		}
	})
	p.served.Go(p.remembering)
	return p, nil
}

// Addr returns the address on which the port listens.
func (p *Port) Addr() net.Addr { return p.listener.Addr() }

// Close ends the port. Requests under way have a short time to end. When Close returns no goroutine runs any
// more.
func (p *Port) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	close(p.closing)
	if p.http.Shutdown(ctx) != nil {
		_ = p.http.Close()
	}
	p.served.Wait()
}

// routes returns the handler for all paths of the port.
func (p *Port) routes() http.Handler {
	others := http.NewServeMux()
	others.Handle("/", p.console())
	others.Handle("GET /metrics", p.asked(metricsHandler(p.shards, p.log)))
	if d := p.options.Debug; d != nil {
		others.Handle("GET /debug/", p.asked(p.debug(d)))
	}
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", p.crowd.probe(p.healthz))
	mux.Handle("GET /readyz", p.crowd.probe(p.readyz))
	mux.Handle("/", p.crowd.request(others))
	return bounded(mux)
}

// bounded limits the size of a request, and sets the headers that every reply has.
func bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, mostBody)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		h.ServeHTTP(w, r)
	})
}

// console is the handler of the pages for people.
func (p *Port) console() *console.Console {
	backends := make([]console.Backend, len(p.shards))
	for i, s := range p.shards {
		backends[i] = s
	}
	c := console.New(backends, &p.past, p.log)
	c.Audit = p.options.Audit
	c.AutoLogin = p.AutoLogin()
	return c
}

// AutoLogin reports whether the console logs in requests of this machine without a password.
func (p *Port) AutoLogin() bool {
	addr, ok := p.Addr().(*net.TCPAddr)
	return p.options.AutoLogin && ok && addr.IP.IsLoopback()
}

// asked refuses requests with a host name that may belong to a foreign page. The owner of a name in the DNS
// can make it resolve to this machine. Then a page of that name, in a browser on this machine, could read the
// answer. Addresses, and names without a dot, have no such owner.
func (p *Port) asked(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := console.HostName(r)
		_, err := netip.ParseAddr(name)
		known := func(host string) bool { return host == "*" || strings.EqualFold(host, name) }
		if err != nil && strings.Contains(name, ".") && !slices.ContainsFunc(p.options.Hosts, known) {
			tell(w, http.StatusForbidden, "ask by an address, or add this name to admin-hosts")
			return
		}
		h.ServeHTTP(w, r)
	})
}
