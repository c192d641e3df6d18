package luavm

import (
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// callerPosition is "chunk:line: " of a level of the call stack, as luaL_where counts them: 0 the
// running Go function, 1 what called it. Empty where that is no Lua code. Beyond a protected call it
// goes on in the thread that made it.
func callerPosition(L *lua.LState, level int) string {
	for {
		depth := 0
		for {
			if _, ok := L.GetStack(depth); !ok {
				break
			}
			depth++
			if depth > level {
				return positionAt(L, level)
			}
		}
		caller := L.Context().(*threadContext).caller
		if caller == nil {
			return ""
		}
		// The function that protects and pcall itself, the caller's level 0, are one level.
		level -= depth - 1
		L = caller
	}
}

func positionAt(L *lua.LState, level int) string {
	frame, ok := L.GetStack(level)
	if !ok {
		return ""
	}
	if _, err := L.GetInfo("Sl", frame, lua.LNil); err != nil || frame.Source == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d: ", frame.Source, frame.CurrentLine)
}

// argumentError is Lua's "bad argument #1 to 'name' (...)".
func argumentError(L *lua.LState, argument int, message string) {
	name, method := functionName(L)
	if method {
		argument--
		if argument == 0 {
			fail(L, fmt.Sprintf("calling '%s' on bad self (%s)", name, message))
		}
	}
	fail(L, fmt.Sprintf("bad argument #%d to '%s' (%s)", argument, name, message))
}

// wrongType is an argument error about a type.
func wrongType(L *lua.LState, argument int, wanted string) {
	got := "no value"
	if argument <= L.GetTop() {
		got = typeName(L.Get(argument))
	}
	argumentError(L, argument, wanted+" expected, got "+got)
}

// checkNumber is a number argument, or a string that reads as one.
func checkNumber(L *lua.LState, argument int) float64 {
	switch value := L.Get(argument).(type) {
	case lua.LNumber:
		return float64(value)
	case lua.LString:
		if number, ok := parseNumber(string(value)); ok {
			return number
		}
	}
	wrongType(L, argument, "number")
	return 0
}

// checkInt is checkNumber as C converts it to an integer of 64 bits.
func checkInt(L *lua.LState, argument int) int { return toInt(checkNumber(L, argument)) }

func optInt(L *lua.LState, argument int, otherwise int) int {
	if L.Get(argument) == lua.LNil {
		return otherwise
	}
	return checkInt(L, argument)
}

// toInt is a number as an integer: cut towards zero; what does not fit is the smallest one, as on amd64.
func toInt(number float64) int {
	if number >= -9223372036854775808.0 && number < 9223372036854775808.0 {
		return int(number)
	}
	return math.MinInt64
}

// checkString is a string argument, or a number as text.
func checkString(L *lua.LState, argument int) string {
	switch value := L.Get(argument).(type) {
	case lua.LString:
		return string(value)
	case lua.LNumber:
		return FormatNumber(float64(value))
	}
	wrongType(L, argument, "string")
	return ""
}

// checkTable is a table argument, protected ones as they are.
func checkTable(L *lua.LState, argument int) *lua.LTable {
	if table, ok := L.Get(argument).(*lua.LTable); ok {
		return table
	}
	wrongType(L, argument, "table")
	return nil
}

// checkFunction is a function argument.
func checkFunction(L *lua.LState, argument int) *lua.LFunction {
	if fn, ok := L.Get(argument).(*lua.LFunction); ok {
		return fn
	}
	wrongType(L, argument, "function")
	return nil
}

// checkAny wants an argument to be there.
func checkAny(L *lua.LState, argument int) lua.LValue {
	if argument > L.GetTop() {
		argumentError(L, argument, "value expected")
	}
	return L.Get(argument)
}
