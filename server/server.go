package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/persistence/disk"
	"lockserver/store"
)

// Options say what a server is like. The zero value is a server for tests: it listens on a free port of
// 127.0.0.1, reads and writes no files, and logs nothing.
type Options struct {
	// Config holds the directives; nil: the defaults, on a free port, without snapshots.
	// The server keeps its own copy.
	Config *config.Config
	// ConfigFile is where CONFIG REWRITE writes to; empty: nowhere.
	ConfigFile string
	// EventLoops serves TCP and unix sockets from event loops, which cost less CPU a request. Otherwise every
	// connection has goroutines of its own. The server program sets it.
	EventLoops bool
	// Listener is served in addition to what Config says; Close closes it. A TLS listener is one.
	Listener net.Listener
	// Log takes what an operator should know; nil: nothing is logged.
	Log *slog.Logger
	// Progress takes a line every two seconds of a load that takes long; nil: these lines go to Log.
	Progress io.Writer
	// LogLevel is set to what the directive loglevel says, now and by CONFIG SET;
	// nil: the log has its own level.
	LogLevel *slog.LevelVar
	// Clock is what leases and deadlines go by; nil: the machine's. See ManualClock.
	Clock Clock
	// Seed makes what is random repeatable (RANDOMKEY, SPOP, ...); 0: a different one each time.
	Seed uint64
	// Journal takes the effects of every unit; nil: they are not recorded.
	Journal Journal
	// Version is what INFO and HELLO call this build; empty: "dev".
	Version string
}

// Server is one lockserver. Make it with New, start it with Start, end it with Close or Shutdown.
type Server struct {
	executor
	opts      Options
	log       *slog.Logger
	config    *config.Config
	settings  settings
	startedUS int64
	runID     string
	// decoderLimits are what every session's decoder has to obey, from the next read on.
	decoderLimits atomic.Pointer[resp.Limits]
	// coalesceUS is the directive io-coalesce-usec, which event loops read once a round.
	coalesceUS atomic.Int64

	// The fields down to the next blank line are only touched under the executor's lock.
	clients      map[int64]*session
	lastID       int64
	stats        stats
	snapshots    snapshots
	aof          *journal // nil: appendonly is off
	rewrites     rewrites
	loading      *loading // nil: the data is there
	idSecond     int64    // the highest of RisingSecond
	own          *claim   // of config.Dir; nil: nothing may be written there
	left         []*claim // of directories that are still written to
	ending       bool     // Close was called: no further command runs
	expiryPaused bool     // DEBUG SET-ACTIVE-EXPIRE 0
	housekeeping timer

	gate  gate    // has its own lock
	files disk.FS // where the append-only log is, and the locks are

	life      sync.Mutex
	state     lifeState
	loops     *loops
	listeners []net.Listener
	conns     map[net.Conn]struct{} // those that are not on an event loop
	addr      net.Addr
	refusals  refusals // has its own lock
	group     sync.WaitGroup
	stopTick  chan struct{}
	done      chan struct{}
	exitCode  int
	stopOnce  sync.Once
}

type lifeState uint8

const (
	stateNew lifeState = iota
	stateLoading
	stateRunning
	stateFailed // Start returned an error
	stateClosed
)

// settings are directives in the form in which the hot path uses them. They change
// only under the executor's lock.
type settings struct {
	keepAlive time.Duration
	output    [clientClasses]outputLimit
}

// stats are counts since the start, or since CONFIG RESETSTAT.
type stats struct {
	connections int64 // accepted
	refused     int64 // by maxclients
	errors      int64 // error replies
}

var (
	// errClosed is returned by Start and Shutdown of a server that has ended, and by a second Start.
	errClosed = errors.New("server: closed")
	// errNotRunning is returned by Dial.
	errNotRunning = errors.New("server: not running")
)

