package luavm

import (
	"math"

	"lockserver/internal/lua"
)

// library holds the functions of a global table.
type library map[string]lua.LGFunction

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

// nullMark is the value inside cjson.null.
type nullMark struct{}

// newNull makes a state's cjson.null: a value that scripts can only pass on.
func newNull() *lua.LUserData { return &lua.LUserData{Value: nullMark{}} }

func isNull(v *lua.LUserData) bool {
	_, is := v.Value.(nullMark)
	return is
}
