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

// Options holds the parameters of a State.
type Options struct {
	// Libraries registers the embedder's global tables and functions, by L.SetGlobal. Afterwards they, and
	// the tables within them, are read-only for scripts.
	Libraries func(L *lua.LState)
	// Hook is called about every HookEvery instructions, and as often from long library functions. If it
	// returns an error, the script ends: the script cannot catch the error, and Run returns it unchanged.
	Hook func() error
	// HookEvery is the number of instructions between two calls of Hook; 0 means DefaultHookEvery.
	HookEvery int
	// MaxMemoryBytes is about the memory that a script may hold at a time; 0 means DefaultMaxMemoryBytes.
	// Beyond it the script gets Lua's error "not enough memory".
	MaxMemoryBytes int64
	// Collect is called when a script has made much garbage: during the script, and after its end. It begins
	// a collection and does not wait for it. nil leaves collection to the Go runtime.
	Collect func()
	// Clock returns the processor time for os.clock; nil means a clock that stands still.
	Clock func() time.Duration
}
