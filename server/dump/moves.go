package dump

import (
	"context"
	"time"

	"lockserver/commands"
	"lockserver/server/gate"
	"lockserver/store"
)

// MIGRATE sends keys to another server while the client waits. The server continues meanwhile, so other
// clients may change the keys: a changed key stays here, because the target has an older value.
//
// Keys are sent when a reply about them might be sent. In a raft group that is when a majority has confirmed
// that this server leads and that the keys are committed. Otherwise min-replicas-ack replicas must have the
// keys.

// State is a server's state for the commands of this package. The zero value is ready for use. It may only be
// used under the server's lock, except Targets, which has its own lock.
type State struct {
	Targets  Targets
	byKey    map[movingKey][]*move // of all moves
	warnedMS int64                 // time of the last warning about a payload
}

// move is a running MIGRATE.
type move struct {
	*migration
	host    Transfer
	db      *store.DB
	dbID    int // database number at the beginning, because SWAPDB changes it
	client  Client
	changed map[string]bool // keys that have changed since they were sent
	due     int64           // the position that must be safe before any key is sent; 0: none
	lostTo  int64           // the lost position at the beginning: see gate.Gate
}

// Client is the client of a waiting MIGRATE.
type Client interface {
	// Act runs f. Changes that f makes count as changes of this client.
	Act(f func())
	// Answer ends the client's wait, if it has not ended, with the error or with OK.
	Answer(err error)
}

// movingKey is a key that a MIGRATE has sent.
type movingKey struct {
	db  int
	key string
}

// Watches reports whether KeyChanged and DatabaseChanged must be called.
func (st *State) Watches() bool { return len(st.byKey) > 0 }

// KeyChanged records that a sent key has changed.
func (st *State) KeyChanged(db int, key []byte) {
	for _, mv := range st.byKey[movingKey{db, string(key)}] {
		mv.changed[string(key)] = true
	}
}

// DatabaseChanged calls KeyChanged for every key of a database.
func (st *State) DatabaseChanged(db int) {
	for at, moves := range st.byKey {
		if at.db != db {
			continue
		}
		for _, mv := range moves {
			mv.changed[at.key] = true
		}
	}
}

// MayWarn reports whether a warning about a payload may be logged now: at most one in a second, because a
// client determines how many there are.
func (st *State) MayWarn(nowMS int64) bool {
	if nowMS-st.warnedMS < 1000 && st.warnedMS <= nowMS {
		return false
	}
	st.warnedMS = nowMS
	return true
}

// enter starts watching the keys of a move; leave ends that.
func (st *State) enter(mv *move) {
	if st.byKey == nil {
		st.byKey = make(map[movingKey][]*move)
	}
	for _, key := range mv.keys {
		at := movingKey{mv.dbID, string(key)}
		st.byKey[at] = append(st.byKey[at], mv)
	}
}

func (st *State) leave(mv *move) {
	for _, key := range mv.keys {
		at := movingKey{mv.dbID, string(key)}
		var others []*move
		for _, other := range st.byKey[at] {
			if other != mv {
				others = append(others, other)
			}
		}
		if len(others) == 0 {
			delete(st.byKey, at)
		} else {
			st.byKey[at] = others
		}
	}
}

// mostHeldMS limits a MIGRATE during which the server does nothing else: in a transaction or a script.
const mostHeldMS = 10_000

// carry sends the keys, removes the keys that the target has, and replies. The client waits for it if it can.
func (st *State) carry(c *commands.Ctx, host Transfer, m *migration) error {
	mv := &move{migration: m, host: host, db: c.DB, dbID: c.DB.ID(), changed: map[string]bool{}, lostTo: host.Copied().LostTo()}
	if !c.MayBlock {
		if host.InGroup() {
			return commands.ErrMigrateHeld
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(min(m.timeoutMS, mostHeldMS))*time.Millisecond)
		defer cancel()
		m.send(ctx, &st.Targets)
		return Reply(c, m.result(st.remove(mv)))
	}
	lost := func(c *commands.Ctx) { c.Out.Error(commands.ErrMigrateRead.Error()) } // after CLIENT UNBLOCK the result is not known yet
	if err := c.Block(commands.Wait{TimedOut: lost, Try: func(*commands.Ctx) (bool, error) { return false, nil }}); err != nil {
		return err
	}
	mv.client, mv.due = host.Waiting(c), host.Due(c)
	if !m.copy {
		st.enter(mv)
		host.Observe()
	}
	host.Background(func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			select {
			case <-host.Ending():
				cancel()
			case <-ctx.Done():
			}
		}()
		if mv.maySend() {
			m.send(ctx, &st.Targets)
		} else {
			m.err = commands.ErrMigrateNotSent
		}
		host.Do(func() { st.end(mv) })
	})
	return nil
}

// proof waits until a position is safe, or lost.
type proof struct {
	place  gate.Place
	passed chan struct{}
}

// Release implements gate.Waiter.
func (p *proof) Release() { close(p.passed) }

// maySend waits until the keys may be sent. It returns false if they never may, or the server ends.
func (mv *move) maySend() bool {
	copied, p := mv.host.Copied(), &proof{passed: make(chan struct{})}
	// plant:migrate-proof
	if copied.Wait(p, &p.place, mv.due) {
		select {
		case <-p.passed:
		case <-mv.host.Ending():
			return false
		}
	}
	return !copied.Lost(mv.due)
}

// end removes the moved keys, and replies. It waits while writes are held, because a replica may be about to
// take over.
func (st *State) end(mv *move) {
	if !mv.copy && mv.host.AfterPause(func() { st.end(mv) }) {
		return
	}
	kept := false
	mv.client.Act(func() { kept = st.remove(mv) })
	mv.client.Answer(mv.result(kept))
}

// remove removes the keys that the target has, and that have not changed since. kept reports whether a key
// has changed, or may not be removed here.
func (st *State) remove(mv *move) (kept bool) {
	if mv.copy {
		return false
	}
	st.leave(mv)
	mv.host.Observe()
	anew := mv.host.InGroup() && mv.host.Copied().LostTo() > mv.lostTo // the data was replaced meanwhile
	for _, key := range mv.moved() {
		if anew || mv.changed[string(key)] || !mv.host.MayRemove() {
			kept = true
		} else if mv.db.Delete(key) {
			mv.host.Removed(mv.db, key)
		}
	}
	return kept
}

// result returns the reason why a MIGRATE has not moved all keys, or nil.
func (m *migration) result(kept bool) error {
	if m.err == nil && kept {
		return commands.ErrMigrateKept
	}
	return m.err
}

// Reply sends the result of a MIGRATE to the client.
func Reply(c *commands.Ctx, err error) error {
	if err == nil {
		c.Out.OK()
	}
	return err
}
