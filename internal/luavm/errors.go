package luavm

import "lockserver/internal/lua"

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
	if table, ok := e.Value.(*lua.LTable); ok {
		if text, ok := table.RawGetString("err").(lua.LString); ok {
			return string(text)
		}
	}
	return e.Value.String()
}

// Raise raises any value as an error; strings get no position.
func Raise(L *lua.LState, value lua.LValue) { L.Error(value) }

// fail raises a message with the position of the Lua code that called the running
// Go function, none if Go did.
func fail(L *lua.LState, message string) { L.Error(lua.LString(L.CallerPosition(1) + message)) }

// failWithin raises a message without position, as Lua does for an error within a function of a library that
// the function did not raise itself.
func failWithin(L *lua.LState, message string) { L.Error(lua.LString(message)) }

// Position is where the Lua code stands that called the Go function now running: chunk name and line.
func Position(L *lua.LState) (source string, line int) { return L.Where() }
