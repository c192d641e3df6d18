package script

import (
	"strings"

	"lockserver/internal/lua"

	"lockserver/commands"
	"lockserver/internal/luavm"
)

// registerFunction implements redis.register_function.
func (vm *luaVM) registerFunction(l *lua.LState) int {
	if vm.loading == nil {
		raise(l, "redis.register_function can only be called on FUNCTION LOAD command")
	}
	var f *function
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
func positionalFunction(l *lua.LState) (*function, string) {
	name, ok := luaText(l.Get(1))
	if !ok {
		return nil, "first argument to redis.register_function must be a string"
	}
	callback, ok := l.Get(2).(*lua.LFunction)
	if !ok {
		return nil, "second argument to redis.register_function must be a function"
	}
	return &function{name: name, callback: callback}, ""
}

// namedFunction reads redis.register_function{function_name = name, callback = f, flags
// = {...}, description = text}.
func namedFunction(l *lua.LState) (f *function, failure string) {
	t, ok := l.Get(1).(*lua.LTable)
	if !ok {
		return nil, "calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments)."
	}
	f = &function{}
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

// readFunctionFlags reads an array of words, in any case, up to its first nil.
func readFunctionFlags(v lua.LValue) (flags flagSet, failure string) {
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
		flag, known := flagOf(strings.ToLower(word))
		if !ok || !known {
			return 0, "unknown flag given"
		}
		flags |= flag
	}
}
