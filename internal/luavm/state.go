package luavm

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Sizes of the interpreter's stacks.
const (
	// maxFrames is Lua 5.1's LUAI_MAXCALLS.
	maxFrames = 20_000
	// registryStart and registryMax are in values; a frame takes a few.
	registryStart = 512
	registryMax   = 1 << 18
	registryStep  = 1024
)

// State is an interpreter with the libraries and the sandbox. One goroutine at a time may use it.
type State struct {
	// Attached is the embedder's: what its functions need to find from FromLua.
	Attached any

	vm      *lua.LState // the main thread
	main    threadContext
	options Options

	globals *lua.LTable // the real table, which no script gets hold of
	view    *lua.LTable // what scripts know as _G
	strings *lua.LTable // what getmetatable("") shows
	// viewMeta is what getmetatable(_G) shows.
	viewMeta *lua.LTable
	// collector holds the last settings of collectgarbage, which only reports them.
	collector struct{ pause, stepMul int }
	// native are functions of the interpreter's coroutine library.
	native map[string]lua.LGFunction

	enter *lua.LFunction // protects the script's main function: takes a function and arguments, gives one value
	try   *lua.LFunction // the same for pcall: gives all values

	limits    limits
	depth     int           // of calls from Go into Lua, Lua's nCcalls
	protected []*lua.LState // threads of running and finished pcalls, by depth
	running   int           // how many of them are in use
	raisedAt  position      // of the last error
	script    lua.LFunction // the main function of the script that runs
	keys      *lua.LTable   // KEYS and ARGV as last set
	argv      *lua.LTable
	later     int // large keys that wait for placeKeys
	broken    bool
	random    uint64
	scratch   []byte
}

// position is a place in a script: Lua's source and currentline.
type position struct {
	source string
	line   int
}

// NewState makes an interpreter. It costs some hundred microseconds, so embedders keep states.
func NewState(o Options) *State {
	if o.HookEvery <= 0 {
		o.HookEvery = DefaultHookEvery
	}
	if o.MaxMemoryBytes <= 0 {
		o.MaxMemoryBytes = DefaultMaxMemoryBytes
	}
	s := &State{options: o}
	s.collector.pause, s.collector.stepMul = 200, 200 // LUAI_GCPAUSE, LUAI_GCMUL
	s.vm = lua.NewState(lua.Options{
		CallStackSize:    maxFrames,
		RegistrySize:     registryStart,
		RegistryMaxSize:  registryMax,
		RegistryGrowStep: registryStep,
		SkipOpenLibs:     true,
	})
	s.vm.G.MainThread = s.vm
	s.vm.G.CurrentThread = s.vm
	s.main = threadContext{state: s, thread: s.vm}
	s.vm.SetContext(&s.main)
	s.globals = s.vm.G.Global
	s.enter = s.vm.NewFunction(enterScript)
	s.try = s.vm.NewFunction(enterProtected)
	s.takeNative()
	s.openLibraries()
	if o.Libraries != nil {
		o.Libraries(s.vm)
	}
	s.lock()
	s.random = unseeded
	return s
}

// takeNative keeps what only the interpreter's own library can do.
func (s *State) takeNative() {
	s.vm.Push(s.vm.NewFunction(lua.OpenCoroutine))
	s.vm.Call(0, 1)
	module := s.vm.Get(-1).(*lua.LTable)
	s.vm.SetTop(0)
	s.native = make(map[string]lua.LGFunction)
	for _, name := range []string{"create", "resume"} {
		s.native[name] = module.RawGetString(name).(*lua.LFunction).GFunction
	}
	s.globals.RawSetString(lua.CoroutineLibName, lua.LNil)
	s.globals.RawSetString("package", lua.LNil)
}

// Lua is the interpreter's main thread, for making values.
func (s *State) Lua() *lua.LState { return s.vm }

// FromLua is the State that L, or the coroutine L, belongs to.
func FromLua(L *lua.LState) *State { return L.Context().(*threadContext).state }

// Usable tells whether the state may run further scripts. After an internal failure it may not.
func (s *State) Usable() bool { return !s.broken }

// Close frees what the state holds. It must not be used afterwards.
func (s *State) Close() {
	s.broken = true
	s.vm.Close()
}

// SetGlobal sets a global variable, past the protection that scripts are under. nil as value removes it.
func (s *State) SetGlobal(name string, value lua.LValue) { s.globals.RawSetString(name, value) }

// SetArrays sets KEYS and ARGV. The tables of the previous run are used again if the script left them
// unchanged: no script can keep a table beyond its run. Do not use it for scripts that define functions for
// later calls, because these may keep one.
func (s *State) SetArrays(keys, argv [][]byte) {
	s.keys = s.array("KEYS", s.keys, len(keys))
	s.argv = s.array("ARGV", s.argv, len(argv))
	fill(fill(join(keys, argv), s.keys, keys), s.argv, argv)
}

