package luavm

import (
	"fmt"
	"math"

	"lockserver/internal/lua"
)

// argumentError is Lua's "bad argument #1 to 'name' (...)".
func argumentError(L *lua.LState, argument int, message string) {
	name, method, ok := L.FunctionName()
	if !ok {
		name = "?"
	}
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

// checkNumber returns a number argument, or the value of a string argument that reads as a number.
func checkNumber(L *lua.LState, argument int) float64 {
	number, ok := L.At(argument).ToNumber()
	if !ok {
		wrongType(L, argument, "number")
	}
	return number
}

// checkInt is checkNumber as C converts it to an integer of 64 bits.
func checkInt(L *lua.LState, argument int) int { return toInt(checkNumber(L, argument)) }

func optInt(L *lua.LState, argument int, otherwise int) int {
	if L.At(argument).IsNil() {
		return otherwise
	}
	return checkInt(L, argument)
}

// toInt converts a number to an integer, towards zero. Numbers out of range give the smallest integer, as on
// amd64.
func toInt(number float64) int {
	if number >= -9223372036854775808.0 && number < 9223372036854775808.0 {
		return int(number)
	}
	return math.MinInt64
}

// checkString is a string argument, or a number as text.
func checkString(L *lua.LState, argument int) string {
	value := L.At(argument)
	if text, ok := value.AsString(); ok {
		return text
	}
	if number, ok := value.AsNumber(); ok {
		return FormatNumber(number)
	}
	wrongType(L, argument, "string")
	return ""
}

// checkTable is a table argument.
func checkTable(L *lua.LState, argument int) *lua.LTable {
	table := L.At(argument).AsTable()
	if table == nil {
		wrongType(L, argument, "table")
	}
	return table
}

// checkFunction is a function argument.
func checkFunction(L *lua.LState, argument int) *lua.LFunction {
	if fn, ok := L.Get(argument).(*lua.LFunction); ok {
		return fn
	}
	wrongType(L, argument, "function")
	return nil
}

// checkAny returns an argument, and raises an error if it is missing.
func checkAny(L *lua.LState, argument int) lua.LValue {
	wantAny(L, argument)
	return L.Get(argument)
}

// wantAny returns an argument as a Value, and raises an error if it is missing.
func wantAny(L *lua.LState, argument int) lua.Value {
	if argument > L.GetTop() {
		argumentError(L, argument, "value expected")
	}
	return L.At(argument)
}
