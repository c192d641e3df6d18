package server

import (
	"errors"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"lockserver/commands"
	"lockserver/internal/luavm"
)

// The code of a library is run once, to call redis.register_function; what it registers is called later.
// While it runs it sees nothing but a small table redis: neither commands nor Lua's own functions. What it
// has defined sees the whole API when it is called, because the environment of the code is a table of its
// own that looks into one or the other.

// libraryUserName is what Lua calls a library's code in messages.
const libraryUserName = "user_function"

// functionMachine is the machine of functions, with what their code sees.
type functionMachine struct {
	*scriptVM
	// environment is the table in which the code of libraries looks for globals. It is empty and looks itself
	// into the globals, or, while code registers its functions, into restricted.
	environment, lookup *lua.LTable
	restricted          *lua.LFunction
}

// newFunctionMachine makes one, without any library.
func (ex *executor) newFunctionMachine() *functionMachine {
	const hidden = "\x00registering" // no script gets hold of it; so it is made read-only as the others are
	m := &functionMachine{}
	m.scriptVM = ex.newScriptVM(func(vm *scriptVM, l *lua.LState) {
		l.SetGlobal("redis", vm.callingAPI(l))
		t := l.NewTable()
		vm.commonAPI(l, t)
		t.RawSetString("register_function", l.NewFunction(vm.registerFunction))
		t.Metatable = errorOnUnknown(l)
		l.SetGlobal(hidden, t)
	})
	l := m.state.Lua()
	api := l.GetGlobal(hidden)
	m.state.SetGlobal(hidden, lua.LNil)
	m.restricted = l.NewFunction(func(l *lua.LState) int {
		if name, ok := l.Get(2).(lua.LString); ok && name == "redis" {
			l.Push(api)
			return 1
		}
		return unknownGlobal(l)
	})
	m.environment, m.lookup = l.NewTable(), l.NewTable()
	m.environment.Metatable = m.lookup
	m.restrict(false)
	return m
}

// restrict decides what the code of libraries sees.
func (m *functionMachine) restrict(on bool) {
	if on {
		m.lookup.RawSetString("__index", m.restricted)
	} else {
		m.lookup.RawSetString("__index", m.state.Lua().G.Global)
	}
}

// errorOnUnknown is the metatable of a table that has what it has.
func errorOnUnknown(l *lua.LState) *lua.LTable {
	t := l.NewTable()
	t.RawSetString("__index", l.NewFunction(unknownGlobal))
	return t
}

// unknownGlobal is what reading a name comes to that is not there.
func unknownGlobal(l *lua.LState) int {
	name, _ := luaText(l.Get(2))
	l.RaiseError("Script attempted to access nonexistent global variable '%s'", untilZero(name))
	return 0
}

// registerFunctions runs the code of a library.
func (ex *executor) registerFunctions(l *library, code []byte, bounded bool) error {
	proto, err := luavm.Compile(libraryUserName, code)
	if err != nil {
		return commands.ErrFunctionCompile(err.Error())
	}
	if ex.scripts.functions == nil {
		ex.scripts.functions = ex.newFunctionMachine()
	}
	m := ex.scripts.functions
	m.loading = &libraryLoad{library: l, started: time.Now(), bounded: bounded}
	m.restrict(true)
	_, err = m.state.Call(m.state.NewFunction(proto, m.environment))
	m.restrict(false)
	m.loading = nil
	var failed *luavm.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		return commands.ErrFunctionRegister(failureText(failed.Value))
	}
	return commands.ErrFunctionRegister(err.Error())
}

// registerFunction is redis.register_function.
func (vm *scriptVM) registerFunction(l *lua.LState) int {
	if vm.loading == nil {
		raise(l, "redis.register_function can only be called on FUNCTION LOAD command")
	}
	var f *libraryFunction
	var failure string
	switch l.GetTop() {
	case 1:
		f, failure = namedFunction(l)
	case 2:
		f, failure = positionalFunction(l)
	default:
		failure = "wrong number of arguments to redis.register_function"
	}
	switch {
	case failure != "":
		raise(l, failure)
	case !validFunctionName(f.name):
		luavm.Raise(l, plainErrorTable(l, string(commands.ErrLibraryName)))
	case vm.loading.library.functions[f.name] != nil:
		luavm.Raise(l, plainErrorTable(l, string(commands.ErrFunctionTwice)))
	}
	vm.loading.library.functions[f.name] = f
	return 0
}

// positionalFunction reads redis.register_function(name, callback).
func positionalFunction(l *lua.LState) (*libraryFunction, string) {
	name, ok := luaText(l.Get(1))
	if !ok {
		return nil, "first argument to redis.register_function must be a string"
	}
	callback, ok := l.Get(2).(*lua.LFunction)
	if !ok {
		return nil, "second argument to redis.register_function must be a function"
	}
	return &libraryFunction{name: name, callback: callback}, ""
}

// namedFunction reads redis.register_function{function_name = name, callback = f, flags
// = {...}, description = text}.
func namedFunction(l *lua.LState) (f *libraryFunction, failure string) {
	t, ok := l.Get(1).(*lua.LTable)
	if !ok {
		return nil, "calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments)."
	}
	f = &libraryFunction{}
	named := false
	for key, v := t.Next(lua.LNil); key != lua.LNil && failure == ""; key, v = t.Next(key) {
		word, ok := luaText(key)
		if !ok {
			return nil, "named argument key given to redis.register_function is not a string"
		}
		switch {
		case strings.EqualFold(word, "function_name"):
			if f.name, named = luaText(v); !named {
				failure = "function_name argument given to redis.register_function must be a string"
			}
		case strings.EqualFold(word, "description"):
			text, ok := luaText(v)
			if f.description = &text; !ok {
				failure = "description argument given to redis.register_function must be a string"
			}
		case strings.EqualFold(word, "callback"):
			if f.callback, ok = v.(*lua.LFunction); !ok {
				failure = "callback argument given to redis.register_function must be a function"
			}
		case strings.EqualFold(word, "flags"):
			f.flags, failure = readFunctionFlags(v)
		default:
			failure = "unknown argument given to redis.register_function"
		}
	}
	switch {
	case failure != "":
	case !named:
		failure = "redis.register_function must get a function name argument"
	case f.callback == nil:
		failure = "redis.register_function must get a callback argument"
	}
	return f, failure
}

// readFunctionFlags reads an array of words, in any case of letters, up to its first nil.
func readFunctionFlags(v lua.LValue) (flags scriptFlags, failure string) {
	t, ok := v.(*lua.LTable)
	if !ok {
		return 0, "flags argument to redis.register_function must be a table representing function flags"
	}
	for i := 1; ; i++ {
		v := t.RawGetInt(i)
		if v == lua.LNil {
			return flags, ""
		}
		word, ok := luaText(v)
		flag, known := scriptFlagOf(strings.ToLower(word))
		if !ok || !known {
			return 0, "unknown flag given"
		}
		flags |= flag
	}
}

// loadFunctions loads the libraries of a file. They were loaded before, so that an error
// says that the file is damaged.
func (ex *executor) loadFunctions(sources [][]byte) error {
	for _, source := range sources {
		if _, err := ex.loadLibrary(&ex.scripts.libraries, source, false, false); err != nil {
			return err
		}
	}
	return nil
}
