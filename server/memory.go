package server

import (
	"math"
	"unsafe"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/server/memory"
)

// What memory is used for besides the data: what a session takes, and who is closed when sessions take too
// much. Their packages know what scripts, subscriptions and tracking take; they are asked at the end of each
// slice in which more ran than plain commands (executor.plainSlice).

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

// recount brings what the session takes up to date. Its owner calls it, under the executor.
func (s *session) recount() {
	if s.Dead || s.Terminated {
		return
	}
	s.memory.Input, s.memory.Capacity = s.decoder.Pending(), s.decoder.Held()
	s.executor.memory.Clients.Recount(&s.memory, s.bytes(), s.replica != nil && s.replica.Is())
}

// bytes is what the session takes.
func (s *session) bytes() int {
	if !s.executor.plainSlice {
		s.memory.Rest = s.restBytes()
	}
	n := sessionBytes + s.memory.Capacity + s.memory.Backlog + s.outputHeld() + s.memory.Rest
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
func (s *session) outputHeld() int { return s.memory.Unsent + s.inboxBytes + wordBytes*cap(s.inbox) }

// bytes is what a transaction takes.
func (tx *transaction) bytes() int {
	return cap(tx.text) + wordBytes*cap(tx.args) + int(unsafe.Sizeof(queuedCommand{}))*cap(tx.queued)
}

// AskUnsent implements memory.Asked.
func (s *session) AskUnsent() {
	if !s.Dead {
		s.executor.touch(s)
	}
}

// usageOf is what memory is used for in the server that runs the command.
func usageOf(c *commands.Ctx) *memory.Usage { return sessionOf(c).executor.memoryUsage() }

func (ex *executor) memoryUsage() *memory.Usage {
	counts := ex.scripts.Counts()
	u := &memory.Usage{Parts: ex.memoryParts(), Data: ex.store.Used() + ex.durable.Aside(), Peak: ex.memory.Peak, Scripts: counts.Scripts,
		Functions: counts.Functions, FunctionLibraries: counts.Libraries, MaxBytes: ex.config.MaxMemory,
		Policy: ex.config.MaxMemoryPolicy, LazyFreed: ex.store.Stats().Freed, Full: ex.store.Full(), Purger: &ex.memory.Purger}
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
	ex.memory.Peak = max(ex.memory.Peak, u.Used()-u.Log-u.History)
	return u
}

// The eviction of clients.

// clientLimitOf is the directive maxmemory-clients in bytes; 0: there is no bound.
func clientLimitOf(c *config.Config) int {
	switch {
	case c.MaxMemoryClients == 0, c.MaxMemoryClients < 0 && c.MaxMemory == 0:
		return 0
	}
	return int(min(max(c.MaxMemoryClients.Of(c.MaxMemory), 1), math.MaxInt))
}

// evictClients closes the clients that take most, until all together take less than they may.
func (ex *executor) evictClients() {
	all := &ex.memory.Clients
	if !all.Over() || ex.busy.on {
		return
	}
	ex.begin()
	for all.Over() && all.Evictable(len(ex.clients)) > 0 {
		s := ex.largestClient()
		if s == nil { // replicas and exempt clients are left
			break
		}
		ex.log.Info("Evicting client: " + s.line())
		ex.counts.evicted++
		ex.terminate(s)
	}
	if all.LogsOver() {
		ex.log.Warn("Over client maxmemory after evicting all evictable clients")
	}
	ex.endUnit()
}

// largestClient returns the session that takes most of those that may be evicted; nil: there is none. Of
// several the oldest goes.
func (ex *executor) largestClient() *session {
	var largest *session
	for _, s := range ex.clients {
		if !s.memory.Exempt && !s.replica.Is() && (largest == nil || s.memory.Counted > largest.memory.Counted ||
			s.memory.Counted == largest.memory.Counted && s.Number < largest.Number) {
			largest = s
		}
	}
	return largest
}
