package luavm

import (
	"time"

	"lockserver/internal/lua"
)

// Defaults of Options.
const (
	DefaultHookEvery      = 1000
	DefaultMaxMemoryBytes = 1 << 30
)

// Options say what a State is made of.
type Options struct {
	// Libraries registers the embedder's global tables and functions, by L.SetGlobal. They, and the tables
	// within them, are read-only for scripts afterwards.
	Libraries func(L *lua.LState)
	// Hook is called about every HookEvery instructions, and as often from library functions that work for
	// long. An error ends the script: nothing in it can catch that, and Run returns this very error.
	Hook func() error
	// HookEvery is the number of instructions between two calls of Hook; 0 means DefaultHookEvery.
	HookEvery int
	// MaxMemoryBytes is about how much a script may hold at a time; 0 means DefaultMaxMemoryBytes. Beyond it
	// the script gets Lua's error "not enough memory".
	MaxMemoryBytes int64
	// Collect is called when a script has made much garbage: while it runs, and behind its end. It begins a
	// collection and does not wait for it. nil leaves the garbage to the pace of the process.
	Collect func()
	// Clock is the processor time that os.clock tells; nil means a clock that stands.
	Clock func() time.Duration
}
