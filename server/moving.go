package server

import (
	"context"
	"time"

	"lockserver/commands"
	"lockserver/internal/keyevent"
	"lockserver/server/dump"
	"lockserver/store"
)

// MIGRATE sends keys to another server while the client waits. The executor is not held meanwhile, so other
// clients may change the keys: such a key stays here, because the target has an older value.

// move is a MIGRATE under way.
type move struct {
	*dump.Migration
	db      *store.DB
	dbID    int // when it began: SWAPDB changes it
	session *session
	waiter  *parkedCall     // how the client waits
	changed map[string]bool // keys that are not any more as they were sent
}

// movingKey is a key that a MIGRATE has sent.
type movingKey struct {
	db  int
	key string
}

// moving are the keys of all moves. It is only touched under the executor.
type moving map[movingKey][]*move

// keyChanged notes that a key is not any more as it was sent.
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

// carry implements dump.Host.Carry.
func (ex *executor) carry(c *commands.Ctx, m *dump.Migration) error {
	mv := &move{Migration: m, db: c.DB, dbID: c.DB.ID(), session: sessionOf(c), changed: map[string]bool{}}
	if !c.MayBlock {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(min(m.TimeoutMS(), mostHeldMS))*time.Millisecond)
		defer cancel()
		m.Send(ctx, &ex.targets)
		return ex.reply(c, m, ex.removeMoved(mv))
	}
	lost := func(c *commands.Ctx) { c.Out.Error(commands.ErrMigrateRead.Error()) } // CLIENT UNBLOCK: nobody knows yet
	if err := c.Block(commands.Wait{TimedOut: lost, Try: func(*commands.Ctx) (bool, error) { return false, nil }}); err != nil {
		return err
	}
	mv.waiter = mv.session.waiter
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
		m.Send(ctx, &ex.targets)
		ex.do(func() { ex.endMove(mv) })
	})
	return nil
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
	for _, key := range mv.Moved() {
		if mv.changed[string(key)] || ex.follows || ex.failed != nil || ex.durable.Broken() != nil {
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
