package script

import (
	"bytes"
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/store"
	"lockserver/tests/tabletest"
)

// testHost runs the commands of one client on a store of its own, without anything of a server.
type testHost struct {
	t      *testing.T
	engine *Engine
	table  *commands.Table
	store  *store.Store

	refusal  error  // what RefusesWrites says
	yield    func() // what others do while a script is busy
	failed   bool   // the server has failed
	idle     int    // calls of Idle
	ended    int    // calls of End
	stopped  int    // of these, for scripts that were stopped
	full     bool   // what Full says
	commands []string
	// errors, rejected and failures are the counted outcomes.
	errors, rejected, failures []string
}

func newTestHost(t *testing.T) *testHost {
	h := &testHost{t: t, store: store.New(1, store.Limits{}), yield: func() {}}
	h.engine = New(Options{Host: h, Log: slog.New(slog.DiscardHandler), Version: "7.4.0"})
	h.table = commands.NewTable(append(commands.Families(), Rows(func(*commands.Ctx) *Engine { return h.engine }))...)
	return h
}

// do runs a client's command.
func (h *testHost) do(words ...string) string {
	h.t.Helper()
	return tabletest.Reply(h.t, 2, func(argv [][]byte, out *resp.Writer) error {
		row, err := h.table.Resolve(argv)
		require.NoError(h.t, err)
		return row.Run(&commands.Ctx{Argv: argv, Row: row, Table: h.table, Out: out, DB: h.store.DB(0), Rand: rand.New(rand.NewPCG(1, 1)),
			Session: h, Settings: &commands.Settings{MaxStringBytes: math.MaxInt64}})
	}, words...).String()
}

// ID implements commands.Session.
func (h *testHost) ID() int64 { return 1 }

// Show implements Caller.
func (h *testHost) Show(c *commands.Ctx) { h.commands = append(h.commands, c.Row.FullName()) }

// Call implements Caller.
func (h *testHost) Call(c *commands.Ctx) (failed bool, err error) {
	h.commands = append(h.commands, c.Row.FullName())
	c.DB = h.store.DB(0)
	err = c.Row.Run(c)
	return h.failed, err
}

// Obeys implements Caller.
func (h *testHost) Obeys(*commands.Ctx) bool { return false }

// End implements Caller.
func (h *testHost) End(_ *commands.Ctx, stopped bool) {
	h.ended++
	if stopped {
		h.stopped++
	}
}

// Permit implements Caller.
func (h *testHost) Permit(*commands.Ctx, *commands.Row, [][]byte) error { return nil }

// Redirect implements Caller.
func (h *testHost) Redirect(*commands.Ctx, *commands.Row, [][]byte) error { return nil }

// Permitted implements Caller.
func (h *testHost) Permitted(*commands.Ctx, *commands.Row, [][]byte) bool { return true }

// Lifts implements Caller.
func (*testHost) Lifts(*commands.Row, [][]byte) bool { return false }

// RefusesWrites implements Caller.
func (h *testHost) RefusesWrites(*commands.Ctx) error { return h.refusal }

// Stale implements Caller.
func (h *testHost) Stale() bool { return false }

// CountError implements Caller.
func (h *testHost) CountError(text string) { h.errors = append(h.errors, text) }

// CountRejected implements Caller.
func (h *testHost) CountRejected(row *commands.Row) { h.rejected = append(h.rejected, row.FullName()) }

// CountFailed implements Caller.
func (h *testHost) CountFailed(row *commands.Row) { h.failures = append(h.failures, row.FullName()) }

// Full implements Caller.
func (h *testHost) Full() bool { return h.full }

// Loading implements Caller.
func (h *testHost) Loading() bool { return false }

// Yield implements Caller.
func (h *testHost) Yield(*commands.Ctx) (failed bool) {
	h.yield()
	return h.failed
}

// Idle implements Caller.
func (h *testHost) Idle() { h.idle++ }

// DumpLibraries implements Caller.
func (h *testHost) DumpLibraries(sources [][]byte) []byte { return bytes.Join(sources, []byte{0}) }

// ParseLibraries implements Caller.
func (h *testHost) ParseLibraries(payload []byte) ([][]byte, error) {
	return bytes.Split(payload, []byte{0}), nil
}

var _ Caller = (*testHost)(nil)
