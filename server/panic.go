package server

import (
	"fmt"
	"runtime/debug"

	"lockserver/internal/resp"
	"lockserver/server/transport"
)

// What a panic costs: docs/decisions/0007. Commands contain their own (executor.call and contain). What
// happens around them on behalf of one connection, decoding, looking ahead, sending, costs that connection
// (session.contain, and the connections' own). Behind a panic in what everybody shares, nobody can tell what
// is whole: it passes through all of those as a damage, and ends the process.

// stage is what a session's owner is doing, for the case that it panics there.
type stage uint8

const (
	// aside: it does not hold the executor's lock. Nothing but the session and the
	// owner's batch can be half done.
	aside stage = iota
	// between: it holds the lock and is at commands, but in none of them, nor in what changes shared things
	// (a panic there is a damage). What the last command has changed it has changed wholly.
	between
	// within: it holds the lock and may be in the middle of anything.
	within
)

// damage is a panic behind which the data, or what all sessions share, may be half
// changed. Nothing contains it.
type damage struct{ cause error }

func (d damage) Error() string { return d.cause.Error() }

// damaging is deferred by what changes shared things outside of any command. It makes a panic there a damage.
func (ex *executor) damaging() {
	if p := recover(); p != nil {
		ex.damaged(p)
	}
}

// damaged goes on with a panic as a damage. The caller holds the lock. Should somebody else's code, as that
// of scripts, swallow it, nothing runs any more all the same.
func (ex *executor) damaged(p any) {
	if _, ok := p.(damage); ok {
		panic(p)
	}
	ex.log.Error("the server panicked in what all clients share: ending the process", "panic", p, "stack", string(debug.Stack()))
	err := fmt.Errorf("panic: %v", p)
	ex.fail(err)
	panic(damage{err})
}

// contain is deferred by Feed. It makes a panic end the connection instead of the process.
func (s *session) contain(b *batch, from *transport.Loop, hangUp *bool) {
	if p := recover(); p != nil {
		if s.stage == within {
			s.executor.damaged(p)
		}
		s.Panicked(p)
		s.abandon(b, from)
		*hangUp = true
	}
}

// Panicked implements transport.Session: it logs a panic that costs a connection only; one that costs more
// goes on.
func (s *session) Panicked(p any) {
	if d, ok := p.(damage); ok {
		panic(d)
	}
	s.executor.log.Error("a connection panicked", "client", s.id, "addr", s.info.addr, "panic", p, "stack", string(debug.Stack()))
}

// abandon makes everything as if the session's owner had come to an end where it panicked: the unit is ended,
// the lock let go, and what the session has got, but for what is to be taken back, is dropped.
func (s *session) abandon(b *batch, from *transport.Loop) {
	ex := s.executor
	defer ex.damaging()
	if s.stage == aside {
		ex.mu.Lock()
		if !ex.busy.on {
			ex.begin()
		}
	}
	s.stage = within
	s.closing = true
	s.out.Buf = nil
	s.decoder, s.backlog = resp.Decoder{}, nil
	ex.store.SetNoTouch(false)
	var touched []*session
	if !ex.busy.on {
		ex.endUnit()
		touched = ex.end()
	}
	s.stage = aside
	ex.mu.Unlock()
	b.forget()
	kick(s.toKick, from)
	s.toKick = nil
	kick(touched, from)
}

// forget drops what a batch holds, but for the room that may be still to be sent from.
func (b *batch) forget() { *b = batch{rooms: b.rooms} }
