package server

import (
	"math"
	"unsafe"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/server/info"
	"lockserver/server/memory"
)

// What memory is used for besides the data. Each session's part is counted again at the end of each of its
// slices, and the sum of all is kept. Their packages know what scripts, subscriptions and tracking take; they
// are asked at the end of each slice in which more ran than plain commands (executor.plainSlice). So
// maxmemory costs a few additions a slice, and nothing a command. When clients take more together than
// maxmemory-clients allows, the one with the most is closed.

// memoryUse is what the executor keeps of that.
type memoryUse struct {
	clients int // what all sessions take together: the sum of sessionMemory.counted
	// replicas is the part of clients that sessions of replicas take. It counts for no eviction of clients.
	replicas int
	others   int // what all else takes, as of the last slice that was not plain
	// inTransit is the part of clients that connections were given last, and may not have tried to send yet.
	// It makes no key go: most of it is gone in a moment, and an eviction that clients hear of would be the
	// reason for the next one.
	inTransit int
	// clientLimit is what they may take (maxmemory-clients); 0: there is no bound.
	clientLimit   int
	exempt        int  // sessions with CLIENT NO-EVICT
	overLimit     bool // it has been logged that no client is left that may be closed
	peak          int  // the most that was used, without the log's buffers
	mostEvictions int  // how many keys one slice evicts at most
	purger        memory.Purger
	// beganFull: memory was full, and none could be freed, when the command of a client began that now runs.
	beganFull bool
	evicting  bool // memory is above its bound, and the ticker frees some in slices
	// fullSinceUS is since when memory is above its bound although keys were evicted; 0: it is not.
	fullSinceUS int64
	// unsent are the sessions with connections that held output when they were last asked.
	unsent []*session
}

const (
	// sessionBytes is what a session takes that does nothing, with its connection and its places in maps.
	sessionBytes = int(unsafe.Sizeof(session{})) + 512
	// watchBytes is what a watched key takes beside its name: the struct, and its places in lists.
	watchBytes = 160
	// wordBytes is what a word of a command takes beside its text: the slice.
	wordBytes = 24
)

// textBytes is how long the words of commands are together.
func textBytes(argvs ...[][]byte) (n int) {
	for _, argv := range argvs {
		for _, word := range argv {
			n += len(word)
		}
	}
	return n
}

// recount brings the session's part of memoryUse.clients up to date. Its owner calls it, under the executor.
func (s *session) recount() {
	m := &s.memory
	if s.Dead || s.Terminated {
		return
	}
	m.input, m.capacity = s.decoder.Pending(), s.decoder.Held()
	n := s.bytes()
	all := &s.executor.memory
	all.clients += n - m.counted
	if s.replica != nil && s.replica.Is() {
		if !m.replica {
			m.replica = true
			all.replicas += m.counted
		}
		all.replicas += n - m.counted
	}
	m.counted = n
	all.inTransit += m.fresh - m.inTransit
	m.inTransit = m.fresh
	if m.unsent > 0 && !m.unsentListed {
		m.unsentListed = true
		all.unsent = append(all.unsent, s)
	}
}

// uncount takes out of the sum what a session takes that ends.
func (s *session) uncount() {
	s.executor.memory.clients -= s.memory.counted
	if s.memory.replica {
		s.executor.memory.replicas -= s.memory.counted
	}
	s.memory.counted = 0
	s.executor.memory.inTransit -= s.memory.inTransit
	s.memory.inTransit = 0
	s.exemptFromEviction(false)
}

// bytes is what the session takes.
func (s *session) bytes() int {
	if !s.executor.plainSlice {
		s.memory.rest = s.restBytes()
	}
	n := sessionBytes + s.memory.capacity + s.memory.backlog + s.outputHeld() + s.memory.rest
	if s.Waiter != nil || s.Queued != nil {
		n += s.WaitBytes()
	}
	return n
}

// restBytes is what stays as it is while the session runs plain commands.
func (s *session) restBytes() (n int) {
	if s.multi != nil {
		n += s.multi.bytes()
	}
	n += watchBytes * s.watches.Len()
	if s.subs != nil {
		n += s.subs.Bytes()
	}
	n += s.Attachments.Bytes() + s.tracker.Bytes()
	n += len(s.Info.Name) + len(s.Info.LibName) + len(s.Info.LibVersion)
	return n
}

// outputHeld is the memory that output takes which the client has not taken yet. What it was sent in the
// running slice is on its way, and counts when the connection turns out to hold it.
func (s *session) outputHeld() int { return s.memory.unsent + s.inboxBytes + wordBytes*cap(s.inbox) }

// bytes is what a transaction takes.
func (tx *transaction) bytes() int {
	return cap(tx.text) + wordBytes*cap(tx.args) + int(unsafe.Sizeof(queuedCommand{}))*cap(tx.queued)
}

// askUnsent asks sessions again, once a second, if their clients had not taken all their output: the server
// hears that a client reads only if it waits for that.
func (ex *executor) askUnsent() {
	list := ex.memory.unsent
	ex.memory.unsent = nil
	for _, s := range list {
		if s.memory.unsentListed = false; !s.Dead {
			ex.touch(s)
		}
	}
}

// countMemory tells the store how much is used besides the data. It is called at the end of each slice.
func (ex *executor) countMemory() {
	m := &ex.memory
	if !ex.plainSlice {
		parts := ex.memoryParts()
		m.others = parts.Sum() - m.clients
	}
	sum := m.clients + m.others
	ex.store.SetBeside(sum - m.inTransit)
	m.peak = max(m.peak, ex.store.Used()+sum)
}

