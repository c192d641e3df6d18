package server

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/config"
	"lockserver/server/clock"
	"lockserver/server/testmode"
)

// What test mode (package testmode) does to the server: its clock, and the faults of its connections.

// testHost is the executor as the commands of test mode see it.
type testHost struct{ *executor }

var _ testmode.Controls = testHost{}

// testHostOf is the host of the server that runs the command.
func testHostOf(c *commands.Ctx) testmode.Controls { return testHost{sessionOf(c).executor} }

// fitTestMode refuses a configuration that test mode must not have, and makes it one without files. It does
// nothing without test mode.
func fitTestMode(c *config.Config) error {
	if !c.TestMode {
		return testmode.Alone(c)
	}
	return testmode.Fit(c)
}

// errTestOptions is returned by New.
var errTestOptions = errors.New("server: test-mode has a clock of its own, and no group")

// testable refuses options beside the configuration that test mode must not have.
func testable(o *Options, c *config.Config) error {
	switch {
	case !c.TestMode:
		return nil
	case o.Clock != nil || o.Group != nil || o.Raft != nil:
		return errTestOptions
	case o.Listener != nil:
		if err := testmode.FitListener(o.Listener.Addr()); err != nil {
			return fmt.Errorf("server: %w", err)
		}
	}
	return nil
}

// staysInTestMode refuses a change of the configuration that test mode must not have. The error is a
// *config.SetError.
func staysInTestMode(next *config.Config, names []string) error {
	if !next.TestMode {
		return nil
	}
	fit := next.Clone()
	if err := testmode.Fit(fit); err != nil {
		return &config.SetError{Name: names[0], Reason: err.Error()}
	}
	if name := named(names, listening...); name != "" && next.TestTopology != testmode.Standalone {
		return &config.SetError{Name: name, Reason: "test-topology: clients know the members by their ports"}
	}
	if next.DBFilename != "" || len(next.Save) > 0 {
		return &config.SetError{Name: names[0], Reason: "test-mode: nothing is kept"}
	}
	return nil
}

// Clock implements testmode.Controls.
func (h testHost) Clock() *clock.Adjustable { return h.clock.(*clock.Adjustable) }

// Faults implements testmode.Controls.
func (h testHost) Faults() *testmode.Faults { return h.faults }

// Seed implements testmode.Controls.
func (h testHost) Seed(n uint64) { h.chance.Seed(n, n>>1|1) }

// errGoesOn answers a client that no longer waits for what it asked for.
const errGoesOn commands.Error = "ERR this is still being done"

// Meanwhile implements testmode.Controls.
func (h testHost) Meanwhile(c *commands.Ctx, work func(), reply func(c *commands.Ctx)) error {
	over := false
	err := sessionOf(c).await(c, 0, func() bool { return over }, func(c *commands.Ctx) {
		if over {
			reply(c)
		} else {
			c.Out.Error(string(errGoesOn)) // CLIENT UNBLOCK
		}
	})
	go func() {
		work()
		h.do(func() {
			over = true
			h.answerWaits()
		})
	}()
	return err
}

// frozen reports whether the clock stands still until a client moves it.
func (ex *executor) frozen() bool {
	c, ok := ex.clock.(*clock.Adjustable)
	return ok && c.Frozen()
}

// faultHook is the hook by which faults strike.
type faultHook struct {
	executor *executor
	struck   map[*parkedCall]testmode.Fault // what becomes of the replies of calls that wait
}

// run implements hook: the fault that strikes the command is done.
func (h *faultHook) run(s *session, row *commands.Row, argv [][]byte) error {
	ex := h.executor
	if !ex.faults.Some() && !ex.chaos.On() {
		return ex.count(s, row, argv)
	}
	call := testmode.Call{Command: row.FullName(), Group: row.Group, Client: s.id, Keys: func() (keys [][]byte) {
		refs, _ := ex.table.KeyRefs(row, argv, nil)
		for _, ref := range refs {
			keys = append(keys, argv[ref.Pos])
		}
		return keys
	}}
	if strings.HasPrefix(call.Command, "test.") {
		return ex.count(s, row, argv)
	}
	f, ok := ex.faults.Strike(&call)
	if !ok {
		f, ok = h.chaosStrikes(s, &call)
		ex.prepare(&ex.ctx, s, row, argv) // it may have answered waiters
	}
	switch {
	case !ok:
		return ex.count(s, row, argv)
	case f.Kind == testmode.Error:
		return commands.Error(f.Text)
	case f.Kind == testmode.DropBefore:
		s.closing = true
		return nil
	}
	mark := s.out.Mark()
	err := ex.count(s, row, argv)
	if s.waiter != nil {
		maps.DeleteFunc(h.struck, func(w *parkedCall, _ testmode.Fault) bool { return w.session.waiter != w }) // its client has gone
		h.struck[s.waiter] = f
		return err
	}
	switch f.Kind {
	case testmode.Close:
		s.closing = true
	case testmode.DropAfter:
		s.closing = true
		s.out.Rollback(mark)
		return nil
	case testmode.Delay:
		if err != nil {
			ex.refuse(s, mark, err)
		}
		ex.prepare(&ex.ctx, s, row, argv)
		return ex.delayReply(&ex.ctx, mark, f.DelayMS)
	}
	return err
}

// delayReply makes the reply behind mark come later. Until then the session waits.
func (ex *executor) delayReply(c *commands.Ctx, mark int, delayMS int64) error {
	late := commands.Clone(c.Out.Buf[mark:])
	c.Out.Rollback(mark)
	return ex.park(c, commands.Wait{DeadlineMS: c.NowMS() + delayMS, Try: func(*commands.Ctx) (bool, error) { return false, nil },
		TimedOut: func(c *commands.Ctx) { c.Out.Raw(late) }})
}

// answered implements hook. What has waited is not delayed any more.
func (h *faultHook) answered(w *parkedCall, mark int) {
	f, ok := h.struck[w]
	if !ok {
		return
	}
	delete(h.struck, w)
	switch f.Kind {
	case testmode.DropAfter:
		w.session.out.Rollback(mark)
		w.session.closing = true
	case testmode.Close:
		w.session.closing = true
	}
}

// Faults are what goes wrong on purpose on the server's connections; nil unless it is in test mode.
func (srv *Server) Faults() *testmode.Faults { return srv.executor.faults }

// Chaos is what TEST.CHAOS strikes commands with; nil unless the server is in test mode.
func (srv *Server) Chaos() *testmode.Chaos { return srv.executor.chaos }

// TestClock is the clock of a server in test mode; nil: it is in none.
func (srv *Server) TestClock() *clock.Adjustable {
	c, _ := srv.executor.clock.(*clock.Adjustable)
	return c
}

// errNotInTests answers what would tie other servers to the time of a test.
const errNotInTests commands.Error = "ERR not in test mode: no other server is to follow its clock"

// aloneInTests refuses the commands of replication in test mode.
func aloneInTests(rows []commands.Row) []commands.Row {
	for i := range rows {
		switch rows[i].Name {
		case "replicaof", "slaveof", "psync", "sync":
		default:
			continue
		}
		run := rows[i].Run
		rows[i].Run = func(c *commands.Ctx) error {
			if sessionOf(c).executor.faults != nil && (len(c.Argv) != 3 || !ascii.EqualFold(c.Argv[1], "no")) {
				return errNotInTests
			}
			return run(c)
		}
	}
	return rows
}
