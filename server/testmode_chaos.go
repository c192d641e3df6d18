package server

import (
	"slices"

	"lockserver/commands"
	"lockserver/server/testmode"
	"lockserver/store"
)

// TEST.CHAOS (testmode.Chaos): what the server does when a fault strikes that changes more than a reply.

// Chaos implements testmode.Controls.
func (h testHost) Chaos() *testmode.Chaos { return h.chaos }

// IsGroup implements testmode.Controls.
func (h testHost) IsGroup() bool { return h.facade != nil }

// chaosStrikes draws the fault of a command, carries out what comes before the command, and returns what
// remains to be done to the command itself; ok: there is something.
func (h *faultHook) chaosStrikes(s *session, call *testmode.Call) (f testmode.Fault, ok bool) {
	ex := h.executor
	strike, ok := ex.chaos.Draw(call)
	if !ok {
		return f, false
	}
	f = testmode.Fault{Kind: strike.Kind, DelayMS: strike.DelayMS}
	switch strike.Kind {
	case testmode.Expire:
		if strike.Key, ok = ex.endLease(s.db, strike); !ok {
			return f, false // no lock is held
		}
	case testmode.Failover:
		_, _ = ex.failOver(ex.chaos.Exempt)
		f.Kind = testmode.DropBefore
	case testmode.Restart:
		ex.dropClients()
		f.Kind = testmode.DropBefore
	}
	ex.chaos.Record(strike)
	return f, strike.Kind != testmode.Expire
}

// endLease ends a lock of a database as at the end of its lease, with all its holders. The strike names the
// lock, or picks one that is held. It returns the key; ok: there was one.
func (ex *executor) endLease(db *store.DB, strike testmode.Strike) (key string, ok bool) {
	var held []string
	db.EachToken(func(key string, _ store.Ref) bool {
		held = append(held, key)
		return true
	})
	if strike.Key != "" {
		held = slices.DeleteFunc(held, func(key string) bool { return key != strike.Key })
	}
	if len(held) == 0 {
		return "", false
	}
	slices.Sort(held)
	key = held[strike.Pick%uint64(len(held))]
	ex.stopRenewing(&commands.Ctx{DB: db}, []byte(key))
	db.ExpireNow([]byte(key))
	ex.endUnit()
	return key, true
}

// dropClients loses what a server with a log loses in a restart: all connections, with what they wait for and
// subscribe to, and the scripts.
func (ex *executor) dropClients() {
	for _, s := range ex.sortedClients() {
		if !ex.chaos.Exempt(s.id) {
			ex.terminate(s)
		}
	}
	ex.scripts.Forget()
}
