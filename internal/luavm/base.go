package luavm

import (
	"math"
	"strings"

	"lockserver/internal/lua"
)

// baseLibrary are the global functions.
func baseLibrary() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"assert":         baseAssert,
		"collectgarbage": baseCollectGarbage,
		"error":          baseError,
		"gcinfo":         baseGCInfo,
		"getmetatable":   baseGetMetatable,
		"load":           baseLoad,
		"loadstring":     baseLoadString,
		"next":           baseNext,
		"pcall":          basePCall,
		"rawequal":       baseRawEqual,
		"rawget":         baseRawGet,
		"rawset":         baseRawSet,
		"select":         baseSelect,
		"setmetatable":   baseSetMetatable,
		"tonumber":       baseToNumber,
		"tostring":       baseToString,
		"type":           baseType,
		"unpack":         baseUnpack,
		"xpcall":         baseXPCall,
	}
}

func ipairsStep(L *lua.LState) int {
	table, index := checkTable(L, 1), checkInt(L, 2)+1
	value := table.Item(index)
	if value.IsNil() {
		L.PushValue(value)
		return 1
	}
	L.PushInt(index)
	L.PushValue(value)
	return 2
}

func baseNext(L *lua.LState) int {
	table := checkTable(L, 1)
	key, value, steps, ok := table.Following(L.At(2))
	if !ok {
		failWithin(L, "invalid key to 'next'")
	}
	L.Work(steps / 4)
	L.PushValue(key)
	if key.IsNil() {
		return 1
	}
	L.PushValue(value)
	return 2
}

func baseAssert(L *lua.LState) int {
	if wantAny(L, 1).IsTrue() {
		return L.GetTop()
	}
	message := "assertion failed!"
	if L.Get(2) != lua.LNil {
		message = checkString(L, 2)
	}
	fail(L, message)
	return 0
}

func baseError(L *lua.LState) int {
	value, level := L.Get(1), int32(optInt(L, 2, 1))
	if isText(value) && level > 0 {
		value = lua.LString(L.CallerPosition(int(level)) + toText(value))
	}
	Raise(L, value)
	return 0
}

// basePCall is Redis' pcall: if the error is a table with a string in the field err, it returns that string;
// otherwise it returns the whole error.
func basePCall(L *lua.LState) int {
	if L.GetTop() == 0 {
		L.PushBool(false)
		L.PushString("attempt to call a boolean value")
		return 2
	}
	s := FromLua(L)
	if raised := s.protectedCall(L, L.GetTop()-1); raised != nil {
		L.PushBool(false)
		table, ok := raised.(*lua.LTable)
		if !ok {
			L.Push(raised)
			return 2
		}
		text := L.Index(lua.Of(table), lua.String("err")).Boxed()
		if isText(text) {
			L.Push(text)
			return 2
		}
		L.Push(table)
		L.Push(text)
		return 3
	}
	L.Insert(lua.LTrue, 1)
	return L.GetTop()
}

func baseXPCall(L *lua.LState) int {
	checkAny(L, 2)
	L.SetTop(2)
	L.PushValue(L.At(1))
	s := FromLua(L)
	raised := s.protectedCall(L, 0)
	if raised == nil {
		L.Insert(lua.LTrue, 3)
		return L.GetTop() - 2
	}
	L.SetTop(2)
	L.Push(raised)
	failed := s.protectedCall(L, 1)
	results := L.GetTop() - 1
	if failed != nil {
		L.PushBool(false)
		L.PushString("error in error handling")
		return 2
	}
	if results == 0 {
		L.PushValue(lua.Value{})
	}
	L.SetTop(2)
	L.Insert(lua.LFalse, 2)
	return 2
}

func baseRawEqual(L *lua.LState) int {
	L.PushBool(lua.RawEqual(wantAny(L, 1), wantAny(L, 2)))
	return 1
}

func baseRawGet(L *lua.LState) int {
	table := checkTable(L, 1)
	L.PushValue(table.Find(wantAny(L, 2)))
	return 1
}

func baseRawSet(L *lua.LState) int {
	table := checkTable(L, 1)
	key, value := wantAny(L, 2), wantAny(L, 3)
	L.RawSetChecked(table, key, value)
	L.SetTop(1)
	return 1
}

func baseSelect(L *lua.LState) int {
	count := L.GetTop()
	if text, ok := L.Get(1).(lua.LString); ok && strings.HasPrefix(string(text), "#") {
		L.PushInt(count - 1)
		return 1
	}
	n := int(int32(checkInt(L, 1)))
	if n < 0 {
		n = count + n
	} else if n > count {
		n = count
	}
	if n < 1 {
		argumentError(L, 1, "index out of range")
	}
	return count - n
}

// maxCStack limits the values that a function may have on its stack: Lua 5.1's LUAI_MAXCSTACK.
const maxCStack = 8000