// memoryParts are what is used besides the data and bounded by maxmemory.
func (ex *executor) memoryParts() memory.Parts {
	scripts := ex.scripts.Memory()
	return memory.Parts{Clients: ex.memory.clients, PubSub: ex.pubsub.Bytes(), Tracking: ex.tracking.Bytes(), ScriptVM: scripts.Machine,
		FunctionVM: scripts.FunctionMachine, ScriptCache: scripts.Scripts, Libraries: scripts.Libraries}
}

// usageOf is what memory is used for in the server that runs the command.
func usageOf(c *commands.Ctx) *memory.Usage { return sessionOf(c).executor.memoryUsage() }

// Footprint is what a server's memory depends on.
type Footprint struct {
	Used      int // bytes that the data and all that belongs to it take: used_memory of INFO
	MaxMemory int // the directive, in bytes; 0: there is no bound
	Waits     int // with NOTIFY, and grants after such waits that are not confirmed
}

// Footprint is Server.Footprint.
func (srv *instance) Footprint() (f Footprint) {
	ex := &srv.executor
	ex.look(func() {
		u := ex.memoryUsage()
		f = Footprint{Used: u.Used(), MaxMemory: int(u.MaxBytes), Waits: ex.waits.QueuedWaits + ex.waits.Grants.Len()}
	})
	return f
}

func (ex *executor) memoryUsage() *memory.Usage {
	counts := ex.scripts.Counts()
	u := &memory.Usage{Parts: ex.memoryParts(), Data: ex.store.Used() + ex.durable.Aside(), Peak: ex.memory.peak, Scripts: counts.Scripts,
		Functions: counts.Functions, FunctionLibraries: counts.Libraries, MaxBytes: ex.config.MaxMemory,
		Policy: ex.config.MaxMemoryPolicy, LazyFreed: ex.store.Stats().Freed, Full: ex.store.Full(), Purger: &ex.memory.purger}
	if i := ex.durable.Info(); i.LogOn {
		u.Log = int(i.Log.Pending)
	}
	u.History = ex.replication.Memory()
	for id := range ex.store.Len() {
		if db := ex.store.DB(id); db.Len() > 0 {
			keys, deadlines := db.Overhead()
			u.Keyspaces = append(u.Keyspaces, memory.Keyspace{DB: id, Keys: db.Len(), Main: keys, Deadlines: deadlines})
		}
	}
	ex.memory.peak = max(ex.memory.peak, u.Used()-u.Log-u.History)
	return u
}

func (ex *executor) infoMemory(t *info.Text) { ex.memoryUsage().WriteInfo(t) }

// The eviction of clients.

// leastClientLimit is what clients may always take together: with less, no client could change the limit.
const leastClientLimit = 128 << 10

// clientLimitOf is the directive maxmemory-clients in bytes; 0: there is no bound.
func clientLimitOf(c *config.Config) int {
	switch {
	case c.MaxMemoryClients == 0:
		return 0
	case c.MaxMemoryClients < 0 && c.MaxMemory == 0:
		return 0
	}
	return int(min(max(c.MaxMemoryClients.Of(c.MaxMemory), leastClientLimit), math.MaxInt))
}

// exemptFromEviction makes the session stay whatever it takes, or ends that.
func (s *session) exemptFromEviction(yes bool) {
	m := &s.executor.memory
	switch {
	case yes && !s.noEvict:
		m.exempt++
	case !yes && s.noEvict:
		m.exempt--
	}
	s.noEvict = yes
}

// evictClients closes the clients that take most, until all together take less than they may.
func (ex *executor) evictClients() {
	m := &ex.memory
	if m.clientLimit == 0 || m.clients-m.replicas < m.clientLimit || ex.busy.on {
		m.overLimit = false
		return
	}
	ex.begin()
	for m.clients-m.replicas >= m.clientLimit && len(ex.clients) > m.exempt {
		s := ex.largestClient()
		if s == nil { // replicas and exempt clients are left
			break
		}
		ex.log.Info("Evicting client: " + s.line())
		ex.counts.evicted++
		ex.terminate(s)
	}
	if m.clients-m.replicas >= m.clientLimit && !m.overLimit {
		m.overLimit = true
		ex.log.Warn("Over client maxmemory after evicting all evictable clients")
	}
	ex.endUnit()
}

// largestClient returns the session that takes most of those that may be evicted; nil: there is none. Of
// several the oldest goes.
func (ex *executor) largestClient() *session {
	var largest *session
	for _, s := range ex.clients {
		if !s.noEvict && !s.replica.Is() && (largest == nil || s.memory.counted > largest.memory.counted ||
			s.memory.counted == largest.memory.counted && s.Number < largest.Number) {
			largest = s
		}
	}
	return largest
}

// evictionKeys is how many keys one slice evicts under maxmemory-eviction-tenacity. Redis has a time for
// it, which grows in the same way.
func evictionKeys(tenacity int) int {
	switch {
	case tenacity <= 10:
		return max(leastEvictions, usualEvictions*tenacity/10)
	case tenacity < 100:
		return int(usualEvictions * math.Pow(1.15, float64(tenacity-10)))
	default:
		return math.MaxInt
	}
}

const (
	// usualEvictions take about half a millisecond, for a key goes in some microseconds whatever it holds,
	// most of them for looking at the keys among which it is chosen.
	usualEvictions = 128
	leastEvictions = 16
)
