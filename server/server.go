// Package server is the process around the data: sessions, the serial executor, waiting clients, watchdogs,
// configuration, and embedding. A part that needs only a small interface is a package inside of it.
//
// Bytes come in over a transport (an event loop, or a goroutine for each connection) and are fed to a
// session, which decodes them into commands. The executor runs those as units, one after the other. Replies
// are appended to the session's output, which its connection sends. executor.go says what a unit is, package
// wait how commands wait, session.go what owns what, and docs/ARCHITECTURE.md has the layers of files.
//
// It must not know what a command does to data: that is the commands package's. Its own commands (CLIENT,
// CONFIG, INFO, ...) are rows like all others, in the files that end in _cmd.go.
//
// To embed a server in a Go program or test:
//
//	srv, err := server.New(server.Options{})
//	if err != nil { ... }
//	if err := srv.Start(); err != nil { ... }
//	defer srv.Close()
//	conn, err := srv.Dial()               // or: net.Dial("tcp", srv.Addr().String())
package server

import (
	"io"
	"net"

	"lockserver/commands"
	"lockserver/server/clock"
	"lockserver/server/durability"
	"lockserver/server/raft"
	"lockserver/server/testmode"
)

// Server is one lockserver. Make it with New, start it with Start, end it with Close or Shutdown.
type Server struct {
	// in is behind an interface for the sake of packages that import this one. The compiler reads all types
	// that a type consists of. With *instance here, each such package would compile the generic types of the
	// executor and of the store once more, and take seconds longer.
	in running
}

// running has the methods of an instance that a Server calls.
type running interface {
	Start() error
	Addr() net.Addr
	SecureAddr() net.Addr
	Dial() (net.Conn, error)
	DialAudited() (net.Conn, error)
	Ready() error
	Done() <-chan struct{}
	ExitCode() int
	Close() error
	Shutdown(o ShutdownOptions) error
	Directives() map[string]string
	Figures() Figures
	EachSale(visit func(db int, s *commands.SaleFigures) bool)
	Footprint() Footprint
	Alarms() []raft.Alarm
	Permits(user string, command ...string) bool
	Runs(user string, command ...string) bool
	DelayedStreams(user string) (list []DelayedStream, more bool)
	DelayedTimes(user string, db int, stream, id string, n int) []int64
	RefusedLimits(user string, most int) RefusedLimits
	NowMS() int64
	Faults() *testmode.Faults
	Chaos() *testmode.Chaos
	TestClock() *clock.Adjustable
}

// New returns a server with empty databases; it neither listens nor loads anything until Start. The error
// says what is wrong with the options.
func New(o Options) (*Server, error) {
	in, err := newInstance(o)
	if err != nil {
		return nil, err
	}
	return &Server{in}, nil
}

// Start binds the addresses, loads what is on disk, the append-only log or the snapshot, and begins to serve.
// It returns when the data is there. Until then clients can connect, and get -LOADING.
func (srv *Server) Start() error { return srv.in.Start() }

// Addr returns the address of the first TCP listener, or of the unix socket if there is no other; nil before
// Start, and if there are only encrypted connections.
func (srv *Server) Addr() net.Addr { return srv.in.Addr() }

// SecureAddr returns the first address at which connections are encrypted, that of tls-port, or nil.
func (srv *Server) SecureAddr() net.Addr { return srv.in.SecureAddr() }

// Dial returns a new connection to the server that needs no port; it fails before Start and after Close. It
// fits go-redis' Dialer option.
func (srv *Server) Dial() (net.Conn, error) { return srv.in.Dial() }

// DialAudited is Dial for a caller that logs by itself what its client does, as the console does. Neither the
// log nor Options.Audit tells of the client's logins, commands and refusals.
func (srv *Server) DialAudited() (net.Conn, error) { return srv.in.DialAudited() }

// Ready returns nil if clients are served. Otherwise it says why not, in one line: the data is still being
// loaded, it cannot be kept on disk, one command takes very long, or the server ends. It waits for a second
// at most.
func (srv *Server) Ready() error { return srv.in.Ready() }

