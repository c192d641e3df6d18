package server

import (
	"fmt"
	"io"
	"math"

	"lockserver/commands"
	"lockserver/persistence"
	"lockserver/persistence/aof"
)

// replayer puts what a log holds into the server's data; it implements aof.Input. Commands run as
// their clients' would have, but that nobody waits, nobody is told, and time stands still: only
// the log's own DEL removes a key.
//
// It runs under the executor.
type replayer struct {
	executor *executor
	session  *session
	ctx      commands.Ctx
	// settings are those of the server, without the bounds that may be narrower
	// than when the log was written.
	settings commands.Settings
}

func (ex *executor) newReplayer() *replayer {
	s := &session{executor: ex, transport: nobody{}, db: ex.store.DB(0), authenticated: true}
	s.out.Proto = 2
	return &replayer{executor: ex, session: s,
		settings: commands.Settings{MaxStringBytes: math.MaxInt64, LockWatchdogMS: ex.settings.LockWatchdogMS}}
}

// Begin implements aof.Input.
func (r *replayer) Begin(file string) error {
	r.session.db = r.executor.store.DB(0)
	if r.executor.loading != nil {
		r.executor.loading.file = file
	}
	return nil
}

// Snapshot implements aof.Input.
func (r *replayer) Snapshot(from io.Reader) (bytes int64, err error) {
	got, err := persistence.Load(from, r.executor.store, r.executor.config.RDBChecksum)
	r.executor.seeTokenLimit(got.TokenLimit)
	if err == nil {
		err = r.executor.loadFunctions(got.Functions)
	}
	return got.Bytes, err
}

// Command implements aof.Input.
func (r *replayer) Command(argv [][]byte) error {
	ex := r.executor
	row, err := ex.table.Resolve(argv)
	if err != nil {
		return fmt.Errorf("%.40q: %w", argv[0], err)
	}
	if row.Flags&(commands.Write|commands.MayReplicate) == 0 && row.Name != "select" {
		return fmt.Errorf("%s changes no data and has no place in a log", row.FullName())
	}
	c, s := &r.ctx, r.session
	ex.prepare(c, s, row, argv)
	c.Settings, c.MayBlock = &r.settings, false
	err = ex.contain(row, func() error { return row.Run(c) })
	s.out.Buf = s.out.Buf[:0]
	if cap(s.out.Buf) > batchOutput {
		s.out.Buf = nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", row.FullName(), err)
	}
	r.executor.seeTokenLimit(aof.TokenIn(argv))
	return nil
}

// nobody is the transport of a session without a client.
type nobody struct{}

func (nobody) kick(*loop)                      {}
func (nobody) send([]byte, bool) (bool, error) { return false, nil }
func (nobody) buffered() int                   { return 0 }
func (nobody) unsent() int                     { return 0 }
func (nobody) unacked() int                    { return 0 }
func (nobody) guardPeer(int64)                 {}
func (nobody) heard() silence                  { return silence{} }
func (nobody) hangUp()                         {}
func (nobody) attach(*session)                 {}
func (nobody) whileBusy()                      {}
func (nobody) peerGone() bool                  { return false }
func (nobody) awaitDrain(int) bool             { return false }

var _ aof.Input = (*replayer)(nil)
