package script

import (
	"time"

	"lockserver/internal/lua"

	"lockserver/internal/luavm"
	"lockserver/internal/rusage"
)

// memoryBytes is about the limit of memory that a script may hold. In Redis only the memory of the host is
// the limit.
const memoryBytes = 256 << 20

// luaVM is a Lua state with the table redis.
type luaVM struct {
	engine *Engine
	state  *luavm.State
	// loading is the library of a running FUNCTION LOAD, or nil.
	loading *libraryLoad
}

// newVM makes a Lua state; api fills its globals.
func (e *Engine) newVM(api func(vm *luaVM, l *lua.LState)) *luaVM {
	vm := &luaVM{engine: e}
	vm.state = luavm.NewState(luavm.Options{
		Libraries:      func(l *lua.LState) { api(vm, l) },
		Hook:           vm.hook,
		Collect:        e.collect,
		Clock:          processTime,
		MaxMemoryBytes: memoryBytes,
	})
	return vm
}

// replaceVM replaces a Lua state after an internal failure. Libraries are loaded again, so the state that
// they kept is lost.
func (e *Engine) replaceVM(vm *luaVM) {
	e.log.Error("the Lua state that runs scripts has failed inside; a new one takes its place")
	if vm == e.scripts {
		e.scripts = nil
		return
	}
	codes := e.libraries.codes()
	e.libraries, e.functions = newLibraries(), nil
	for _, code := range codes {
		if _, err := e.loadLibrary(&e.libraries, code, false, false); err != nil {
			e.log.Error("a library could not be loaded anew", "cause", err)
		}
	}
}

// processTime is the clock of os.clock in scripts: the processor time of the whole server.
func processTime() time.Duration {
	user, sys := rusage.CPU()
	return time.Duration((user + sys) * float64(time.Second))
}
