package luavm

import (
	"errors"
	"fmt"
	"strings"

	"lockserver/internal/lua"
)

// State is an interpreter with the libraries and the sandbox. One goroutine at a time may use it.
type State struct {
	vm      *lua.LState    // the main thread
	main    *lua.LFunction // the function of the chunk that Run runs
	options Options
	globals *lua.LTable
	// collector holds the last settings of collectgarbage, which only reports them.
	collector struct{ pause, stepMul int }

	limits  limits
	keys    *lua.LTable // KEYS and ARGV as last set
	argv    *lua.LTable
	broken  bool
	random  uint64
	scratch []byte
}

// Lua is the interpreter's main thread, for making values.
func (s *State) Lua() *lua.LState { return s.vm }

// FromLua returns the State of L, or of the coroutine L.
func FromLua(L *lua.LState) *State { return L.G.Owner.(*State) }

// Usable reports whether the state can run further scripts. After an internal failure it cannot.
func (s *State) Usable() bool { return !s.broken }

// Close ends the use of the state.
func (s *State) Close() {
	s.broken = true
}

// SetGlobal sets a global variable, regardless of the protection for scripts. The value nil removes it.
func (s *State) SetGlobal(name string, value lua.LValue) { s.globals.RawSetString(name, value) }

// SetArrays sets KEYS and ARGV. The tables of the previous run are used again if the script left them
// unchanged: no script can keep a table beyond its run. Do not use it for scripts that define functions for
// later calls, because these may keep one.
func (s *State) SetArrays(keys, argv [][]byte) {
	s.keys = s.array("KEYS", s.keys, len(keys))
	s.argv = s.array("ARGV", s.argv, len(argv))
	fill(fill(join(keys, argv), s.keys, keys), s.argv, argv)
}

// array returns a table for count items and makes it a global. It reuses the previous table if that fits.
func (s *State) array(name string, table *lua.LTable, count int) *lua.LTable {
	if table != nil && table.Metatable() == lua.LNil && table.Len() == count && !hasMore(table, count) {
		return table
	}
	table = lua.NewTable(count, 0)
	s.globals.RawSetString(name, table)
	return table
}

// hasMore reports whether a table has a key other than 1 to count.
func hasMore(table *lua.LTable, count int) bool {
	last := lua.Nil
	if count > 0 {
		last = lua.Int(count)
	}
	key, _, _, _ := table.Following(last)
	return !key.IsNil()
}

// NewArray is a table of strings with the indices 1 to n. The items are copied.
func NewArray(items [][]byte) *lua.LTable {
	table := lua.NewTable(len(items), 0)
	fill(join(items, nil), table, items)
	return table
}

// join copies the bytes of all items into one string.
func join(first, second [][]byte) string {
	size := 0
	for _, item := range first {
		size += len(item)
	}
	for _, item := range second {
		size += len(item)
	}
	var joined strings.Builder
	joined.Grow(size)
	for _, item := range first {
		joined.Write(item)
	}
	for _, item := range second {
		joined.Write(item)
	}
	return joined.String()
}

// fill sets the items of a table to parts of text, from its beginning, and returns the rest of text.
func fill(text string, table *lua.LTable, items [][]byte) string {
	for i, item := range items {
		table.SetItem(i+1, lua.String(text[:len(item)]))
		text = text[len(item):]
	}
	return text
}

// NewFunction makes a function of a chunk for State.Call. Its globals, and the globals of the functions that
// it defines, are the fields of env. The embedder fills env, and may give it a metatable that looks further.
func (s *State) NewFunction(p *Proto, env *lua.LTable) *lua.LFunction { return s.vm.NewClosure(p, env) }

// Run runs a chunk and returns its first value, or nil. The error is an *Error, or the error that the hook or
// Kill ended the script with. The function of the chunk is the same object in every run, because no script
// can get hold of it.
func (s *State) Run(p *Proto) (lua.Value, error) {
	s.vm.SetClosure(s.main, p, s.globals)
	return s.Call(s.main)
}

// Call calls a function and returns its first value, as Run does.
func (s *State) Call(fn *lua.LFunction, args ...lua.Value) (lua.Value, error) {
	if s.broken {
		return lua.Nil, errors.New("luavm: the state is not usable")
	}
	L := s.vm
	s.limits.begin(s)
	L.PushValue(lua.Function(fn))
	for _, arg := range args {
		L.PushValue(arg)
	}
	err := L.PCall(len(args), 1)
	value := lua.Nil
	if err == nil {
		value = L.At(-1)
	}
	L.Clean()
	s.limits.end(s)
	if err != nil {
		return lua.Nil, s.failed(err)
	}
	return value, nil
}

// failed converts the internal error of a call to the error for the caller.
func (s *State) failed(err error) error {
	var raised *lua.Raised
	if !errors.As(err, &raised) {
		s.broken = true
		return fmt.Errorf("luavm: %w", err)
	}
	if s.limits.killed != nil {
		return s.limits.killed
	}
	return &Error{Value: raised.Object, Source: raised.Source, Line: raised.Line}
}
