package durability

import (
	"lockserver/commands"
	"lockserver/store"
)

// Journal receives the effects of each unit, in order.
type Journal interface {
	Append(unit []store.Effect)
}

// History is a journal that other servers follow: the replicas of a master, or the members of a raft group.
type History interface {
	Journal
	// Message sends a message to the subscribers at the other servers, behind the effects of the running
	// unit. word is the command that sends it: PUBLISH or SPUBLISH.
	Message(word string, channel, message []byte)
	// AddMessages ends a unit after its effects were appended.
	AddMessages()
}

// Recorder is the one way of each unit to the journals that keep or follow it. These are the log, the
// history, a follower, and the journal of a program around the server.
type Recorder struct {
	journal  Journal // all journals that receive units; nil: no unit is recorded
	store    *store.Store
	kept     Journal // Options.Journal; nil: the program has no journal
	history  History // nil: no other server can follow this one
	recorded bool    // the history receives units
	follower Journal // of Follow; nil: nothing follows
}

// Records reports whether the effects of units are recorded.
func (r *Recorder) Records() bool { return r.journal != nil }

// Message adds a message for the subscribers at other servers to the running unit.
func (r *Recorder) Message(word string, channel, message []byte) {
	if r.history != nil {
		r.history.Message(word, channel, message)
	}
}

// EndUnit hands on what the store has recorded since the last call, and the messages behind it. Effects that
// are not intact are dropped: a command has panicked and left half of its work.
func (r *Recorder) EndUnit(intact bool) {
	// plant:hand-on
	if effects := r.store.TakeEffects(); effects != nil && r.journal != nil && intact {
		r.journal.Append(effects)
		if r.kept == nil { // the other journals keep no effects
			r.store.GiveBackEffects()
		}
	}
	if r.history != nil {
		r.history.AddMessages()
	}
}

// compose sets the journal that receives all units. log is nil if there is no log.
func (r *Recorder) compose(log *Log) {
	var all journals
	if r.recorded {
		all = append(all, r.history)
	}
	if log != nil {
		all = append(all, log)
	}
	if r.follower != nil {
		all = append(all, r.follower)
	}
	if r.kept != nil {
		all = append(all, keeper{r.kept, len(all) > 0})
	}
	switch len(all) {
	case 0:
		r.journal = nil
	case 1:
		r.journal = all[0]
	default:
		r.journal = all
	}
}

// journals is a list of journals that all receive each unit.
type journals []Journal

// Append implements Journal.
func (all journals) Append(unit []store.Effect) {
	for _, j := range all {
		j.Append(unit)
	}
}

// keeper is a journal that may keep its units. It gets a copy if other journals receive the unit, too.
type keeper struct {
	Journal
	copies bool
}

// Append implements Journal.
func (k keeper) Append(unit []store.Effect) {
	if k.copies {
		unit = cloneUnit(unit)
	}
	k.Journal.Append(unit)
}

// cloneUnit copies a unit, because a journal may keep it.
func cloneUnit(unit []store.Effect) []store.Effect {
	own := make([]store.Effect, len(unit))
	for i, e := range unit {
		own[i] = store.Effect{DB: e.DB, Args: commands.CloneAll(e.Args)}
	}
	return own
}
