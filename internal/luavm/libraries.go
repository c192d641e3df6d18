package luavm

import (
	"math"

	"lockserver/internal/lua"
)

// libraries returns the global tables by name.
func (s *State) libraries() map[string]library {
	return map[string]library{
		"math":      mathLibrary(),
		"coroutine": coroutineLibrary(),
		"string":    stringLibrary(),
		"table":     tableLibrary(),
		"bit":       bitLibrary(),
		"struct":    structLibrary(),
		"cmsgpack":  cmsgpackLibrary(),
	}
}

// addConstants sets the constants of the libraries.
func (s *State) addConstants() {
	s.globals.RawSetString("cjson", s.newJSON(newNull()))
	for key, value := range map[string]string{
		"_NAME":        "cmsgpack",
		"_VERSION":     "lua-cmsgpack 0.4.0",
		"_COPYRIGHT":   "Copyright (C) 2012, Salvatore Sanfilippo",
		"_DESCRIPTION": "MessagePack C implementation for Lua",
	} {
		s.global("cmsgpack").RawSetString(key, lua.LString(value))
	}
	if clock := s.options.Clock; clock != nil {
		osTable := lua.NewTable(0, 1)
		osTable.RawSetString("clock", s.vm.NewFunction(func(L *lua.LState) int {
			L.PushNumber(clock().Seconds())
			return 1
		}))
		s.globals.RawSetString("os", osTable)
	}
	mathTable := s.global("math")
	mathTable.RawSetString("pi", lua.LNumber(math.Pi))
	mathTable.RawSetString("huge", lua.LNumber(math.Inf(1)))
}

// openLibraries sets the global functions and tables. lock protects them later.
func (s *State) openLibraries() {
	for name, fn := range baseLibrary() {
		s.vm.SetGlobal(name, s.vm.NewFunction(fn))
	}
	s.vm.SetGlobal("_VERSION", lua.LString("Lua 5.1"))
	next := s.vm.G.Global.RawGetString("next").(*lua.LFunction)
	s.vm.SetGlobal("pairs", s.vm.NewFunction(func(L *lua.LState) int {
		table := checkTable(L, 1)
		L.Push(next)
		L.Push(table)
		L.PushValue(lua.Value{})
		return 3
	}))
	step := s.vm.NewFunction(ipairsStep)
	s.vm.G.SetIterators(next, step)
	s.vm.SetGlobal("ipairs", s.vm.NewFunction(func(L *lua.LState) int {
		table := checkTable(L, 1)
		L.Push(step)
		L.Push(table)
		L.PushNumber(0)
		return 3
	}))
	for name, library := range s.libraries() {
		table := lua.NewTable(0, len(library))
		for key, fn := range library {
			table.RawSetString(key, s.vm.NewFunction(fn))
		}
		s.vm.SetGlobal(name, table)
	}
	s.addConstants()
}

func (s *State) global(name string) *lua.LTable { return s.globals.RawGetString(name).(*lua.LTable) }
