package luavm

import (
	lua "github.com/yuin/gopher-lua"
)

// helperMark begins the names by which the parser calls helpers; no name in a script can.
const helperMark = "\x00"

// The helpers that the parser puts into the syntax tree.
const (
	helperConcat    = helperMark + "concat"
	helperMod       = helperMark + "mod"
	helperLen       = helperMark + "len"
	helperSetIndex  = helperMark + "setindex"
	helperKey       = helperMark + "key"
	helperJoin      = helperMark + "join"
	helperPow       = helperMark + "pow"
	helperYield     = helperMark + "yield"
	helperGlobals   = helperMark + "globals"
	helperPlaceKeys = helperMark + "placekeys"
	helperClose     = helperMark + "close:" // with a register's number
)

// helperValue is the constant that a helper's name stands for. It keeps no state,
// so that chunks can be shared.
func helperValue(name string) lua.LValue {
	switch name {
	case helperConcat:
		return goFunction(concat)
	case helperMod:
		return goFunction(mod)
	case helperLen:
		return goFunction(length)
	case helperSetIndex:
		return goFunction(setIndex)
	case helperKey:
		return goFunction(checkKey)
	case helperPow:
		return goFunction(pow)
	case helperYield:
		return goFunction(yield)
	case helperJoin:
		return goFunction(joinTables)
	case helperPlaceKeys:
		return goFunction(placeKeys)
	case helperGlobals:
		guard := newTable(0, 1)
		guard.RawSetString("__newindex", goFunction(refuseWrite))
		return &lua.LUserData{Metatable: guard}
	default:
		panic("luavm: no helper " + name)
	}
}

func goFunction(fn lua.LGFunction) *lua.LFunction { return &lua.LFunction{IsG: true, GFunction: fn} }

// concat joins its arguments as a chain of .. does: from the right, numbers as text,
// everything else by metamethods.
func concat(L *lua.LState) int {
	count := L.GetTop()
	size := 0
	for i := 1; i <= count; i++ {
		switch value := L.Get(i).(type) {
		case lua.LString:
			size += len(value)
		case lua.LNumber:
			size += 24
		default:
			return concatSlowly(L, count)
		}
	}
	s := FromLua(L)
	s.charge(L, size)
	s.work(L, size/256)
	text := s.join(L, 1, count)
	L.Push(lua.LString(text))
	return 1
}

// join is the text of the arguments from first to last, which are strings and numbers.
func (s *State) join(L *lua.LState, first, last int) string {
	buffer := s.scratch[:0]
	for i := first; i <= last; i++ {
		switch value := L.Get(i).(type) {
		case lua.LString:
			buffer = append(buffer, value...)
		case lua.LNumber:
			buffer = AppendNumber(buffer, float64(value))
		}
	}
	s.keep(buffer)
	return string(buffer)
}

// maxScratch is how large a buffer is kept for the next use.
const maxScratch = 64 << 10

func (s *State) keep(buffer []byte) {
	if cap(buffer) <= maxScratch {
		s.scratch = buffer[:0]
	}
}

// concatSlowly joins pairs from the right, some of them by metamethods.
func concatSlowly(L *lua.LState, count int) int {
	s := FromLua(L)
	right := L.Get(count)
	for i := count - 1; i >= 1; i-- {
		left := L.Get(i)
		if isText(left) && isText(right) {
			text := toText(left) + toText(right)
			s.charge(L, len(text))
			right = lua.LString(text)
			continue
		}
		handler := binaryHandler(L, left, right, "__concat")
		if handler == lua.LNil {
			wrong, argument := left, i
			if isText(left) {
				wrong, argument = right, i+1
			}
			typeError(L, "concatenate", wrong, callArgument(L, argument))
		}
		right = s.callOne(L, handler, left, right)
	}
	L.Push(right)
	return 1
}

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

// binaryHandler is the metamethod for two operands, those of the basic types aside.
func binaryHandler(L *lua.LState, left, right lua.LValue, event string) lua.LValue {
	if handler := metafield(L, left, event); handler != lua.LNil {
		return handler
	}
	return metafield(L, right, event)
}

// metafield is a field of a table's or userdata's metatable.
func metafield(L *lua.LState, v lua.LValue, event string) lua.LValue {
	var meta lua.LValue
	switch value := v.(type) {
	case *lua.LTable:
		meta = metatable(value)
	case *lua.LUserData:
		if !isNull(value) {
			meta = value.Metatable
		}
	}
	if table, ok := meta.(*lua.LTable); ok {
		return table.RawGetString(event)
	}
	return lua.LNil
}

// mod is the operator %.
func mod(L *lua.LState) int { return arithmeticCall(L, "__mod", modulo) }

// pow is the operator ^, which would miss the sign of what is not a number.
func pow(L *lua.LState) int { return arithmeticCall(L, "__pow", power) }

