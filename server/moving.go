package server

import (
	"context"
	"time"

	"lockserver/commands"
	"lockserver/internal/keyevent"
	"lockserver/server/dump"
	"lockserver/server/gate"
	"lockserver/store"
)

// MIGRATE sends keys to another server while the client waits. The executor is not held meanwhile, so other
// clients may change the keys: such a key stays here, because the target has an older value.
//
// Keys are sent when a reply about them might leave: in a raft group when a majority has confirmed that this
// server leads and that the keys are committed; otherwise when as many replicas as min-replicas-ack says have
// them.

// move is a MIGRATE under way.
type move struct {
	*dump.Migration
	db      *store.DB
	dbID    int // when it began: SWAPDB changes it
	session *session
	waiter  *parkedCall     // how the client waits
	changed map[string]bool // keys that are not any more as they were sent
	due     int64           // the position that has to be safe before anything is sent; 0: none
	lostTo  int64           // what had been lost when it began: see gate.Gate
}

// movingKey is a key that a MIGRATE has sent.
type movingKey struct {
	db  int
	key string
}

// moving are the keys of all moves. It is only touched under the executor.
type moving map[movingKey][]*move

// keyChanged records that a key has changed since it was sent.
func (m moving) keyChanged(db int, key []byte) {
	for _, mv := range m[movingKey{db, string(key)}] {
		mv.changed[string(key)] = true
	}
}

// databaseChanged is keyChanged for every key of a database.
func (m moving) databaseChanged(db int) {
	for at, moves := range m {
		if at.db != db {
			continue
		}
		for _, mv := range moves {
			mv.changed[at.key] = true
		}
	}
}

// enter watches the keys of a move; leave ends that.
func (m moving) enter(mv *move) {
	for _, key := range mv.Keys {
		at := movingKey{mv.dbID, string(key)}
		m[at] = append(m[at], mv)
	}
}

func (m moving) leave(mv *move) {
	for _, key := range mv.Keys {
		at := movingKey{mv.dbID, string(key)}
		var others []*move
		for _, other := range m[at] {
			if other != mv {
				others = append(others, other)
			}
		}
		if m[at] = others; len(others) == 0 {
			delete(m, at)
		}
	}
}

// mostHeldMS bounds a MIGRATE for which the server stands still: one of a transaction or a script.
const mostHeldMS = 10_000

// carry implements dump.Transfer.Carry.
func (ex *executor) carry(c *commands.Ctx, m *dump.Migration) error {
	mv := &move{Migration: m, db: c.DB, dbID: c.DB.ID(), session: sessionOf(c), changed: map[string]bool{}, lostTo: ex.copied.LostTo()}
	if !c.MayBlock {
		if ex.member != nil {
			return commands.ErrMigrateHeld
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(min(m.TimeoutMS(), mostHeldMS))*time.Millisecond)
		defer cancel()
		m.Send(ctx, &ex.targets)
		return ex.reply(c, m, ex.removeMoved(mv))
	}
	lost := func(c *commands.Ctx) { c.Out.Error(commands.ErrMigrateRead.Error()) } // CLIENT UNBLOCK: the result is not known yet
	if err := c.Block(commands.Wait{TimedOut: lost, Try: func(*commands.Ctx) (bool, error) { return false, nil }}); err != nil {
		return err
	}
	mv.waiter = mv.session.waiter
	if ex.needsAcks {
		mv.due = ex.ackDue(mv.session)
	}
	if !m.Copy {
		ex.moving.enter(mv)
		ex.observe()
	}
	ex.host.background(func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			select {
			case <-ex.host.ending():
				cancel()
			case <-ctx.Done():
			}
		}()
		if ex.maySend(mv) {
			m.Send(ctx, &ex.targets)
		} else {
			m.Refuse(commands.ErrMigrateNotSent)
		}
		ex.do(func() { ex.endMove(mv) })
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

// maySend waits until the keys may be sent; false: they may never be, or the server ends.
func (ex *executor) maySend(mv *move) bool {
	p := &proof{passed: make(chan struct{})}
	// plant:migrate-proof
	if ex.copied.Wait(p, &p.place, mv.due) {
		select {
		case <-p.passed:
		case <-ex.host.ending():
			return false
		}
	}
	return !ex.copied.Lost(mv.due)
}

// endMove removes what has been moved, and answers. While writes are held it waits: a replica may be about to
// take the server's place.
func (ex *executor) endMove(mv *move) {
	if p := &ex.pausing; p.untilMS != 0 && !mv.Copy {
		p.after = append(p.after, func() { ex.endMove(mv) })
		return
	}
	ex.tracking.act(mv.session)
	kept := ex.removeMoved(mv)
	ex.tracking.act(nil)
	if s := mv.session; s.waiter != nil && s.waiter == mv.waiter {
		ex.answer(mv.waiter, func(c *commands.Ctx) error { return ex.reply(c, mv.Migration, kept) })
	}
}

// removeMoved removes the keys that the target has, and are as they were sent. kept: some are not, or may not
// be removed here.
func (ex *executor) removeMoved(mv *move) (kept bool) {
	if mv.Copy {
		return false
	}
	ex.moving.leave(mv)
	ex.observe()
	anew := ex.member != nil && ex.copied.LostTo() > mv.lostTo // the data was made anew meanwhile
	for _, key := range mv.Moved() {
		if anew || mv.changed[string(key)] || ex.follows || ex.failed != nil || ex.durable.Broken() != nil {
			kept = true
		} else if mv.db.Delete(key) && ex.settings.Events&keyevent.Generic != 0 {
			ex.KeyEvent(mv.db, "del", key)
		}
	}
	return kept
}

// reply tells the client how a MIGRATE went.
func (ex *executor) reply(c *commands.Ctx, m *dump.Migration, kept bool) error {
	switch {
	case m.Err() != nil:
		return m.Err()
	case kept:
		return commands.ErrMigrateKept
	}
	c.Out.OK()
	return nil
}