// array makes a global table ready to be filled with count items: the one of the time before if it suits.
func (s *State) array(name string, table *lua.LTable, count int) *lua.LTable {
	if table != nil && table.Metatable == lua.LNil && table.Len() == count && !hasMore(table, count) {
		return table
	}
	table = newTable(count, 0)
	s.globals.RawSetString(name, table)
	return table
}

// hasMore tells whether a table has a key beside 1 to count.
func hasMore(table *lua.LTable, count int) bool {
	var last lua.LValue = lua.LNil
	if count > 0 {
		last = lua.LNumber(count)
	}
	key, _ := table.Next(last)
	return key != lua.LNil
}

// NewArray is a table of strings with the indices 1 to n. The items are copied.
func NewArray(items [][]byte) *lua.LTable {
	table := newTable(len(items), 0)
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

// fill sets the items of a table to what text begins with, and returns the rest of it.
func fill(text string, table *lua.LTable, items [][]byte) string {
	for i, item := range items {
		table.RawSetInt(i+1, lua.LString(text[:len(item)]))
		text = text[len(item):]
	}
	return text
}

// newTable returns an empty table with space for items and fields.
func newTable(items, fields int) *lua.LTable { return (*lua.LState)(nil).CreateTable(items, fields) }

// Run runs a chunk and returns its first value, nil (lua.LNil) if it has none. The error is an *Error, or the
// very error that the hook, or Kill, ended the script with.
func (s *State) Run(p *Proto) (lua.LValue, error) {
	// A script cannot get hold of its main function, so one serves all.
	s.script.Proto, s.script.Env = p.proto, s.globals
	return s.Call(&s.script)
}

// Call calls a function and returns its first value, as Run does.
func (s *State) Call(fn *lua.LFunction, args ...lua.LValue) (lua.LValue, error) {
	if s.broken {
		return lua.LNil, errors.New("luavm: the state is not usable")
	}
	L := s.vm
	s.begin()
	L.Push(s.enter)
	L.Push(fn)
	for _, arg := range args {
		L.Push(arg)
	}
	err := L.PCall(len(args)+1, 1, nil)
	if err != nil {
		return lua.LNil, s.failed(err)
	}
	value := L.Get(-1)
	L.SetTop(0)
	return value, nil
}

func (s *State) begin() {
	s.limits.begin(s)
	s.depth, s.running, s.later = 0, 0, 0
	if len(s.protected) > keptThreads {
		clear(s.protected[keptThreads:])
		s.protected = s.protected[:keptThreads]
	}
	s.main.coroutine = nil
	s.vm.G.CurrentThread = s.vm
}

// failed turns what ended a call into the error that its caller gets.
func (s *State) failed(err error) error {
	s.vm.SetTop(0)
	s.vm.G.CurrentThread = s.vm
	if s.limits.killed != nil {
		return s.limits.killed
	}
	var raised *lua.ApiError
	if !errors.As(err, &raised) {
		s.broken = true
		return fmt.Errorf("luavm: %w", err)
	}
	if raised.Type == lua.ApiErrorPanic {
		s.broken = true
	}
	value := translate(raised.Object)
	return &Error{Value: value, Source: s.raisedAt.source, Line: s.raisedAt.line}
}

// enterScript runs a function within PCall. It makes errors carry no stack trace, which costs time that
// grows with the square of the depth.
func enterScript(L *lua.LState) int {
	L.Panic = raise
	L.Call(L.GetTop()-1, 1)
	return 1
}

// enterProtected is enterScript with all results.
func enterProtected(L *lua.LState) int {
	L.Panic = raise
	L.Call(L.GetTop()-1, lua.MultRet)
	return L.GetTop()
}

// raise is what the interpreter calls with an error on top of the stack, which still stands.
func raise(L *lua.LState) {
	s := FromLua(L)
	s.raisedAt = where(L)
	panic(&lua.ApiError{Type: lua.ApiErrorRun, Object: translateAt(L, L.Get(-1)), StackTrace: " "})
}

// where is the Lua code that runs, or that called the Go function that runs.
func where(L *lua.LState) position {
	for level := 0; level < 2; level++ {
		frame, ok := L.GetStack(level)
		if !ok {
			break
		}
		if _, err := L.GetInfo("Sl", frame, lua.LNil); err == nil && frame.Source != "" {
			return position{source: frame.Source, line: frame.CurrentLine}
		}
	}
	return position{source: "=[C]", line: -1}
}

// Position is where the Lua code stands that called the Go function now running: chunk name and line.
func Position(L *lua.LState) (source string, line int) {
	at := where(L)
	return at.source, at.line
}
