package server

import (
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"net"
	"path/filepath"
	"sync"
	"time"

	"lockserver/internal/config"
	"lockserver/persistence"
	"lockserver/persistence/disk"
	"lockserver/server/acl"
	"lockserver/server/clock"
	"lockserver/server/cluster"
	"lockserver/server/durability"
	"lockserver/server/groups"
	"lockserver/server/memory"
	"lockserver/server/raft"
	"lockserver/server/script"
	"lockserver/server/shard"
	"lockserver/server/topology"
	"lockserver/server/transport"
	"lockserver/server/watching"
)

// instance is the whole of one server: the executor, its time, its connections, and what their life is.
type instance struct {
	executor executor
	endpoint *transport.Endpoint // all connections

	life     sync.Mutex
	state    lifeState
	group    sync.WaitGroup
	stopTick chan struct{}
	done     chan struct{}
	exitCode int
	stopOnce sync.Once
}

type lifeState uint8

const (
	stateNew lifeState = iota
	stateLoading
	stateRunning
	stateFailed // Start returned an error
	stateClosed
)

// errNotRunning is returned by Dial.
var errNotRunning = errors.New("server: not running")

// newInstance returns a server with empty databases.
func newInstance(o Options) (*instance, error) { return newOn(disk.OS{}, o) }

