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
		h.engine.KillUnlessWrote()
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
