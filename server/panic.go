package server

import (
	"fmt"
	"runtime/debug"

	"lockserver/commands"
)

// What a panic costs: docs/decisions/0007. Commands contain their own (executor.call and contain). Some work
// around commands is done for one connection: decoding, looking ahead, sending. A panic there costs that
// connection (session.contain, and the connections' own). After a panic in what all clients share, no code
// can know what is intact: the panic passes through all of those as a damage, and ends the process.

// damage is a panic that may have left the data, or what all sessions share, half changed. Nothing contains
// it.
type damage struct{ cause error }

func (d damage) Error() string { return d.cause.Error() }

// damaging is deferred by what changes shared things outside of any command. It makes a panic there a damage.
func (l *life) damaging() {
	if p := recover(); p != nil {
		l.damaged(p)
	}
}

// damaged goes on with a panic as a damage. The caller holds the lock. If foreign code, as that of scripts,
// swallows the panic, no command runs any more all the same.
func (l *life) damaged(p any) {
	if _, ok := p.(damage); ok {
		panic(p)
	}
	l.log.Error("the server panicked in what all clients share: ending the process", "panic", p, "stack", string(debug.Stack()))
	err := fmt.Errorf("panic: %v", p)
	l.fail(err)
	panic(damage{err})
}

// Panicked implements transport.Session: it logs a panic that costs a connection only; one that costs more
// goes on.
func (s *session) Panicked(p any) {
	if d, ok := p.(damage); ok {
		panic(d)
	}
	s.executor.log.Error("a connection panicked", "client", s.Number, "addr", s.Info.Addr, "panic", p, "stack", string(debug.Stack()))
}

// contain is call for what a command left to be done later.
func (ex *executor) contain(row *commands.Row, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = ex.panicked(row, p)
		}
	}()
	return f()
}

// panicked turns a handler's panic into an error. A command that only reads cannot have damaged anything;
// after one that writes, going on could make wrong data permanent, so the server stops without saving.
func (ex *executor) panicked(row *commands.Row, p any) error {
	if _, ok := p.(damage); ok {
		panic(p)
	}
	ex.tracking.Act(nil)
	ex.log.Error("a command panicked", "command", row.FullName(), "panic", p, "stack", string(debug.Stack()))
	if row.Flags.Has(commands.Write) {
		ex.fail(fmt.Errorf("%s panicked: %v", row.FullName(), p))
	}
	return commands.ErrInternal
}

// fail stops the server for good: the data in memory can no longer be trusted.
func (l *life) fail(err error) {
	if l.failed == nil {
		l.failed = err
		l.log.Error("stopping without saving: the data may be damaged", "cause", err)
		l.host.requestStop(1)
	}
}