// newOn is newInstance with the log and the locks of directories on a file system, which a test may own.
func newOn(files disk.FS, o Options) (*instance, error) {
	c, err := o.config()
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := testable(&o, c); err != nil {
		return nil, err
	}
	srv := &instance{
		stopTick: make(chan struct{}), done: make(chan struct{}),
	}
	switch {
	case c.TestMode:
		if o.Clock == nil { // of a server that is no shard
			o.Clock = clock.NewAdjustable()
		}
		test := newTestMode(&srv.executor, c)
		if srv.executor.hook = test; test.group != nil {
			o.Group = test.group.Topology
		}
	case o.Clock == nil:
		o.Clock = clock.NewSystem()
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if err := fitCluster(&o, c); err != nil {
		return nil, err
	}
	if err := srv.executor.setUp(o, c, files, srv); err != nil {
		return nil, err
	}
	srv.endpoint = transport.NewEndpoint(acceptor{&srv.executor}, o.Log)
	return srv, nil
}

// Start is Server.Start.
func (srv *instance) Start() error {
	if err := srv.open(); err != nil {
		return err
	}
	return srv.serve(nil)
}

// open makes clients able to connect. Their commands wait for serve, which must follow if there is no error.
func (srv *instance) open() error {
	if err := srv.executor.loadUsers(); err != nil {
		return err
	}
	if m := srv.executor.Member; m != nil {
		m.ShowKeptUsers()
	}
	if err := srv.bind(); err != nil {
		srv.executor.logUnbound(err)
		return err
	}
	return nil
}

// serve loads the data and begins to serve. With an error that came between, it ends what open has begun.
func (srv *instance) serve(err error) error {
	if err == nil {
		srv.executor.Logger.Info("Server initialized")
		srv.executor.shutdown.enter(PhaseListening)
		err = srv.executor.load()
	} else {
		srv.executor.Mu.Unlock()
	}
	if err == nil {
		err = srv.executor.startMember()
	}
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

// logUnbound logs that clients cannot connect, as Redis does.
func (ex *executor) logUnbound(err error) {
	var at *transport.ListenError
	if !errors.As(err, &at) {
		return
	}
	_, port, err := net.SplitHostPort(at.Addr)
	if err != nil {
		port = "0" // a unix socket
	}
	ex.Logger.Error("Failed listening on port " + port + " (" + at.Network + "), aborting.")
}

// bind makes clients able to connect. The server is loading from then on. The executor stays locked, for
// load: the first commands wait for a load that is short, and get no -LOADING. After an error it is not
// locked.
func (srv *instance) bind() (err error) {
	srv.life.Lock()
	defer srv.life.Unlock()
	if srv.state != stateNew {
		return errClosed
	}
	nowUS := srv.executor.Clock.NowUS()
	srv.executor.uptime = clock.Start(srv.executor.opts.Clock)
	srv.state = stateFailed // the data may be half loaded: it must be neither served nor saved
	srv.executor.Mu.Lock()
	defer func() {
		if err != nil {
			srv.executor.Mu.Unlock()
		}
	}()
	srv.executor.Waits.LockEvents.Ring.Restart(nowUS, "start")
	tellRole(&srv.executor)
	srv.executor.Durable.BeginLoad(nowUS)
	if err := srv.listen(); err != nil {
		return err
	}
	srv.tellPlace()
	if t := testOf(&srv.executor); t != nil {
		t.begun = asNew{srv.executor.config, srv.port()}
	}
	srv.state = stateLoading
	srv.group.Add(1) // Close waits for the load to give up
	return nil
}

// addresses are where the directives and the options say that clients come from. The error says what is
// wrong with a certificate.
func (srv *instance) addresses() (transport.Addresses, error) {
	ex := &srv.executor
	c, o := ex.config, &ex.opts
	a := transport.Addresses{Port: c.Port, UnixSocket: c.UnixSocket, UnixSocketPerm: c.UnixSocketPerm, Listener: o.Listener}
	if c.ListensTCP() {
		a.Bind = c.Bind
	}
	if o.EventLoops {
		a.Loops = c.IOThreads
	}
	if c.TLS.Port != 0 {
		if err := ex.encryption.Configure(&c.TLS); err != nil {
			return a, fmt.Errorf("could not encrypt port %d: %w", c.TLS.Port, err)
		}
	}
	a.Secure = ex.secure(c)
	return a, nil
}

// startTime lets deadlines fall due: on a goroutine, or when the test moves its clock.
func (srv *instance) startTime() {
	if manual, ok := srv.executor.Clock.(*clock.Manual); ok {
		clock.Attach(manual, &srv.executor.Ticker)
		return
	}
	if adjustable, ok := srv.executor.Clock.(*clock.Adjustable); ok {
		adjustable.Attach(&srv.executor.Ticker)
	}
	srv.group.Go(func() { srv.executor.Ticker.Run(srv.stopTick) })
}

// Addr is Server.Addr.
func (srv *instance) Addr() net.Addr { return srv.endpoint.Addr() }

// SecureAddr is Server.SecureAddr.
func (srv *instance) SecureAddr() net.Addr { return srv.endpoint.SecureAddr() }

// Dial is Server.Dial.
func (srv *instance) Dial() (net.Conn, error) {
	conn, err := srv.endpoint.Dial()
	if err != nil {
		return nil, errNotRunning
	}
	return conn, nil
}

// NowMS is Server.NowMS.
func (srv *instance) NowMS() int64 { return srv.executor.Clock.NowUS() / 1000 }

// DialAudited is Server.DialAudited.
func (srv *instance) DialAudited() (net.Conn, error) {
	conn, err := srv.endpoint.DialAudited()
	if err != nil {
		return nil, errNotRunning
	}
	return conn, nil
}

// The reasons for which a server is not ready.
var (
	errLoading  = errors.New("loading the data")
	errStopping = errors.New("stopping")
	errBusy     = errors.New("busy: one command has kept all others waiting for a second")
	errDamaged  = errors.New("a command failed in the middle of a change: the data may be damaged, nothing is served")
)

// Ready is Server.Ready.
func (srv *instance) Ready() error {
	srv.life.Lock()
	state := srv.state
	srv.life.Unlock()
	ex := &srv.executor
	switch {
	case state == stateNew, state == stateFailed:
		return errNotRunning
	case state == stateLoading:
		return errLoading
	case state == stateClosed, ex.shutdown.stopping.Load():
		return errStopping
	}
	for begun := time.Now(); !ex.Mu.TryLock(); time.Sleep(time.Millisecond) {
		if ex.shutdown.stopping.Load() {
			return errStopping
		}
		if time.Since(begun) > time.Second {
			return errBusy
		}
	}
	defer ex.Mu.Unlock()
	switch {
	case ex.shutdown.ended():
		return errStopping
	case ex.Failed != nil:
		return errDamaged
	}
	if err := (groupView{ex}).notInTouch(); err != nil {
		return err
	}
	return ex.Durable.RefusesWrites()
}

// notInTouch is why a member of a group is not ready to serve, or to send clients on.
func (of groupView) notInTouch() error {
	m := of.Member
	switch {
	case m == nil || m.Serves():
		return nil
	case m.Failed() != nil:
		return fmt.Errorf("stopped as a member of the raft group: %w", m.Failed())
	case m.Rebuilding():
		return errLoading
	case m.Undecided() != nil:
		return m.Undecided()
	}
	if _, ok := m.Leader(); !ok {
		return m.Unknowing()
	}
	return nil
}

// Done is Server.Done.
func (srv *instance) Done() <-chan struct{} { return srv.done }

// ExitCode is Server.ExitCode.
func (srv *instance) ExitCode() int {
	srv.life.Lock()
	defer srv.life.Unlock()
	return srv.exitCode
}

// Close is Server.Close.
func (srv *instance) Close() error {
	srv.life.Lock()
	was := srv.state
	srv.state = stateClosed
	srv.life.Unlock()
	if was == stateClosed {
		<-srv.done
		return nil
	}
	if t := testOf(&srv.executor); t != nil {
		t.servers.EndAll()
	}
	srv.executor.scripts.Stop()
	if manual, ok := srv.executor.Clock.(*clock.Manual); ok {
		clock.Detach(manual, &srv.executor.Ticker)
	}
	if adjustable := srv.TestClock(); adjustable != nil {
		adjustable.Detach(&srv.executor.Ticker)
	}
	close(srv.stopTick)
	srv.tearDown()
	close(srv.done)
	return nil
}

// hurry makes everyone who is at work stop soon: sessions with commands left, and what is written in the
// background.
func (ex *executor) hurry() {
	ex.Mu.Lock()
	defer ex.Mu.Unlock()
	ex.Ending = true
	ex.Replication.Close()
	ex.Durable.CallOff()
}

// tearDown ends everything that runs, and closes the log, which is then on disk to its end.
func (srv *instance) tearDown() {
	srv.life.Lock()
	if srv.state != stateClosed {
		srv.state = stateFailed
	}
	srv.life.Unlock()
	srv.executor.hurry()
	srv.endpoint.Close()
	if in := srv.executor.opts.inCluster; in != nil {
		in.Close()
	}
	if srv.executor.Member != nil {
		srv.executor.Member.Close()
	}
	srv.group.Wait()
	srv.executor.dump.Targets.Close()
	srv.executor.Mu.Lock()
	srv.executor.audit.Close()
	end := srv.executor.Durable.Close()
	srv.executor.Mu.Unlock()
	end()
}

// background implements host.
func (srv *instance) background(f func()) { srv.group.Go(f) }

// ending implements host.
func (srv *instance) ending() <-chan struct{} { return srv.stopTick }

// port implements host.
func (srv *instance) port() int {
	if tcp, ok := srv.Addr().(*net.TCPAddr); ok {
		return tcp.Port
	}
	return 0
}

// places implements host.
func (srv *instance) places() [3]transport.ListenerInfo { return srv.endpoint.Places() }

// tellPlace tells the clients of a cluster where this server of it is.
func (srv *instance) tellPlace() {
	ex := &srv.executor
	announced := func(port, own int) int {
		if port == 0 {
			return own
		}
		return port + ex.opts.shard
	}
	at := topology.Member{Host: ex.config.ClusterAnnounceIP, Port: announced(ex.config.ClusterAnnouncePort, srv.port())}
	if secure, ok := srv.SecureAddr().(*net.TCPAddr); ok {
		if at.SecurePort = announced(ex.config.ClusterAnnounceTLSPort, secure.Port); at.Port == 0 {
			at.Port, at.SecurePort = at.SecurePort, 0
		}
	}
	if p := ex.opts.peers; p != nil {
		p.placed(at)
		return
	}
	ex.group.Listens(at, ex.Clock.NowUS()/1000)
}

// move implements host.
func (srv *instance) move(bind []string, port int, secure *transport.Secure) error {
	return srv.endpoint.Move(bind, port, secure)
}

// requestStop implements host.
func (srv *instance) requestStop(code int) {
	srv.stopOnce.Do(func() {
		go func() {
			srv.life.Lock()
			srv.exitCode = code
			srv.life.Unlock()
			_ = srv.Close()
		}()
	})
}

func (srv *instance) multiplexing() string {
	switch {
	case transport.HasLoops && srv.executor.opts.EventLoops:
		return "epoll"
	default:
		return "goroutines"
	}
}

// setUp makes an executor with empty databases. The options are complete, and c, which is the executor's
// from now on, holds their directives.
func (ex *executor) setUp(o Options, c *config.Config, files disk.FS, h host) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return fmt.Errorf("dir '%s': %w", c.Dir, err)
	}
	c.Dir = dir // the process may go to another directory
	if o.peers == nil && (c.DBFilename != "" || c.AppendOnly) {
		if err := cluster.ClaimAlone(dir); err != nil {
			return fmt.Errorf("server: %w", err)
		}
	}
	ex.Clock, ex.Logger, ex.opts, ex.host, ex.config = o.Clock, o.Log, o, h, c
	ex.uptime = clock.Start(o.Clock)
	ex.audit.Server, ex.audit.Operators = o.Log, o.Audit
	ex.clients = make(map[int64]*session)
	tell := ex.joinGroup(o.Group)
	chance := rand.NewPCG(o.Seed, o.Seed>>1|1)
	ex.Rand = rand.New(chance)
	if t := testOf(ex); t != nil {
		t.chance, t.tellSwitches = chance, tell
	}
	if o.Raft == nil && c.Raft.ID != "" {
		return errors.New("server: raft-id needs Options.Raft, an engine of package server/raft/engine: the program has it")
	}
	if o.Raft != nil {
		if err := joinable(c); err != nil {
			return fmt.Errorf("server: %w", err)
		}
		ex.steered = clock.NewSteered(o.Clock)
		ex.Clock, ex.Member = ex.steered, raft.New(o.Raft, ex.raftOptions())
		ex.Member.SetHost(raftHost{ex})
		if c.Groups.Cluster != "" {
			ex.joinShards(groups.New(groupsHost{ex}, &c.Groups, ex.Member, ex.group, o.ShardMapPath, o.Log))
		}
	}
	if err := ex.useTable(catalogueOf(&o, c)); err != nil {
		return err
	}
	ex.Open(shard.Options{Clock: ex.Clock, Logger: ex.Logger, Rand: ex.Rand, Databases: c.Databases, Server: shardHost{ex}, Services: services{ex}, Waits: waitHost{ex}, Spans: o.Spans,
		Durability: durability.Options{Program: durabilityHost{ex}, Config: c, Files: files, Clock: o.Clock, Progress: o.Progress, Journal: o.Journal, History: ex.history(),
			Version: compatibleVersion, Configured: o.ConfigFile != "" && !c.TestMode, Place: func() persistence.History { return persistence.History(ex.Replication.Place()) }}})
	seed := maphash.MakeSeed()
	ex.counts.limiters.Hash = func(key []byte) uint64 { return maphash.Bytes(seed, key) }
	ex.tracking.open(ex)
	ex.shutdown.executor = ex
	ex.openAcks()
	ex.watching = watching.New(c.Databases)
	ex.scripts = script.New(script.Options{Host: scriptHost{ex}, Log: ex.Logger, Version: compatibleVersion,
		Collect: memory.NewCollector().Begin})
	ex.runID = ex.NewID()
	ex.Replication.Init(replicationHost{ex}, ex.acknowledged)
	ex.applyConfig()
	ex.Store.SetNow(ex.Clock.NowUS())
	return nil
}

