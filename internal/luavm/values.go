package luavm

import "lockserver/internal/lua"

// FormatNumber is a number as Lua 5.1 prints it: C's %.14g.
func FormatNumber(number float64) string { return lua.FormatNumber(number) }

// AppendNumber appends what FormatNumber returns.
func AppendNumber(dst []byte, number float64) []byte { return lua.AppendNumber(dst, number) }

// typeName is a value's type as Lua names it.
func typeName(v lua.LValue) string { return v.Type().String() }

func isText(v lua.LValue) bool {
	switch v.(type) {
	case lua.LString, lua.LNumber:
		return true
	default:
		return false
	}
}

// toText is a string or number as a string.
func toText(v lua.LValue) string {
	switch value := v.(type) {
	case lua.LString:
		return string(value)
	case lua.LNumber:
		return FormatNumber(float64(value))
	default:
		return ""
	}
}

// writable raises an error for a protected table that a library function is about to write to.
func writable(L *lua.LState, t *lua.LTable) {
	if t.ReadOnly {
		failWithin(L, readOnly)
	}
}

// readOnly is Redis' text for that error.
const readOnly = "Attempt to modify a readonly table"

// maxScratch is the size of the largest buffer that is kept for reuse.
const maxScratch = 64 << 10

func (s *State) keep(buffer []byte) {
	if cap(buffer) <= maxScratch {
		s.scratch = buffer[:0]
	}
}

// textOf is a string, or a number as text.
func textOf(v lua.Value) (text string, ok bool) {
	if text, ok := v.AsString(); ok {
		return text, true
	}
	if number, ok := v.AsNumber(); ok {
		return FormatNumber(number), true
	}
	return "", false
}
