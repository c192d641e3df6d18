package luavm

import "lockserver/internal/lua"

// lock makes the globals, and the tables among them, read-only for scripts. It is the last step of making a
// state. Go code still sets globals, for example KEYS.
func (s *State) lock() {
	protectAll(s.globals)
	meta := lua.NewTable(0, 1)
	meta.RawSetString("__index", s.vm.NewFunction(missingGlobal))
	meta.ReadOnly = true
	s.globals.SetMetatable(meta)
	s.globals.RawSetString("_G", s.globals)

	s.vm.G.Strings = lua.NewTable(0, 1)
	s.vm.G.Strings.RawSetString("__index", s.globals.RawGetString("string"))
	s.vm.G.Strings.ReadOnly = true
}

// protectAll makes a table and the tables within it read-only.
func protectAll(table *lua.LTable) {
	if table.ReadOnly {
		return
	}
	table.ReadOnly = true
	table.ForEach(func(_, value lua.LValue) {
		if inner, ok := value.(*lua.LTable); ok {
			protectAll(inner)
		}
	})
}

// missingGlobal raises the error for reading a global that does not exist.
func missingGlobal(L *lua.LState) int {
	name := L.Get(2)
	if !isText(name) {
		fail(L, "Second argument to luaProtectedTableError must be a string or number")
	}
	fail(L, "Script attempted to access nonexistent global variable '"+toText(name)+"'")
	return 0
}