func arithmeticCall(L *lua.LState, event string, operation func(a, b float64) float64) int {
	a, b := L.Get(1), L.Get(2)
	x, ok1 := a.(lua.LNumber)
	y, ok2 := b.(lua.LNumber)
	if ok1 && ok2 {
		L.Push(lua.LNumber(operation(float64(x), float64(y))))
		return 1
	}
	if handler := binaryHandler(L, a, b, event); handler != lua.LNil {
		L.Push(FromLua(L).callOne(L, handler, a, b))
		return 1
	}
	m, ok1 := ToNumber(a)
	n, ok2 := ToNumber(b)
	if !ok1 || !ok2 {
		wrong, argument := b, 2
		if !ok1 {
			wrong, argument = a, 1
		}
		typeError(L, "perform arithmetic on", wrong, callArgument(L, argument))
	}
	L.Push(lua.LNumber(operation(m, n)))
	return 1
}

// length is the operator #, which in Lua 5.1 has no metamethod for tables.
func length(L *lua.LState) int {
	switch value := L.Get(1).(type) {
	case *lua.LTable:
		L.Push(lua.LNumber(border(real(value))))
	case lua.LString:
		L.Push(lua.LNumber(len(value)))
	default:
		if handler := metafield(L, value, "__len"); handler != lua.LNil {
			L.Push(FromLua(L).callOne(L, handler, value))
			return 1
		}
		typeError(L, "get length of", value, callArgument(L, 1))
	}
	return 1
}

// border is Lua's #: an index with a nil successor. Where the array is full the hash is searched.
func border(t *lua.LTable) int {
	n := t.Len()
	if n < arrayLimit-1 || item(t, n+1) == lua.LNil {
		return n
	}
	low, high := n+1, 2*(n+1)
	for item(t, high) != lua.LNil {
		low, high = high, 2*high
	}
	for high-low > 1 {
		middle := (low + high) / 2
		if item(t, middle) == lua.LNil {
			high = middle
		} else {
			low = middle
		}
	}
	return low
}

// setIndex is t[k] = v for an index that the parser does not know.
func setIndex(L *lua.LState) int {
	object, key, value := L.Get(1), L.Get(2), L.Get(3)
	table, ok := object.(*lua.LTable)
	if ok && table.Metatable == lua.LNil {
		FromLua(L).rawSet(L, table, key, value)
		return 0
	}
	if !ok && metafield(L, object, "__newindex") == lua.LNil {
		typeError(L, "index", object, callArgument(L, 1))
	}
	if _, large := largeKey(key); large {
		assign(L, object, key, value)
		return 0
	}
	if ok {
		FromLua(L).chargeKey(L, table, key)
	}
	L.SetTable(object, key, value)
	return 0
}

// rawSet sets an item of a table without metatable, and counts what that takes.
func (s *State) rawSet(L *lua.LState, table *lua.LTable, key, value lua.LValue) {
	switch k := key.(type) {
	case lua.LNumber:
		if k != k {
			fail(L, "table index is NaN")
		}
		s.chargeKey(L, table, key)
	case lua.LString:
		table.RawSetString(string(k), value)
		return
	case *lua.LNilType:
		fail(L, "table index is nil")
	}
	put(table, key, value)
}

// chargeKey counts the array that an index may call for: up to the index, unless the
// one before it is there already.
func (s *State) chargeKey(L *lua.LState, table *lua.LTable, key lua.LValue) {
	n, ok := key.(lua.LNumber)
	if !ok || n <= 4096 || int(n) >= arrayLimit {
		return
	}
	if table.RawGetInt(int(n)-1) == lua.LNil && table.RawGetInt(int(n)) == lua.LNil {
		s.charge(L, int(n)*24)
	}
}

// checkKey passes on an index in a table constructor.
func checkKey(L *lua.LState) int {
	L.SetTop(1)
	n, ok := L.Get(1).(lua.LNumber)
	if !ok || n <= 4096 {
		return 1
	}
	s := FromLua(L)
	if large, ok := largeKey(n); ok {
		s.later++
		L.SetTop(0)
		L.Push(&lua.LUserData{Value: keyLater(large), Metatable: lua.LNil})
	} else if n < arrayLimit {
		s.charge(L, int(n)*24)
	}
	return 1
}

// joinTables appends the items of the tables after the first to that, and their fields.
func joinTables(L *lua.LState) int {
	first := L.Get(1).(*lua.LTable)
	for i := 2; i <= L.GetTop(); i++ {
		part := L.Get(i).(*lua.LTable)
		offset := (i - 1) * fieldsAtOnce
		part.ForEach(func(key, value lua.LValue) {
			if n, ok := key.(lua.LNumber); ok && n >= 1 {
				put(first, n+lua.LNumber(offset), value)
				return
			}
			first.RawSet(key, value)
		})
	}
	L.SetTop(1)
	return 1
}

// refuseWrite is what setting a global, or a field of a protected table, ends in.
func refuseWrite(L *lua.LState) int {
	fail(L, readOnly)
	return 0
}

// readOnly is Redis' text.
const readOnly = "Attempt to modify a readonly table"
