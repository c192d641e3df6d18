package script

import "lockserver/internal/lua"

// The code of a library runs once, to call redis.register_function; the registered functions are called
// later. While it runs it sees only a small table redis: neither commands nor Lua's own functions. The
// functions that it has defined see the whole API when they are called, because the environment of the code
// is a table that looks into the one or the other.

// functionVM is the Lua state of functions, with their environment.
type functionVM struct {
	*luaVM
	// environment is the table in which the code of libraries looks for globals. It is empty, and passes
	// look-ups to the globals, or, while code registers its functions, to restricted.
	environment, lookup *lua.LTable
	restricted          *lua.LFunction
}

// newFunctionVM makes a functionVM without libraries.
func (e *Engine) newFunctionVM() *functionVM {
	const hidden = "\x00registering" // no script can get hold of it, so it is made read-only like the others
	m := &functionVM{}
	m.luaVM = e.newVM(func(vm *luaVM, l *lua.LState) {
		l.SetGlobal("redis", vm.callingAPI(l))
		t := l.NewTable()
		vm.commonAPI(l, t)
		t.RawSetString("register_function", l.NewFunction(vm.registerFunction))
		t.SetMetatable(errorOnUnknown(l))
		l.SetGlobal(hidden, t)
	})
	l := m.state.Lua()
	api := l.G.Global.RawGetString(hidden)
	m.state.SetGlobal(hidden, lua.LNil)
	m.restricted = l.NewFunction(func(l *lua.LState) int {
		if name, ok := l.Get(2).(lua.LString); ok && name == "redis" {
			l.Push(api)
			return 1
		}
		return unknownGlobal(l)
	})
	m.environment, m.lookup = l.NewTable(), l.NewTable()
	m.environment.SetMetatable(m.lookup)
	m.environment.ReadOnly = true
	m.restrict(false)
	return m
}

// restrict selects the globals that the code of libraries sees.
func (m *functionVM) restrict(on bool) {
	if on {
		m.lookup.RawSetString("__index", m.restricted)
	} else {
		m.lookup.RawSetString("__index", m.state.Lua().G.Global)
	}
}

// errorOnUnknown returns a metatable that raises an error for missing names.
func errorOnUnknown(l *lua.LState) *lua.LTable {
	t := l.NewTable()
	t.RawSetString("__index", l.NewFunction(unknownGlobal))
	return t
}

// unknownGlobal raises the error for reading a missing name.
func unknownGlobal(l *lua.LState) int {
	name, _ := luaText(l.Get(2))
	l.RaiseError("Script attempted to access nonexistent global variable '%s'", untilZero(name))
	return 0
}
