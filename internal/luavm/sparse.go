package luavm

import (
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// The interpreter keeps every item with an integer key below lua.MaxArrayIndex in an array, which it fills up
// to the key: one assignment to a large key can take a gigabyte. That variable belongs to the whole process
// and must not be changed here. So an item with a large key beyond the end of the array goes to the table's
// hash instead, where the interpreter does not look for such a key. The table then is sparse: it has our
// metatable, and the __index of that looks in the hash. It also does what the script's own metatable of the
// table does. Scripts do not see our metatable.
//
// Our own code reads and sets items only by get and put. The interpreter itself sets only small keys
// (denseKey) and existing keys without calling us. Invariant: an integer key below lua.MaxArrayIndex in the
// hash is larger than the length of the array, or lua.LTable.Next would loop forever. The array grows by one
// item at a time from arrayLimit on, and not onto a key that the hash has.

// arrayLimit is the least key that is large.
const arrayLimit = 1 << 18

// sparseMark is the field of a sparse table's metatable that holds the script's own in a userdata.
const sparseMark = "\x00sparse"

// largeKey is a key that the interpreter would keep in the array whatever that takes.
func largeKey(key lua.LValue) (n int, ok bool) {
	number, ok := key.(lua.LNumber)
	if !ok || number < arrayLimit || number >= lua.LNumber(lua.MaxArrayIndex) || number != lua.LNumber(int(number)) {
		return 0, false
	}
	return int(number), true
}

// get is t[key] without metamethods.
func get(t *lua.LTable, key lua.LValue) lua.LValue {
	value := t.RawGet(key)
	if value == lua.LNil {
		if _, large := largeKey(key); large {
			return t.RawGetH(key)
		}
	}
	return value
}

// put is t[key] = value without metamethods.
func put(t *lua.LTable, key, value lua.LValue) {
	n, large := largeKey(key)
	switch {
	case !large, n <= arrayLen(t), n == arrayLen(t)+1 && t.RawGetH(key) == lua.LNil:
		t.RawSet(key, value)
	case value == lua.LNil && t.RawGetH(key) == lua.LNil: // an end of the array that is reported again
	default:
		if sparseMeta(t) == nil {
			t.Metatable = newSparseMeta(t.Metatable)
		}
		if arrayLen(t) == 0 { // without an array Next takes every number for the array's end
			t.RawSetInt(1, lua.LNil)
		}
		t.RawSetH(key, value)
	}
}

// Get is an item of an array, and Put sets an item of any table, both without metamethods.
func Get(t *lua.LTable, i int) lua.LValue { return get(t, lua.LNumber(i)) }

// Put sets an item of a table; see Get.
func Put(t *lua.LTable, key, value lua.LValue) { put(t, key, value) }

// arrayAt is the offset of the array in an lua.LTable. The type does not export its length, which with nils
// at the end is more than Len.
var arrayAt = func() uintptr {
	field, ok := reflect.TypeFor[lua.LTable]().FieldByName("array")
	if !ok || field.Type != reflect.TypeFor[[]lua.LValue]() {
		panic("luavm: tables of the interpreter are not as they were")
	}
	return field.Offset
}()

func arrayLen(t *lua.LTable) int {
	return len(*(*[]lua.LValue)(unsafe.Add(unsafe.Pointer(t), arrayAt)))
}

// sparseMeta is the metatable of ours that a sparse table has; nil: t is none.
func sparseMeta(t *lua.LTable) *lua.LTable {
	meta, ok := t.Metatable.(*lua.LTable)
	if !ok || meta.RawGetString(sparseMark) == lua.LNil {
		return nil
	}
	return meta
}

// metatable is the one that a script has given to a table, or lua.LNil.
func metatable(t *lua.LTable) lua.LValue {
	if meta := sparseMeta(t); meta != nil {
		return meta.RawGetString(sparseMark).(*lua.LUserData).Value.(lua.LValue)
	}
	return t.Metatable
}

// setMetatable gives a table another one.
func setMetatable(t *lua.LTable, meta lua.LValue) {
	if sparseMeta(t) != nil {
		meta = newSparseMeta(meta)
	}
	t.Metatable = meta
}

// newSparseMeta makes the metatable of a sparse table to which the script gives meta. Reading and writing ask
// meta each time; the interpreter looks for the other events by itself, so those are copied as they are.
func newSparseMeta(meta lua.LValue) *lua.LTable {
	own := newTable(0, 8)
	if given, ok := meta.(*lua.LTable); ok {
		for _, event := range []string{"__add", "__sub", "__mul", "__div", "__mod", "__pow", "__unm", "__concat", "__eq", "__lt", "__le", "__call"} {
			if handler := given.RawGetString(event); handler != lua.LNil {
				own.RawSetString(event, handler)
			}
		}
	}
	own.RawSetString("__index", goFunction(sparseIndex))
	own.RawSetString("__newindex", goFunction(sparseNewIndex))
	own.RawSetString(sparseMark, &lua.LUserData{Value: meta, Metatable: lua.LNil})
	return own
}

// sparseIndex reads what the interpreter has not found in a sparse table.
func sparseIndex(L *lua.LState) int {
	table, key := L.Get(1).(*lua.LTable), L.Get(2)
	value := get(table, key)
	if value == lua.LNil {
		switch handler := metafield(L, table, "__index").(type) {
		case *lua.LNilType:
		case *lua.LFunction:
			value = FromLua(L).callOne(L, handler, table, key)
		default:
			value = L.GetTable(handler, key)
		}
	}
	L.Push(value)
	return 1
}

// sparseNewIndex sets what the interpreter has not found in a sparse table.
func sparseNewIndex(L *lua.LState) int {
	assign(L, L.Get(1), L.Get(2), L.Get(3))
	return 0
}

// mostHandlers is how many tables may stand for each other, as in the interpreter.
const mostHandlers = 100

// assign is object[key] = value by the metamethods' rules, for an object that is a table, or has a handler.
func assign(L *lua.LState, object, key, value lua.LValue) {
	for range mostHandlers {
		table, isTable := object.(*lua.LTable)
		var handler lua.LValue = lua.LNil
		if !isTable || get(table, key) == lua.LNil {
			handler = metafield(L, object, "__newindex")
		}
		switch {
		case handler == lua.LNil && isTable:
			FromLua(L).rawSet(L, table, key, value)
			return
		case handler == lua.LNil:
			typeError(L, "index", object, "")
		}
		if function, ok := handler.(*lua.LFunction); ok {
			L.Push(function)
			L.Push(object)
			L.Push(key)
			L.Push(value)
			L.Call(3, 0)
			return
		}
		object = handler
	}
	fail(L, "loop in settable")
}

// keyLater replaces a large key in a constructor, until placeKeys gives the item its place.
type keyLater int

// placeKeys ends a constructor that has keys which are not known beforehand.
func placeKeys(L *lua.LState) int {
	s, table := FromLua(L), L.Get(1).(*lua.LTable)
	L.SetTop(1)
	if s.later == 0 {
		return 1
	}
	items := map[*lua.LUserData]lua.LValue{}
	table.ForEach(func(key, value lua.LValue) {
		if later, ok := key.(*lua.LUserData); ok {
			if _, ours := later.Value.(keyLater); ours {
				items[later] = value
			}
		}
	})
	for later, value := range items {
		table.RawSetH(later, lua.LNil)
		put(table, lua.LNumber(later.Value.(keyLater)), value)
		s.later--
	}
	return 1
}
