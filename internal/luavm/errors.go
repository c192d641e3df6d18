package luavm

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Error is an error that a script raised and did not catch.
type Error struct {
	// Value is what was raised: a string (with its position in front, unless the script wanted
	// none), a table or anything else.
	Value lua.LValue
	// Source and Line tell where: the chunk's name and the line, "=[C]" and -1 where no Lua code is near.
	Source string
	Line   int
}

// Error is the string that was raised, or the field err of a table.
func (e *Error) Error() string {
	switch value := e.Value.(type) {
	case *lua.LTable:
		if text, ok := value.RawGetString("err").(lua.LString); ok {
			return string(text)
		}
	case lua.LNumber:
		return FormatNumber(float64(value))
	}
	return e.Value.String()
}

// Raise raises any value as an error; strings get no position.
func Raise(L *lua.LState, value lua.LValue) { L.Error(value, 0) }

// fail raises a message with the position of the Lua code that called the running
// Go function, none if Go did.
func fail(L *lua.LState, message string) {
	if at := callerPosition(L, 1); at != "" {
		message = at + message
	}
	L.Error(lua.LString(message), 0)
}

// failWithin raises a message without position, as Lua does for an error within a function of a library that
// the function did not raise itself.
func failWithin(L *lua.LState, message string) { L.Error(lua.LString(message), 0) }

// translations are the interpreter's messages that Lua words differently, without their position. The text
// after a message's constant beginning is a list of types.
var translations = [...]struct{ from, to string }{
	{"registry overflow", "stack overflow"},
	{"lua callstack overflow", "stack overflow"},
	{"too many recursions in gettable", "loop in gettable"},
	{"too many recursions in settable", "loop in settable"},
}

// translate gives Lua's words to what the interpreter raised. Its position, if any, stays.
func translate(value lua.LValue) lua.LValue { return translateAt(nil, value) }

// translateAt is translate while the stack of L still stands, which tells the names of
// variables; nil: it does not.
func translateAt(L *lua.LState, value lua.LValue) lua.LValue {
	text, ok := value.(lua.LString)
	if !ok {
		return value
	}
	place, message := splitPosition(string(text))
	for _, t := range translations {
		if message == t.from {
			return lua.LString(place + t.to)
		}
	}
	if types, ok := strings.CutPrefix(message, "attempt to compare "); ok {
		if left, right, ok := strings.Cut(types, " with "); ok && left == right {
			return lua.LString(place + "attempt to compare two " + left + " values")
		}
		return value
	}
	operation, kind := "", "table"
	switch {
	case message == "attempt to call a non-function object":
		operation = "call"
	case message == "__unm undefined":
		operation = "perform arithmetic on"
	case strings.HasPrefix(message, "cannot perform "):
		operation = "perform arithmetic on"
	default:
		return value
	}
	variable := ""
	if L != nil {
		variable, kind = faultyOperand(L)
	}
	return lua.LString(place + typeErrorText(operation, kind, variable))
}

// splitPosition cuts "chunk:line: " off a message.
func splitPosition(text string) (place, message string) {
	end := strings.Index(text, ": ")
	if end < 0 {
		return "", text
	}
	head := text[:end]
	colon := strings.LastIndexByte(head, ':')
	if colon < 0 || colon+1 == len(head) {
		return "", text
	}
	for _, c := range head[colon+1:] {
		if c < '0' || c > '9' {
			return "", text
		}
	}
	return text[:end+2], text[end+2:]
}