// history returns the history that other servers follow: that of the raft group, or of replication.
func (ex *executor) history() durability.History {
	if ex.Member != nil {
		return ex.Member
	}
	return &ex.Replication
}

// useTable makes these the commands, with all that goes by their rows.
func (ex *executor) useTable(of *catalogue) (err error) {
	ex.original, ex.plain, ex.Gauge.Timing = of.table, of.plain, of.timing
	if ex.Table, err = of.table.Renamed(ex.config.Renames); err != nil {
		return fmt.Errorf("server: rename-command: %w", err)
	}
	ex.users, ex.rights = acl.NewUsers(of.table), acl.NewChecker(ex.Table)
	ex.users.SetDefaultPassword(ex.config.RequirePass)
	ex.Stats.Size = of.table.Size()
	return nil
}

// Shutdown is Server.Shutdown.
func (srv *instance) Shutdown(o ShutdownOptions) error {
	srv.life.Lock()
	state := srv.state
	srv.life.Unlock()
	switch state {
	case stateClosed:
		<-srv.done
		return errClosed
	case stateRunning:
		if err := srv.prepareShutdown(o); err != nil {
			return err
		}
	}
	return srv.Close() // what never ran has nothing to save
}

// prepareShutdown saves as the options say, when the replicas have everything or have had their time.
func (srv *instance) prepareShutdown(o ShutdownOptions) (err error) {
	ex := &srv.executor
	ex.Mu.Lock()
	for ex.Busy.On { // a script that has written goes on to its end, so that the saved data is whole
		ex.scripts.StopUnlessWrote()
		ex.Busy.Over.Wait()
	}
	waits, ended := false, make(chan error, 1)
	ex.UnlockUnit(func() { waits, err = ex.shutdown.begin(o, func(err error) { ended <- err }) })
	if !waits {
		return err
	}
	select {
	case err = <-ended:
		return err
	case <-srv.done:
		return nil
	}
}

// Directives is Server.Directives.
func (srv *instance) Directives() map[string]string {
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	return srv.executor.config.Directives()
}

// Alarms is Server.Alarms.
func (srv *instance) Alarms() []raft.Alarm {
	ex := &srv.executor
	if ex.Member == nil {
		return nil
	}
	ex.Mu.Lock()
	defer ex.Mu.Unlock()
	return ex.Member.Alarms()
}
