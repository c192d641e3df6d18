package shard

import (
	"fmt"
	"log/slog"
	"runtime/debug"

	"lockserver/commands"
)

// Damage is a panic that may have left the data, or what all sessions share, half changed. Nothing contains
// it.
type Damage struct{ cause error }

func (d Damage) Error() string { return d.cause.Error() }

// Damaging is deferred by what changes shared things outside of any command. It makes a panic there a damage.
func (f *Fate) Damaging() {
	if p := recover(); p != nil {
		f.Damaged(p)
	}
}

// Damaged goes on with a panic as a damage. The caller holds the lock. If foreign code, as that of scripts,
// swallows the panic, no command runs any more all the same.
func (f *Fate) Damaged(p any) {
	if _, ok := p.(Damage); ok {
		panic(p)
	}
	f.Logger.Error("the server panicked in what all clients share: ending the process", "panic", p, "stack", string(debug.Stack()))
	err := fmt.Errorf("panic: %v", p)
	f.Fail(err)
	panic(Damage{err})
}

// Contain is call for what a command left to be done later.
func (sh *Shard) Contain(row *commands.Row, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = sh.Panicked(row, p)
		}
	}()
	return f()
}

// Panicked turns a handler's panic into an error. A command that only reads cannot have damaged anything.
// After a command that writes, going on could make wrong data permanent, so the server stops without saving.
func (sh *Shard) Panicked(row *commands.Row, p any) error {
	if _, ok := p.(Damage); ok {
		panic(p)
	}
	sh.server.CommandPanicked()
	sh.Logger.Error("a command panicked", "command", row.FullName(), "panic", p, "stack", string(debug.Stack()))
	if row.Flags.Has(commands.Write) {
		sh.Fail(fmt.Errorf("%s panicked: %v", row.FullName(), p))
	}
	return commands.ErrInternal
}

// Fail stops the server for good: the data in memory can no longer be trusted.
func (f *Fate) Fail(err error) {
	if f.Failed == nil {
		f.Failed = err
		f.Logger.Error("stopping without saving: the data may be damaged", "cause", err)
		f.stop(1)
	}
}

// Fate is the way a shard ends.
type Fate struct {
	Logger *slog.Logger
	Ending bool  // the server closes: no further command runs
	Failed error // a write command panicked: the data may be damaged, and no command runs any more
	stop   func(code int)
}
