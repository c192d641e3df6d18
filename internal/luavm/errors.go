package luavm

import "lockserver/internal/lua"

// Error is an error that a script raised and did not catch.
type Error struct {
	// Value is the raised value: a string (with its position in front, unless the script asked for no
	// position), a table or any other value.
	Value lua.LValue
	// Source and Line are the position: the chunk's name and the line, or "=[C]" and -1 if no Lua code is
	// near.
	Source string
	Line   int
}

// Error returns the raised string, or the field err of a raised table.
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

// fail raises a message. It begins with the position of the Lua code that called the running Go function, if
// Lua code called it.
func fail(L *lua.LState, message string) { L.Error(lua.LString(L.CallerPosition(1) + message)) }

// failWithin raises a message without position. Lua does so for an error inside a library function that the
// function itself did not raise.
func failWithin(L *lua.LState, message string) { L.Error(lua.LString(message)) }

// Position returns the chunk name and line of the Lua code that called the running Go function.
func Position(L *lua.LState) (source string, line int) { return L.Where() }
