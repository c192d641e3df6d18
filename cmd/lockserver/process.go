package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lockserver/admin"
	"lockserver/internal/config"
	"lockserver/server"
)

// process is the program between reading its configuration and exiting.
type process struct {
	config     *config.Config
	configFile string // absolute; empty if there is none
	level      *slog.LevelVar
	log        *slog.Logger
	audit      *slog.Logger // of operators' actions; nil: no audit log
	debug      *admin.Debug // the content of admin-debug; nil: no admin-debug
	place      place        // of the server, for the log
	launcher   *launcher
	supervisor supervisor
	pidFile    string // the file that was written; empty: no file
	parent     parent
}

// newProcess changes into the configured directory and opens the log. The error names the directive.
func newProcess(cmd config.Command, stdout io.Writer) (*process, error) {
	p := &process{config: cmd.Config, level: new(slog.LevelVar)}
	p.level.Set(cmd.Config.LogLevel.SlogLevel())
	var err error
	if cmd.File != "" {
		if p.configFile, err = filepath.Abs(cmd.File); err != nil {
			return nil, err
		}
	}
	// As in Redis, every relative path but the configuration file's own starts in dir.
	if err := os.Chdir(p.config.Dir); err != nil {
		return nil, fmt.Errorf("dir '%s': %w", p.config.Dir, reason(err))
	}
	if p.config.Dir, err = os.Getwd(); err != nil {
		return nil, fmt.Errorf("dir: %w", err)
	}
	out := stdout
	if name := p.config.LogFile; name != "" {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, fmt.Errorf("logfile '%s': %w", name, err)
		}
		f, err := reopened(path).open()
		if err != nil {
			return nil, fmt.Errorf("logfile '%s': %w", name, reason(err))
		}
		// The runtime's message of a crash goes to the same file.
		err = errors.Join(debug.SetCrashOutput(f, debug.CrashOptions{}), f.Close())
		if err != nil {
			return nil, fmt.Errorf("logfile '%s': %w", name, err)
		}
		out = reopened(path)
	}
	if p.config.AdminDebug && p.config.AdminPort != 0 {
		tail := &logTail{to: out, most: logTailBytes}
		out, p.debug = tail, &admin.Debug{Log: tail.Lines}
	}
	p.place.member = p.config.Raft.ID
	handler := newLog(&lockedWriter{w: out}, p.level, p.config, &p.place)
	if p.config.SyslogEnabled {
		to, err := openSyslog(p.config.SyslogFacility, p.config.SyslogIdent)
		if err == nil {
			handler = slog.NewMultiHandler(handler, &systemLog{to: to, level: p.level})
		} else {
			slog.New(handler).Warn("The system's log cannot be used", "cause", err)
		}
	}
	p.log = slog.New(handler)
	p.audit, err = openAudit(p.config)
	return p, err
}

// reason returns a file error without the call and the path, which the message has already.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// serve runs a server until a signal or the SHUTDOWN command ends it, and returns the exit code. bare: the
// command line has no configuration at all.
func (p *process) serve(stderr io.Writer, bare bool) (code int) {
	defer func() {
		if v := recover(); v != nil {
			p.log.Error("panic", "value", v, "stack", debug.Stack())
			code = 2
		}
	}()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	// A closed terminal or log pipe is no reason to lose the server.
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)

	pace := tuneCollector()
	ended := make(chan struct{})
	defer close(ended)
	p.supervisor.log = p.log
	p.supervisor.begin(p.config.Supervised)
	p.announce(bare)
	if err := p.fitDescriptors(); err != nil {
		return p.refuse(err, stderr)
	}
	o := server.Options{Directives: p.config.Directives(), ConfigFile: p.configFile, EventLoops: true, Log: p.log,
		Audit: p.audit, RoleChanged: p.place.setRole, LogLevel: p.level, Progress: stderr, Version: version, Supervisor: p.supervisor.name, Phase: p.enter}
	spans, err := openSpans(p.config, p.log)
	if err != nil {
		return p.refuse(err, stderr)
	}
	defer spans.close()
	if spans != nil {
		o.Spans = spans
	}
	leave, err := p.joinGroup(&o)
	if err != nil {
		return p.refuse(err, stderr)
	}
	defer leave()
	srv, shards, err := p.newServer(o)
	if err == nil {
		var closeAdmin func()
		if closeAdmin, err = p.openAdmin(shards); err == nil {
			defer closeAdmin()
			err = p.start(srv, signals)
		}
	}
	if errors.Is(err, errStopped) {
		return p.bye(0)
	}
	if err != nil {
		p.removePIDFile()
		return p.refuse(err, stderr)
	}
	go collectIdle(ended, pace, shards[0].Footprint)
	p.ready(srv.Addr(), srv.SecureAddr())
	p.supervisor.ready()
	if p.config.TestMode {
		p.parent.ready(srv.Addr())
	}
	if p.config.ExitWithParent {
		go p.parent.watch(signals)
	}
	return p.bye(p.wait(srv, signals))
}

