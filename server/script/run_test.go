package script

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
)

const counterLibrary = "#!lua name=counter\nlocal n = 0\nredis.register_function('count', function() n = n + 1 return n end)"

// TestHostIsAsked: each call goes to the host, which may refuse what writes; a script that has written goes
// on.
func TestHostIsAsked(t *testing.T) {
	h := newTestHost(t)
	require.Equal(t, "$nil", h.do("EVAL", "redis.call('set', 'k', 'v') return redis.call('get', 'none')", "0"))
	require.Equal(t, []string{"eval", "set", "get"}, h.commands)
	require.Equal(t, `"v"`, h.do("GET", "k"))
	require.Equal(t, Counts{Scripts: 1}, h.engine.Counts())

	h.refusal = commands.ErrMisconf
	require.Contains(t, h.do("EVAL", "return redis.call('set', 'k', 'w')", "0"), "-MISCONF")
	require.Equal(t, `"v"`, h.do("EVAL", "return redis.call('get', 'k')", "0"))
	require.Contains(t, h.do("EVAL", "#!lua\nreturn 1", "0"), "-MISCONF")
	require.Equal(t, "1", h.do("EVAL", "#!lua flags=no-writes\nreturn 1", "0"))
	h.refusal = nil
	require.Equal(t, 4, h.ended, "one was refused before it began")
	require.Zero(t, h.stopped)
	require.Nil(t, h.engine.running)
}

// TestFailedHost: nothing in a script can go on when the server has failed.
func TestFailedHost(t *testing.T) {
	h := newTestHost(t)
	h.failed = true
	require.Equal(t, "-"+commands.ErrInternal.Error(), h.do("EVAL", "pcall(redis.call, 'get', 'k') while true do end", "0"))
}

// TestBusy: a script that takes too long lets others in, who can end it unless it has written.
func TestBusy(t *testing.T) {
	h := newTestHost(t)
	h.engine.SetTimeLimit(1)
	h.yield = func() {
		require.Zero(t, h.idle)
		require.Equal(t, commands.ErrBusyScript, h.engine.BusyError())
		require.Equal(t, "-"+commands.ErrBusyScript.Error(), h.do("FUNCTION", "STATS"))
		require.Equal(t, "-"+commands.ErrBusyScript.Error(), h.do("FUNCTION", "KILL"))
		require.Equal(t, "+OK", h.do("SCRIPT", "KILL"))
	}
	require.Contains(t, h.do("EVAL", "while true do end", "0"), "Script killed by user")
	require.Equal(t, 1, h.idle)
	require.Equal(t, "-"+commands.ErrNoScriptRuns.Error(), h.do("SCRIPT", "KILL"))

	yields := 0
	h.yield = func() {
		h.engine.StopUnlessWrote()
		require.Equal(t, "-"+commands.ErrUnkillable.Error(), h.do("SCRIPT", "KILL"))
		if yields++; yields == 3 {
			h.engine.Stop()
		}
	}
	require.Equal(t, "-"+commands.ErrScriptStopped.Error(), h.do("EVAL", "redis.call('set', 'k', 'v') while true do end", "0"))
	require.Equal(t, 3, yields)
	require.Equal(t, 2, h.idle)
	require.Equal(t, 2, h.ended)
	require.Equal(t, 1, h.stopped)
}

// TestBrokenState: a Lua state that has failed inside is replaced, and so are the libraries in it.
func TestBrokenState(t *testing.T) {
	h := newTestHost(t)
	require.Equal(t, "1", h.do("EVAL", "return 1", "0"))
	require.Equal(t, `"counter"`, h.do("FUNCTION", "LOAD", counterLibrary))
	require.Equal(t, "1", h.do("FCALL", "count", "0"))
	h.engine.scripts.state.Close()
	h.engine.functions.state.Close()
	require.Contains(t, h.do("EVAL", "return 1", "0"), "-")
	require.Equal(t, "1", h.do("EVAL", "return 1", "0"))
	require.Contains(t, h.do("FCALL", "count", "0"), "-")
	require.Equal(t, "1", h.do("FCALL", "count", "0"))
	require.Equal(t, "2", h.do("FCALL", "count", "0"))
}