// Done is closed when the server has ended, by SHUTDOWN or by a call.
func (srv *Server) Done() <-chan struct{} { return srv.in.Done() }

// ExitCode returns the exit code of the process after Done: 0, or 1 after a failure.
func (srv *Server) ExitCode() int { return srv.in.ExitCode() }

// Close ends the server at once, without saving: connections are closed, and everything it started has ended
// when Close returns. It may be called more than once.
func (srv *Server) Close() error { return srv.in.Close() }

// Shutdown saves as the options say and ends the server. If saving fails the server goes on and the error
// says why, unless Force is set. A server that was not started, or could not be, only ends.
func (srv *Server) Shutdown(o ShutdownOptions) error { return srv.in.Shutdown(o) }

// Directives returns all directives as they are now, by name, with values as CONFIG GET shows them.
func (srv *Server) Directives() map[string]string { return srv.in.Directives() }

// Figures returns the figures. They are kept as things happen, so that it takes about as long as an INFO,
// however many keys, locks and sales there are.
func (srv *Server) Figures() Figures { return srv.in.Figures() }

// EachSale visits the sales of all databases, the latest first, until visit returns false. It looks at a few
// at a time, between which clients are served; while a script keeps the server busy it visits none.
func (srv *Server) EachSale(visit func(db int, s *commands.SaleFigures) bool) { srv.in.EachSale(visit) }

// Footprint looks at the server's memory.
func (srv *Server) Footprint() Footprint { return srv.in.Footprint() }

// Alarms returns states that an operator has to look at though clients may be served, each in one line. Only
// a member of a raft group has alarms.
func (srv *Server) Alarms() []raft.Alarm { return srv.in.Alarms() }

// Permits reports whether a user may run a command on database 0. Neither the user nor the ACL log notices:
// it is ACL DRYRUN for the program around the server. An unknown command is not permitted.
func (srv *Server) Permits(user string, command ...string) bool {
	return srv.in.Permits(user, command...)
}

// Runs is Permits for a command with any keys: it reports whether a user may run the command on the keys that
// the user may access.
func (srv *Server) Runs(user string, command ...string) bool { return srv.in.Runs(user, command...) }

// DelayedStreams returns the streams of all databases that have delayed entries, as far as a user may list
// the entries. The stream with the entry that is due first comes first. more: there are too many streams to
// look at all of them.
func (srv *Server) DelayedStreams(user string) (list []DelayedStream, more bool) {
	return srv.in.DelayedStreams(user)
}

// DelayedTimes returns the next n times at which a recurring delayed entry is due, in milliseconds since
// 1970. It returns nil if the user may not get the entry, or if the entry does not recur.
func (srv *Server) DelayedTimes(user string, db int, stream, id string, n int) []int64 {
	return srv.in.DelayedTimes(user, db, stream, id, n)
}

// RefusedLimits returns the limiters that refused the most calls since the start, or since CONFIG RESETSTAT,
// as far as a user may read their keys.
func (srv *Server) RefusedLimits(user string, most int) RefusedLimits {
	return srv.in.RefusedLimits(user, most)
}

// NowMS is the time of the server's data, in milliseconds since 1970: moments in its replies are by that. It
// is not the machine's clock in a raft group and in test mode.
func (srv *Server) NowMS() int64 { return srv.in.NowMS() }

// Faults returns the planned faults of the server's connections; nil unless it is in test mode.
func (srv *Server) Faults() *testmode.Faults { return srv.in.Faults() }

// Chaos returns the faults of TEST.CHAOS; nil unless the server is in test mode.
func (srv *Server) Chaos() *testmode.Chaos { return srv.in.Chaos() }

// TestClock is the clock of a server in test mode; nil: it is in none.
func (srv *Server) TestClock() *clock.Adjustable { return srv.in.TestClock() }

// Check verifies a snapshot, an append-only log, or a directory with such, without a server,
// and writes a summary to w. The error is the reason why a server would not start on it,
// with file and offset. Nothing is changed.
func Check(path string, w io.Writer) error { return durability.Check(path, w) }