func baseUnpack(L *lua.LState) int {
	table := checkTable(L, 1)
	first := int(int32(optInt(L, 2, 1)))
	last := 0
	if L.Get(3) == lua.LNil {
		last = table.Len()
	} else {
		last = int(int32(checkInt(L, 3)))
	}
	if first > last {
		return 0
	}
	count := last - first + 1
	if count > maxCStack || count+L.GetTop() > maxCStack {
		fail(L, "too many results to unpack")
	}
	for i := first; i <= last; i++ {
		L.PushValue(table.Item(i))
	}
	return count
}

func baseGetMetatable(L *lua.LState) int {
	value := wantAny(L, 1)
	if shown := L.Metafield(value, "__metatable"); !shown.IsNil() {
		L.PushValue(shown)
		return 1
	}
	if _, ok := value.AsString(); ok {
		L.Push(L.G.Strings)
	} else if table := value.AsTable(); table != nil {
		L.Push(table.Metatable())
	} else {
		L.PushValue(lua.Nil)
	}
	return 1
}

func baseSetMetatable(L *lua.LState) int {
	table := checkTable(L, 1)
	meta := L.Get(2)
	switch meta.(type) {
	case *lua.LTable:
	case *lua.LNilType:
		if L.GetTop() < 2 {
			argumentError(L, 2, "nil or table expected")
		}
	default:
		argumentError(L, 2, "nil or table expected")
	}
	writable(L, table)
	if !L.Metafield(lua.Table(table), "__metatable").IsNil() {
		fail(L, "cannot change a protected metatable")
	}
	table.SetMetatable(meta)
	L.SetTop(1)
	return 1
}

func baseType(L *lua.LState) int {
	L.PushString(wantAny(L, 1).Type().String())
	return 1
}

func baseToString(L *lua.LState) int {
	value := wantAny(L, 1)
	if handler := L.Metafield(value, "__tostring"); !handler.IsNil() {
		L.PushValue(L.CallValue(handler, value))
		return 1
	}
	if _, ok := value.AsString(); ok {
		L.PushValue(value)
		return 1
	}
	if number, ok := value.AsNumber(); ok {
		L.PushString(FormatNumber(number))
		return 1
	}
	L.PushString(describe(value.Boxed()))
	return 1
}

// describe returns the text of tostring without a metamethod.
func describe(value lua.LValue) string {
	if v, ok := value.(*lua.LUserData); ok && isNull(v) {
		return "userdata: (nil)"
	}
	return value.String()
}

func baseToNumber(L *lua.LState) int {
	base := int(int32(optInt(L, 2, 10)))
	if base == 10 {
		number, ok := wantAny(L, 1).ToNumber()
		if ok {
			L.PushNumber(number)
		} else {
			L.PushValue(lua.Value{})
		}
		return 1
	}
	text := lua.CString(checkString(L, 1))
	if base < 2 || base > 36 {
		argumentError(L, 2, "base out of range")
	}
	if number, ok := parseUnsignedLong(lua.TrimSpace(text), base); ok {
		L.PushNumber(number)
	} else {
		L.PushValue(lua.Value{})
	}
	return 1
}

// parseUnsignedLong is C's strtoul: a leading minus sign wraps around, and a number out of range becomes the
// largest.
func parseUnsignedLong(text string, base int) (float64, bool) {
	negative := false
	if text != "" && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		text = text[1:]
	}
	if base == 16 && len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		text = text[2:]
	}
	var value uint64
	overflow := false
	for i := 0; i < len(text); i++ {
		digit := digitValue(text[i])
		if digit >= base {
			return 0, false
		}
		if value > (math.MaxUint64-uint64(digit))/uint64(base) {
			overflow = true
		}
		value = value*uint64(base) + uint64(digit)
	}
	switch {
	case overflow:
		value = math.MaxUint64
	case negative:
		value = -value
	}
	return float64(value), text != ""
}

func digitValue(c byte) int {
	switch {
	case lua.IsDigit(int(c)):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'z':
		return int(c|0x20-'a') + 10
	default:
		return 99
	}
}

func baseCollectGarbage(L *lua.LState) int {
	s, option := FromLua(L), "collect"
	if L.Get(1) != lua.LNil {
		option = checkString(L, 1)
	}
	var answer lua.LValue = lua.LNumber(0)
	var setting *int
	switch option {
	case "stop", "restart", "collect":
	case "count":
		answer = lua.LNumber(float64(s.limits.heap()) / 1024)
	case "step":
		answer = lua.LFalse
	case "setpause":
		setting = &s.collector.pause
	case "setstepmul":
		setting = &s.collector.stepMul
	default:
		argumentError(L, 1, "invalid option '"+option+"'")
	}
	number := int(int32(optInt(L, 2, 0)))
	if setting != nil {
		answer, *setting = lua.LNumber(*setting), number
	}
	L.Push(answer)
	return 1
}

func baseGCInfo(L *lua.LState) int {
	L.PushInt(int(FromLua(L).limits.heap() / 1024))
	return 1
}