// TestVersionNumber: a byte for each part.
func TestVersionNumber(t *testing.T) {
	require.Equal(t, 0x00070400, versionNumber("7.4.0"))
	require.Equal(t, 0x000a0b0c, versionNumber("10.11.12"))
}

// TestErrorsAreCountedOnce: the error of a call is counted when it happens, and where it comes out only the
// script's command has failed; any other is counted where it comes out.
func TestErrorsAreCountedOnce(t *testing.T) {
	const wrongCall, unknown = "ERR Wrong number of args calling Redis command from script", "ERR Unknown Redis command called from script"
	for _, c := range []struct {
		body               string
		errors             []string
		rejected, failures []string
	}{
		{"return redis.call('get')", []string{wrongCall}, []string{"get"}, []string{"eval"}},
		{"return redis.pcall('nosuch')", []string{unknown}, nil, []string{"eval"}},
		{"redis.pcall('nosuch') return 1", []string{unknown}, nil, nil},
		{"redis.pcall('get') return {err = 'A b'}", []string{wrongCall, "A b"}, []string{"get"}, []string{"eval"}},
		{"local e = redis.pcall('nosuch') return {e, e}", []string{unknown}, nil, []string{"eval", "eval"}},
		{"return {{err = 'A b'}, {err = 'C d'}}", []string{"A b", "C d"}, nil, []string{"eval"}},
		{"local e = redis.pcall('nosuch') return redis.error_reply(e.err)", []string{unknown, unknown}, nil, []string{"eval"}},
		{"return redis.pcall({})", []string{"ERR Lua redis lib command arguments must be strings or integers"}, nil, []string{"eval"}},
	} {
		h := newTestHost(t)
		h.do("EVAL", c.body, "0")
		require.Equal(t, c.errors, h.errors, c.body)
		require.Equal(t, c.rejected, h.rejected, c.body)
		require.Equal(t, c.failures, h.failures, c.body)
	}
}

// TestFullAtTheStart: what was so when the command began counts for all of its script, which says whether it
// can do with it.
func TestFullAtTheStart(t *testing.T) {
	h := newTestHost(t)
	h.full = true
	const write = "return redis.call('set', 'k', 'v')"
	full := "-" + commands.ErrOutOfMemory.Error()
	require.Contains(t, h.do("EVAL", write, "0"), full)
	require.Equal(t, "-"+commands.ErrScriptFull.Error(), h.do("EVAL", "#!lua\nreturn 1", "0"))
	require.Equal(t, "+OK", h.do("EVAL", "#!lua flags=allow-oom\n"+write, "0"))
	require.Equal(t, "+OK", h.do("EVAL", "redis.call('del', 'k') "+write, "0"), "a script that has written goes on")

	flags := func(words ...string) commands.Flags {
		argv := make([][]byte, len(words))
		for i, w := range words {
			argv[i] = []byte(w)
		}
		row, err := h.table.Resolve(argv)
		require.NoError(t, err)
		return h.engine.Flags(row, argv) & (commands.Write | commands.DenyOOM | commands.MayReplicate)
	}
	require.Equal(t, commands.MayReplicate, flags("EVAL", "return 1", "0"))
	require.Equal(t, commands.Write|commands.DenyOOM, flags("EVAL", "#!lua\n", "0"))
	require.Equal(t, commands.Write, flags("EVAL", "#!lua flags=allow-oom\n", "0"))
	require.Zero(t, flags("EVAL_RO", "#!lua flags=no-writes\n", "0"))
	require.Equal(t, commands.Write|commands.DenyOOM, flags("SET", "k", "v"))

	h.refusal = commands.ErrLogFailed("No space left on device")
	require.Contains(t, h.do("EVAL", "#!lua\nreturn 1", "0"), "Use 'no-writes' flag for read only scripts. AOF error: No space left")
}
