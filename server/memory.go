package server

import (
	"math"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/server/memory"
)

// What memory is used for besides the data, and the sessions that are closed when all take too much.

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

// evictClients closes the clients that take most, until all together take less than they may. It is called
// when they take more.
func (ex *executor) evictClients() {
	all := &ex.memory.Clients
	if ex.busy.on {
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
