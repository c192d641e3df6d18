package server

import (
	"errors"
	"sync/atomic"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/server/acl"
	"lockserver/server/audit"
	"lockserver/server/clock"
	"lockserver/server/dump"
	"lockserver/server/memory"
	"lockserver/server/migration"
	"lockserver/server/monitor"
	"lockserver/server/pubsub"
	"lockserver/server/script"
	"lockserver/server/shard"
	"lockserver/server/tlsconf"
	"lockserver/server/topology"
	"lockserver/server/transport"
	"lockserver/server/wait"
	"lockserver/server/watching"
	"lockserver/store"
	"lockserver/store/due"
)

// executor is a shard with the parts of the server around its data: sessions, users, directives, messages and
// scripts. All of it is touched under the lock of the shard.
//
// It embeds a struct for each subject that stands together. Their methods know their own fields only.
type executor struct {
	tableSet
	// fastPath is session.takesFastPath of the session that runs its batch, as it was before the last plain
	// commands.
	fastPath bool
	hook     hook // around each command, or nil: test mode has a hook
	scripts  *script.Engine
	membership
	roster
	publishing
	watching watching.Table
	tracking trackers
	directives
	shard.Shard

	host host // set by New
	opts Options
	access
	figures
	runID    string
	uptime   clock.Stopwatch // started by Start
	dump     dump.State      // of MIGRATE
	shutdown shutdown
	applier  applier // of what the master sends; nil: nothing ever did
	debug    debugging
}

// informant is the executor as INFO and the figures for operators show it.
type informant struct{ *executor }

// meter is the executor as it measures what commands and batches take.
type meter struct{ *executor }

// configurer is the executor as CONFIG changes it.
type configurer struct{ *executor }

// tableSet has the commands by other ways than shard.Shard.Table. It is set by New and stays.
type tableSet struct {
	original *commands.Table // by their own names, whatever rename-command says
	plain    []plainness     // by commands.Row.Index(); only to be read
}

// directives are the configuration, and the forms of it that the hot path uses.
type directives struct {
	config     *config.Config
	limits     limits // of connections
	encryption tlsconf.Source
}

// access holds the users, their rights, and the log of refusals.
type access struct {
	users  *acl.Users
	rights *acl.Checker
	audit  audit.Log
}

// roster has the sessions.
type roster struct {
	clients map[int64]*session
	lastID  int64
}

// publishing has the sessions that messages and lines of MONITOR go to.
type publishing struct {
	pubsub    pubsub.Registry[*session]
	eventName []byte // buffer for the name of a channel
	monitors  monitor.List[*session]
}

// figures count what has happened to connections.
type figures struct {
	counts counts
}

// membership is the place of this server among those that have the same data.
type membership struct {
	group   *topology.Group   // the servers that this one belongs to; nil: it stands alone
	steered *clock.Steered    // a member's clock
	movers  *migration.Driver // of slots; nil: the group is not one of several shards
	// guarded: a write may be refused for what replication says of this server. mayBeStale: any command may.
	guarded, mayBeStale bool
	keyRefs             []commands.KeyRef // of the last command that findKeys looked at; reused
	neighbor            topology.Neighbor // of the key of a script's next command
}

// host has the methods of the server that the executor needs.
type host interface {
	// background runs something that Close waits for.
	background(f func())
	// ending is closed when Close is called.
	ending() <-chan struct{}
	// requestStop ends the server from inside a command; code becomes the exit code.
	requestStop(code int)
	// multiplexing names what carries the connections, as INFO says it.
	multiplexing() string
	// port is the port of the first TCP listener, or 0.
	port() int
	// places are where clients come from.
	places() [3]transport.ListenerInfo
	// tellPlace tells clients of a cluster where the server is.
	tellPlace()
	// move listens elsewhere: see transport.Endpoint.
	move(bind []string, port int, secure *transport.Secure) error
}

// applier runs the commands of the master's history.
type applier interface {
	apply(db int, argv [][]byte) error
	// applyTo is apply for a database beside the data of the server. No client sees it.
	applyTo(db *store.DB, argv [][]byte) error
	// client is the session that they run in.
	client() *session
}

// hook stands around the commands of clients. Test mode has one.
type hook interface {
	// run runs a command that was admitted, by count, or does something else.
	run(s *session, row *commands.Row, argv [][]byte) error
	// answered is called when a command that has waited was answered. Its reply begins at mark.
	answered(w *wait.Parked, mark int)
}

// memoryParts returns the memory besides the data that counts for maxmemory.
func (ex *executor) memoryParts() memory.Parts {
	scripts := ex.scripts.Memory()
	staged := 0
	if ex.Member != nil {
		staged = ex.Member.Staged()
	}
	return memory.Parts{Staged: staged, Clients: ex.Memory.Clients.Sum, PubSub: ex.pubsub.Bytes(), Tracking: ex.tracking.Bytes(), ScriptVM: scripts.Machine,
		FunctionVM: scripts.FunctionMachine, ScriptCache: scripts.Scripts, Libraries: scripts.Libraries}
}

// counts holds numbers of events since the start, or since CONFIG RESETSTAT.
type counts struct {
	connections int64 // accepted
	refused     int64 // by maxclients
	evicted     int64 // clients, by maxmemory-clients
	// longQueries and largeOutputs are clients that were closed for client-query-buffer-limit and
	// client-output-buffer-limit.
	longQueries, largeOutputs int64
	limiters                  commands.Refusals
	ofCommands                commands.Counts
}

// terminate marks a session that is to end with this unit. It may be called at any moment under the
// executor's lock, more than once, and for a session that has ended. The caller sees to it that endUnit
// comes.
func (ex *executor) terminate(s *session) {
	if s.Terminated || s.Dead {
		return
	}
	s.Terminated, s.Closing = true, true
	delete(ex.clients, s.Number)
	ex.Memory.Clients.Uncount(&s.memory)
	s.inbox.Drop()
	// plant:end-session
	ex.Terminated = append(ex.Terminated, &s.Party)
}

// errClosed is returned by Start and Shutdown of a server that has ended, and by a second Start.
var errClosed = shard.ErrClosed

// errAborted is returned by Shutdown if a client called it off.
var errAborted = errors.New("server: SHUTDOWN ABORT")

// plainness says what a command can change besides keys.
type plainness uint8

const (
	notPlain   plainness = iota
	plainRead            // nothing, and a disk that failed does not matter
	plainWrite           // nothing, and a disk that failed speaks against it
)

// debugging holds the switches of DEBUG.
type debugging struct {
	scripts     bool // SET-DISABLE-DENY-SCRIPTS 1
	housePaused bool // PAUSE-CRON 1
}

// shutdown is how the server ends on request. It is only touched under the executor.
type shutdown struct {
	executor *executor
	// stopping: there is something to save, and it is being saved. Server.Ready looks at it without the lock.
	stopping atomic.Bool
	// waits: it waits for replicas. The fields down to callbacks are about that.
	waits   bool
	options ShutdownOptions
	endMS   int64 // when the replicas have had their time
	timer   due.Timer
	// These functions get the result, for the callers that asked for the shutdown; nil: the server ends.
	callbacks []func(err error)
	// refused counts the shutdowns that failed or were called off. Clients that have waited since before get
	// an answer.
	refused int
}

// groupView is the executor as its place in a group decides what it answers.
type groupView struct{ *executor }

// services is the executor as commands on data see it.
type services struct{ *executor }
