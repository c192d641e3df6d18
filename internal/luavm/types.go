package luavm

import (
	lua "github.com/yuin/gopher-lua"
)

// arithmetic are the operations on two numbers by the name of their metamethod.
func arithmetic() map[string]func(a, b float64) float64 {
	return map[string]func(a, b float64) float64{
		"__add": func(a, b float64) float64 { return a + b },
		"__sub": func(a, b float64) float64 { return a - b },
		"__mul": func(a, b float64) float64 { return a * b },
		"__div": func(a, b float64) float64 { return a / b },
		"__pow": power,
	}
}

// setTypes gives the basic types metatables. The machine's fast paths know numbers and tables only; what they
// do not know ends here, where strings become numbers and everything else an error in Lua's words. Scripts do
// not see these tables: getmetatable shows none, or the one of strings.
func (s *State) setTypes(strings *lua.LTable) {
	meta, text, function := typeHandlers(), typeHandlers(), typeHandlers()
	text.RawSetString("__index", strings)
	function.RawSetString("__call", lua.LNil)

	// One value of each type stands for all.
	s.vm.SetMetatable(lua.LNil, meta)
	s.vm.SetMetatable(lua.LTrue, meta)
	s.vm.SetMetatable(lua.LNumber(0), meta)
	s.vm.SetMetatable(lua.LString(""), text)
	s.vm.SetMetatable(goFunction(negate), function)
	s.vm.SetMetatable(s.vm, meta)
}

// typeHandlers is a metatable for values with which nothing can be done but arithmetic, if they are strings.
func typeHandlers() *lua.LTable {
	meta := newTable(0, 16)
	for event, operation := range arithmetic() {
		meta.RawSetString(event, goFunction(arithmeticOn(event, operation)))
	}
	meta.RawSetString("__unm", goFunction(negate))
	meta.RawSetString("__call", goFunction(notCallable))
	meta.RawSetString("__index", goFunction(notIndexable))
	meta.RawSetString("__newindex", goFunction(notIndexable))
	return meta
}

// arithmeticOn is the metamethod of an operation: a table's own one comes first, then strings are numbers.
func arithmeticOn(event string, operation func(a, b float64) float64) lua.LGFunction {
	return func(L *lua.LState) int {
		a, b := L.Get(1), L.Get(2)
		if handler := metafield(L, b, event); handler != lua.LNil {
			L.Push(FromLua(L).callOne(L, handler, a, b))
			return 1
		}
		x, ok1 := ToNumber(a)
		y, ok2 := ToNumber(b)
		if !ok1 || !ok2 {
			arithmeticFailed(L, a, b, ok1)
		}
		L.Push(lua.LNumber(operation(x, y)))
		return 1
	}
}

func arithmeticFailed(L *lua.LState, a, b lua.LValue, firstOK bool) {
	if what := loopBound(L); what != "" {
		fail(L, "'for' "+what+" must be a number")
	}
	if firstOK {
		typeError(L, "perform arithmetic on", b, instructionOperand(L, 1))
	}
	typeError(L, "perform arithmetic on", a, instructionOperand(L, 0))
}

func negate(L *lua.LState) int {
	a := L.Get(1)
	x, ok := ToNumber(a)
	if !ok {
		typeError(L, "perform arithmetic on", a, instructionOperand(L, 0))
	}
	L.Push(lua.LNumber(-x))
	return 1
}

func notCallable(L *lua.LState) int {
	typeError(L, "call", L.Get(1), calledFunction(L))
	return 0
}

func notIndexable(L *lua.LState) int {
	typeError(L, "index", L.Get(1), indexedObject(L))
	return 0
}

// typeError is Lua's "attempt to ... a nil value (local 'x')"; variable is the last part, or empty.
func typeError(L *lua.LState, operation string, wrong lua.LValue, variable string) {
	fail(L, typeErrorText(operation, typeName(wrong), variable))
}

func typeErrorText(operation, kind, variable string) string {
	if variable != "" {
		return "attempt to " + operation + " " + variable + " (a " + kind + " value)"
	}
	return "attempt to " + operation + " a " + kind + " value"
}

// typeName is a value's type as Lua names it.
func typeName(v lua.LValue) string { return v.Type().String() }

// ToNumber is a number, or a string that reads as one.
func ToNumber(v lua.LValue) (float64, bool) {
	switch value := v.(type) {
	case lua.LNumber:
		return float64(value), true
	case lua.LString:
		return parseNumber(string(value))
	default:
		return 0, false
	}
}
