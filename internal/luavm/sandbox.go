package luavm

import (
	lua "github.com/yuin/gopher-lua"
)

// A protected table is an empty one in front of the real one: reading goes through __index, and since it
// never has a key, every assignment ends in __newindex. Functions that work on a table without
// metamethods ask real and writable.

// guardMark is a field of a protected table's metatable that no script can write, as
// these metatables never reach one.
const guardMark = "\x00guard"

// protect puts an empty table in front of real.
func protect(real *lua.LTable) *lua.LTable {
	guard := newTable(0, 4)
	guard.RawSetString("__index", real)
	guard.RawSetString("__newindex", goFunction(refuseWrite))
	guard.RawSetString(guardMark, real)
	front := newTable(0, 0)
	front.Metatable = guard
	return front
}

// guarded is the table behind a protected one, nil for others.
func guarded(t *lua.LTable) *lua.LTable {
	guard, ok := t.Metatable.(*lua.LTable)
	if !ok {
		return nil
	}
	real, _ := guard.RawGetString(guardMark).(*lua.LTable)
	return real
}

// real is the table that holds the items of t.
func real(t *lua.LTable) *lua.LTable {
	if t.Metatable == lua.LNil {
		return t
	}
	if behind := guarded(t); behind != nil {
		return behind
	}
	return t
}

// writable refuses protected tables where a library function is about to write.
func writable(L *lua.LState, t *lua.LTable) {
	if t.Metatable != lua.LNil && guarded(t) != nil {
		failWithin(L, readOnly)
	}
}

// lock protects the global tables and the globals themselves. It is the last step of making a state.
func (s *State) lock() {
	seen := make(map[*lua.LTable]*lua.LTable)
	s.globals.ForEach(func(name, value lua.LValue) {
		if table, ok := value.(*lua.LTable); ok {
			s.globals.RawSet(name, protectAll(table, seen))
		}
	})
	meta := newTable(0, 1)
	meta.RawSetString("__index", goFunction(missingGlobal))
	s.globals.Metatable = meta
	s.view = protect(s.globals)
	s.globals.RawSetString("_G", s.view)

	s.viewMeta = protect(meta)
	visible := newTable(0, 1)
	visible.RawSetString("__index", s.globals.RawGetString("string"))
	s.strings = protect(visible)
	s.setTypes(real(s.globals.RawGetString("string").(*lua.LTable)))
}

// protectAll protects a table and those within it.
func protectAll(table *lua.LTable, seen map[*lua.LTable]*lua.LTable) *lua.LTable {
	if front, ok := seen[table]; ok {
		return front
	}
	front := protect(table)
	seen[table] = front
	table.ForEach(func(key, value lua.LValue) {
		if inner, ok := value.(*lua.LTable); ok {
			table.RawSet(key, protectAll(inner, seen))
		}
	})
	return front
}

// missingGlobal answers the reading of a global that is not there.
func missingGlobal(L *lua.LState) int {
	name := L.Get(2)
	if !isText(name) {
		fail(L, "Second argument to luaProtectedTableError must be a string or number")
	}
	fail(L, "Script attempted to access nonexistent global variable '"+toText(name)+"'")
	return 0
}