// program is a server, or a cluster of several servers.
type program interface {
	Start() error
	Addr() net.Addr
	SecureAddr() net.Addr
	Done() <-chan struct{}
	ExitCode() int
	Close() error
	Shutdown(o server.ShutdownOptions) error
	Directives() map[string]string
}

// newServer makes what the process runs, and returns the servers of it.
func (p *process) newServer(o server.Options) (program, []*server.Server, error) {
	if p.config.Shards == 1 {
		srv, err := server.New(o)
		return srv, []*server.Server{srv}, err
	}
	c, err := server.NewCluster(o, p.config.Shards)
	if err != nil {
		return nil, nil, err
	}
	return c, c.Shards(), nil
}

// enter is called for each step of the server.
func (p *process) enter(phase server.Phase) {
	if phase == server.PhaseListening {
		p.writePIDFile()
		p.launcher.release()
	}
	p.supervisor.enter(phase)
}

// bye ends the process.
func (p *process) bye(code int) int {
	if p.pidFile != "" {
		p.log.Info("Removing the pid file.")
		p.removePIDFile()
	}
	if code != 0 {
		p.log.Error("lockserver has ended", "code", code)
	} else {
		p.log.Warn("Redis is now ready to exit, bye bye...") // which tools look for
	}
	return code
}

// refuse says why the server could not start and returns the exit code.
func (p *process) refuse(err error, stderr io.Writer) int {
	p.log.Error("Could not start", "cause", err)
	if p.config.LogFile != "" || p.launcher.pipe != nil {
		fmt.Fprintln(stderr, "lockserver:", err)
	}
	return 1
}

// fitDescriptors raises the limit of descriptors so that every client can have one.
func (p *process) fitDescriptors() error {
	fits, warning, err := fitShards(p.config, server.FitMaxClients)
	if err != nil {
		return err
	}
	if warning != "" {
		p.log.Warn(warning)
	}
	p.config.MaxClients = fits
	return nil
}

// ownLoops is the number of event loops with as many descriptors as the files and listeners of a shard.
const ownLoops = 16

// fitShards returns how many clients each shard can have: see server.FitMaxClients, which it calls for all.
func fitShards(c *config.Config, fit func(clients, loops int) (int, string, error)) (fits int, warning string, err error) {
	n := c.Shards
	fits, warning, err = fit(n*c.MaxClients, n*c.IOThreads+(n-1)*ownLoops)
	if err == nil && fits < n {
		err = fmt.Errorf("the limit of open files leaves no clients for each of %d shards", n)
	}
	if warning != "" && n > 1 {
		warning = fmt.Sprintf("All %d shards together: %s", n, warning)
	}
	return fits / n, warning, err
}

// errStopped says that the server was stopped while it was loading its data.
var errStopped = errors.New("stopped by a signal")

// start starts the server. Loading may take long, and a signal ends it: nothing is lost by that.
func (p *process) start(srv program, signals <-chan os.Signal) error {
	started := make(chan error, 1)
	go func() { started <- srv.Start() }()
	select {
	case err := <-started:
		select {
		case <-srv.Done(): // by SHUTDOWN
			return errStopped
		default:
			return err
		}
	case sig := <-signals:
		p.log.Warn("Received shutdown signal during loading, scheduling shutdown.", "signal", signalName(sig))
		if err := srv.Close(); err != nil {
			return err
		}
		return errStopped
	}
}

