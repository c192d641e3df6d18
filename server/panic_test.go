package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/resp"
)

func levelVar(l slog.Level) *slog.LevelVar {
	v := new(slog.LevelVar)
	v.Set(l)
	return v
}

// startWithRows runs a server that has commands of the test's beside its own.
func startWithRows(t *testing.T, o Options, rows []commands.Row) *instance {
	t.Helper()
	srv, err := newInstance(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.executor.useTable(newCatalogue(rows)))
	srv.executor.applyConfig() // what goes by rows
	require.NoError(t, srv.Start())
	return srv
}

// arrayOf writes replies on one line.
func arrayOf(replies []resp.Value) string {
	return resp.Value{Kind: resp.Array, Elems: replies}.String()
}

// panicRows are commands that fail us in every place where a command runs.
func panicRows() []commands.Row {
	row := func(name string, flags commands.Flags, access commands.KeyFlags, run func(c *commands.Ctx) error) commands.Row {
		return commands.Row{Name: name, Group: commands.Server, Since: "1.0.0", Flags: flags, Run: run,
			Summary: "Panics.", Complexity: "O(1)", Args: []commands.Arg{commands.Key("key", access)}}
	}
	const read = commands.RO | commands.Access
	boom := func(c *commands.Ctx) error {
		c.Out.BulkString("half a reply")
		panic("boom")
	}
	return []commands.Row{
		row("readboom", commands.ReadOnly, read, boom),
		row("writeboom", commands.Write, commands.RW|commands.Update, boom),
		row("waitboom", commands.ReadOnly|commands.Blocking, read, func(c *commands.Ctx) error {
			c.Block(commands.Wait{Keys: [][]byte{commands.Clone(c.Argv[1])},
				Try:      func(c *commands.Ctx) (bool, error) { return true, boom(c) },
				TimedOut: func(c *commands.Ctx) { c.Out.Null() }})
			return nil
		}),
	}
}

// A command that only reads cannot have damaged anything: its client gets an error, all others go on.
func TestPanicOfAReader(t *testing.T) {
	t.Parallel()
	srv := startWithRows(t, Options{}, panicRows())
	a, b := client(t, srv), client(t, srv)
	require.Equal(t, `[+PONG -ERR internal error, the server's log tells more +PONG]`,
		arrayOf(a.Pipeline([][]string{{"PING"}, {"READBOOM", "k"}, {"PING"}})))
	b.Send("WAITBOOM", "k")
	awaitParked(t, srv, 1)
	require.Equal(t, "+OK", a.Do("SET", "k", "v").String())
	require.Equal(t, "-ERR internal error, the server's log tells more", b.Receive().String())
	require.Equal(t, "+PONG", b.Do("PING").String())
	checkParking(t, srv)
}

// After one that writes the data may be damaged: the server ends, says so by its
// exit code, and does not save.
func TestPanicOfAWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := startWithRows(t, Options{Directives: inDir(dir).Directives()}, panicRows())
	a, b := client(t, srv), client(t, srv)
	require.Equal(t, "+PONG", b.Do("PING").String(), "it is connected, and not refused later")
	a.Do("SET", "k", "v")
	require.Equal(t, "+OK", a.Do("SAVE").String())
	before, err := os.ReadFile(filepath.Join(dir, "dump.rdb"))
	require.NoError(t, err)
	a.Do("SET", "k", "w")
	_, err = a.CallPipeline([][]string{{"WRITEBOOM", "k"}, {"SET", "k", "x"}}) // in one write: the first ends the connection
	require.Error(t, err, "SET is not answered")
	<-srv.Done()
	require.Equal(t, 1, srv.ExitCode())
	awaitClosed(t, b.Conn())
	require.Equal(t, errClosed, srv.Shutdown(ShutdownOptions{Save: true}))
	after, err := os.ReadFile(filepath.Join(dir, "dump.rdb"))
	require.NoError(t, err)
	require.Equal(t, before, after)
}