// New returns a server with empty databases; it neither listens nor loads anything until Start. The error
// says what is wrong with the options.
func New(o Options) (*Server, error) {
	if o.Config == nil {
		o.Config = config.Default()
		o.Config.Port = 0
		o.Config.Save = nil
		o.Config.DBFilename = ""
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = newSystemClock()
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	srv := &Server{
		opts: o, log: o.Log, config: o.Config.Clone(), files: disk.OS{},
		clients: make(map[int64]*session), conns: make(map[net.Conn]struct{}),
		stopTick: make(chan struct{}), done: make(chan struct{}),
	}
	dir, err := filepath.Abs(srv.config.Dir)
	if err != nil {
		return nil, fmt.Errorf("dir '%s': %w", srv.config.Dir, err)
	}
	srv.config.Dir = dir // an embedding program may change its own later
	ex := &srv.executor
	ex.clock, ex.host, ex.journal = o.Clock, srv, o.Journal
	ex.rand = rand.New(rand.NewPCG(o.Seed, o.Seed>>1|1))
	ex.table = sharedTable()
	ex.calls = make([]int64, ex.table.Size())
	ex.plain = plainnessOf(ex.table)
	ex.store = store.New(srv.config.Databases, store.Limits{})
	ex.store.Record(o.Journal != nil)
	ex.parking = newParking(srv.config.Databases, &ex.timers)
	ex.watching = newWatching(srv.config.Databases)
	ex.pubsub = newPubSub()
	ex.scripts = newScripting()
	ex.scripts.busy.over = sync.NewCond(&ex.mu)
	ex.tracking = newTracking()
	ex.events.executor = ex
	ex.watchdog.open(srv.config.Databases)
	ex.store.SetFollower(&ex.watchdog)
	ex.poke = make(chan struct{}, 1)
	srv.runID = fmt.Sprintf("%016x%016x%08x", ex.rand.Uint64(), ex.rand.Uint64(), ex.rand.Uint32())
	srv.applyConfig()
	ex.store.SetNow(ex.clock.NowUS())
	return srv, nil
}

// sharedTable holds every command: those on data, and the server's own. It never changes, so
// all servers of a process have one.
var sharedTable = sync.OnceValue(func() *commands.Table {
	return commands.NewTable(append(commands.Families(), serverRows()...)...)
})

// Start binds the addresses, loads what is on disk, the append-only log or the snapshot, and begins to serve;
// it returns when the data is there. Until then clients can connect, and are told -LOADING.
func (srv *Server) Start() error {
	if err := srv.bind(); err != nil {
		return err
	}
	err := srv.load()
	srv.life.Lock()
	closed := srv.state == stateClosed // meanwhile; Close sees to everything
	if !closed && err == nil {
		srv.state = stateRunning
		srv.startTime()
	}
	srv.life.Unlock()
	srv.group.Done()
	switch {
	case closed:
		return errClosed
	case err != nil:
		srv.tearDown()
	}
	return err
}

// bind makes clients able to connect. The server is loading from then on.
func (srv *Server) bind() error {
	srv.life.Lock()
	defer srv.life.Unlock()
	if srv.state != stateNew {
		return errClosed
	}
	srv.startedUS = srv.clock.NowUS()
	srv.state = stateFailed // the data may be half loaded: it must be neither served nor saved
	srv.mu.Lock()
	srv.loading = &loading{startedUS: srv.startedUS}
	srv.mu.Unlock()
	if err := srv.listen(); err != nil {
		srv.closeListeners()
		return err
	}
	srv.state = stateLoading
	srv.group.Add(1) // Close waits for the load to give up
	return nil
}

// startTime lets deadlines fall due: on a goroutine, or when the test moves its clock.
func (srv *Server) startTime() {
	if manual, ok := srv.clock.(*ManualClock); ok {
		manual.attach(&srv.executor)
		return
	}
	srv.group.Go(func() { srv.tick(srv.stopTick) })
}

// Addr returns the address of the first TCP listener, or of the unix socket if there
// is no other; nil before Start.
func (srv *Server) Addr() net.Addr {
	srv.life.Lock()
	defer srv.life.Unlock()
	return srv.addr
}

// Dial returns a new connection to the server that needs no port; it fails before Start and after
// Close. It fits go-redis' Dialer option.
func (srv *Server) Dial() (net.Conn, error) {
	client, end := pipe()
	if !srv.goServe(end) {
		return nil, errNotRunning
	}
	return client, nil
}

// Done is closed when the server has ended, by SHUTDOWN or by a call.
func (srv *Server) Done() <-chan struct{} { return srv.done }

// ExitCode is what the process should exit with after Done: 0, or 1 after a failure.
func (srv *Server) ExitCode() int {
	srv.life.Lock()
	defer srv.life.Unlock()
	return srv.exitCode
}

// Close ends the server at once, without saving: connections are closed, and everything it started has ended
// when Close returns. It may be called more than once.
func (srv *Server) Close() error {
	srv.life.Lock()
	was := srv.state
	srv.state = stateClosed
	srv.life.Unlock()
	if was == stateClosed {
		<-srv.done
		return nil
	}
	srv.scripts.stop.Store(true)
	if manual, ok := srv.clock.(*ManualClock); ok {
		manual.detach(&srv.executor)
	}
	close(srv.stopTick)
	srv.tearDown()
	close(srv.done)
	return nil
}

// tearDown ends everything that runs, and closes the log, which is then on disk to its end.
func (srv *Server) tearDown() {
	srv.life.Lock()
	if srv.state != stateClosed {
		srv.state = stateFailed
	}
	srv.life.Unlock()
	srv.hurry()
	srv.closeListeners()
	srv.life.Lock()
	for nc := range srv.conns {
		cut(nc)
	}
	srv.life.Unlock()
	srv.group.Wait()
	srv.mu.Lock()
	j, own := srv.aof, srv.own
	srv.aof, srv.own = nil, nil
	srv.releaseLeft()
	srv.mu.Unlock()
	if j != nil {
		if err := j.log.Close(); err != nil {
			srv.log.Error("the append-only file could not be closed", "cause", err)
		}
	}
	if own != nil { // last: another server may begin at once
		_ = own.release()
	}
}

// requestStop ends the server from inside a command; code becomes the exit code.
func (srv *Server) requestStop(code int) {
	srv.stopOnce.Do(func() {
		go func() {
			srv.life.Lock()
			srv.exitCode = code
			srv.life.Unlock()
			_ = srv.Close()
		}()
	})
}