// announce logs the program and its configuration.
func (p *process) announce(bare bool) {
	c := p.config
	p.log.Info(fmt.Sprintf("lockserver %s is starting, PID: %d", version, os.Getpid()), "go", runtime.Version(),
		"config", shownFile(p.configFile))
	mode := "standalone"
	if c.ClusterEnabled || c.Shards > 1 {
		mode = "cluster"
	}
	p.log.Info(fmt.Sprintf("Running mode=%s, port=%d.", mode, c.ClientPort()))
	if !bare {
		p.log.Info("Configuration loaded")
	} else {
		p.log.Info(fmt.Sprintf("Nothing configured: listening on %s, saving to %s",
			net.JoinHostPort(c.Bind[0], strconv.Itoa(c.Port)), filepath.Join(c.Dir, c.DBFilename)))
	}
	if lines := c.Overridden(); len(lines) > 0 {
		p.log.Warn("These lines cannot be obeyed here, but the command line has another value: " + strings.Join(lines, "; "))
	}
	if names := c.Ignored(); len(names) > 0 {
		p.log.Info("These directives were accepted but have no effect here: " + strings.Join(names, ", "))
	}
}

func shownFile(path string) string {
	if path == "" {
		return "none"
	}
	return path
}

// ready logs the lines that scripts wait for. addr is the first address, with the actual port. secure is the
// first address with encryption.
func (p *process) ready(addr, secure net.Addr) {
	if secure != nil {
		p.log.Info("Ready to accept connections tls", "addr", secure.String())
	}
	if addr == nil && secure != nil {
		return
	}
	if addr == nil {
		p.log.Warn("Ready, but nothing is listened on: neither bind nor unixsocket names anything")
		return
	}
	p.log.Info("Ready to accept connections "+addr.Network(), "addr", addr.String())
	if p.config.UnixSocket != "" && addr.Network() != "unix" {
		p.log.Info("Ready to accept connections unix", "addr", p.config.UnixSocket)
	}
}

// wait serves signals until the server has ended.
func (p *process) wait(srv program, signals <-chan os.Signal) int {
	for {
		select {
		case <-srv.Done():
			return srv.ExitCode()
		case sig := <-signals:
			p.log.Warn("Received " + signalName(sig) + " scheduling shutdown...")
			ended := make(chan error, 1)
			go func() { ended <- srv.Shutdown(p.shutdownOptions(srv, sig)) }()
			if code, done := p.waitShutdown(ended, signals, time.Now()); done {
				return code
			}
		}
	}
}

// insistence is the time after the first signal until a second SIGINT means "at once". timeout(1) and some
// supervisors signal the process and its group, so that one request arrives twice within a millisecond; that
// must not cost the snapshot.
const insistence = 200 * time.Millisecond

// waitShutdown waits for a shutdown that a signal began at begun. done is false if the shutdown failed and
// the server continues.
func (p *process) waitShutdown(ended <-chan error, signals <-chan os.Signal, begun time.Time) (code int, done bool) {
	for {
		select {
		case err := <-ended:
			if err != nil {
				p.log.Error("Could not shut down; the server goes on", "cause", err)
				return 0, false
			}
			return 0, true
		case sig := <-signals:
			if sig == os.Interrupt && time.Since(begun) >= insistence {
				p.log.Error("You insist... exiting now.")
				return 1, true
			}
		}
	}
}

// shutdownOptions returns the options that shutdown-on-sigint or -sigterm asks for.
func (p *process) shutdownOptions(srv program, sig os.Signal) server.ShutdownOptions {
	c, now := p.config.Clone(), srv.Directives()
	maps.DeleteFunc(now, func(name, _ string) bool { return strings.HasSuffix(name, "-file") }) // passwords may be gone
	if err := c.Assign(now); err != nil {                                                       // CONFIG SET may have changed what the signal asks for
		p.log.Error("the server's directives cannot be read", "cause", err)
	}
	f := c.ShutdownOnSIGTERM
	if sig == os.Interrupt {
		f = c.ShutdownOnSIGINT
	}
	return server.ShutdownOptions{Save: f.Save, NoSave: f.NoSave, Now: f.Now, Force: f.Force}
}

func signalName(sig os.Signal) string {
	if sig == os.Interrupt {
		return "SIGINT"
	}
	return "SIGTERM"
}

// defaultPIDFile is the file for the number of a background process if pidfile is not set, as in Redis.
const defaultPIDFile = "/var/run/redis.pid"

// writePIDFile fails with a warning only: the server itself does not need the file.
func (p *process) writePIDFile() {
	name := p.config.PIDFile
	if name == "" && p.launcher.pipe != nil {
		name = defaultPIDFile
	}
	if name == "" {
		return
	}
	if err := os.WriteFile(name, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o666); err != nil {
		p.log.Warn("Failed to write PID file", "cause", err)
		return
	}
	p.pidFile = name
}

func (p *process) removePIDFile() {
	if p.pidFile != "" {
		_ = os.Remove(p.pidFile)
	}
}
