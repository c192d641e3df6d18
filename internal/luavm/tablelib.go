package luavm

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// tableLibrary is the table table.
func tableLibrary() library {
	return library{
		"concat":   tableConcat,
		"foreach":  tableForeach,
		"foreachi": tableForeachi,
		"getn":     tableGetn,
		"insert":   tableInsert,
		"maxn":     tableMaxn,
		"remove":   tableRemove,
		"setn":     tableSetn,
		"sort":     tableSort,
	}
}

// item is t[i] without metamethods.
func item(t *lua.LTable, i int) lua.LValue { return get(t, lua.LNumber(i)) }

// setItem is t[i] = v without metamethods.
func setItem(t *lua.LTable, i int, v lua.LValue) { put(t, lua.LNumber(i), v) }

func tableGetn(L *lua.LState) int {
	L.Push(lua.LNumber(border(real(checkTable(L, 1)))))
	return 1
}

func tableSetn(L *lua.LState) int {
	checkTable(L, 1)
	fail(L, "'setn' is obsolete")
	return 0
}

func tableMaxn(L *lua.LState) int {
	highest := lua.LNumber(0)
	real(checkTable(L, 1)).ForEach(func(key, _ lua.LValue) {
		if n, ok := key.(lua.LNumber); ok && n > highest {
			highest = n
		}
	})
	L.Push(highest)
	return 1
}

func tableInsert(L *lua.LState) int {
	table := checkTable(L, 1)
	s := FromLua(L)
	end := border(real(table)) + 1
	switch L.GetTop() {
	case 2:
		writable(L, table)
		s.growth(L)
		setItem(table, end, L.Get(2))
	case 3:
		at := int(int32(checkInt(L, 2)))
		end = max(end, at)
		writable(L, table)
		s.growth(L)
		s.chargeKey(L, table, lua.LNumber(end))
		s.work(L, max(end-at, 0)/4)
		for i := end; i > at; i-- {
			setItem(table, i, item(table, i-1))
		}
		setItem(table, at, L.Get(3))
	default:
		fail(L, "wrong number of arguments to 'insert'")
	}
	return 0
}

// growth counts an item that a table gains.
func (s *State) growth(L *lua.LState) { s.charge(L, 32) }

func tableRemove(L *lua.LState) int {
	table := checkTable(L, 1)
	end := border(real(table))
	at := int(int32(optInt(L, 2, end)))
	if at < 1 || at > end {
		return 0
	}
	writable(L, table)
	FromLua(L).work(L, (end-at)/4)
	removed := item(table, at)
	for i := at; i < end; i++ {
		setItem(table, i, item(table, i+1))
	}
	setItem(table, end, lua.LNil)
	L.Push(removed)
	return 1
}

func tableConcat(L *lua.LState) int {
	table := real(checkTable(L, 1))
	separator := ""
	if L.Get(2) != lua.LNil {
		separator = checkString(L, 2)
	}
	first := int(int32(optInt(L, 3, 1)))
	last := 0
	if L.Get(4) == lua.LNil {
		last = border(table)
	} else {
		last = int(int32(checkInt(L, 4)))
	}
	s := FromLua(L)
	buffer := s.scratch[:0]
	for i := first; i <= last; i++ {
		switch value := item(table, i).(type) {
		case lua.LString:
			buffer = append(buffer, value...)
		case lua.LNumber:
			buffer = AppendNumber(buffer, float64(value))
		default:
			fail(L, "invalid value ("+typeName(value)+") at index "+FormatNumber(float64(i))+" in table for 'concat'")
		}
		if i < last {
			buffer = append(buffer, separator...)
		}
		if i&0xff == 0 || len(buffer) > checkEvery {
			s.work(L, 0x100)
			s.tooLong(L, len(buffer))
		}
	}
	s.charge(L, len(buffer))
	L.Push(lua.LString(buffer))
	s.keep(buffer)
	return 1
}

// tooLong refuses a string that is longer than all that a script may hold.
func (s *State) tooLong(L *lua.LState, length int) {
	if int64(length) > s.options.MaxMemoryBytes {
		fail(L, errMemory.Error())
	}
}

func tableForeach(L *lua.LState) int {
	table := real(checkTable(L, 1))
	fn := checkFunction(L, 2)
	s := FromLua(L)
	for key, value := table.Next(lua.LNil); key != lua.LNil; key, value = table.Next(key) {
		if result := s.callOne(L, fn, key, value); result != lua.LNil {
			L.Push(result)
			return 1
		}
	}
	return 0
}

func tableForeachi(L *lua.LState) int {
	table := real(checkTable(L, 1))
	fn := checkFunction(L, 2)
	s := FromLua(L)
	count := border(table)
	for i := 1; i <= count; i++ {
		if result := s.callOne(L, fn, lua.LNumber(i), item(table, i)); result != lua.LNil {
			L.Push(result)
			return 1
		}
	}
	return 0
}

// sorter sorts a table by Lua 5.1's quicksort: the order of equal items, and which wrong order functions
// are noticed, are visible to scripts.
type sorter struct {
	L     *lua.LState
	s     *State
	table *lua.LTable
	less  lua.LValue // function, or nil
}

func tableSort(L *lua.LState) int {
	table := checkTable(L, 1)
	count := border(real(table))
	sort := &sorter{L: L, s: FromLua(L), table: table, less: L.Get(2)}
	if sort.less != lua.LNil {
		checkFunction(L, 2)
	}
	if count > 1 {
		writable(L, table)
	}
	L.SetTop(2)
	sort.sort(1, count)
	return 0
}

// before tells whether a comes before b.
func (q *sorter) before(a, b lua.LValue) bool {
	q.s.work(q.L, 1)
	if q.less != lua.LNil {
		return lua.LVAsBool(q.s.callOne(q.L, q.less, a, b))
	}
	switch x := a.(type) {
	case lua.LNumber:
		if y, ok := b.(lua.LNumber); ok {
			return x < y
		}
	case lua.LString:
		if y, ok := b.(lua.LString); ok {
			return strings.Compare(string(x), string(y)) < 0
		}
	}
	if left, right := typeName(a), typeName(b); left != right {
		failWithin(q.L, "attempt to compare "+left+" with "+right)
	}
	handler := metafield(q.L, a, "__lt")
	if handler == lua.LNil || handler != metafield(q.L, b, "__lt") {
		failWithin(q.L, "attempt to compare two "+typeName(a)+" values")
	}
	return lua.LVAsBool(q.s.callOne(q.L, handler, a, b))
}

func (q *sorter) swap(i, j int) {
	a, b := item(q.table, i), item(q.table, j)
	setItem(q.table, i, b)
	setItem(q.table, j, a)
}

// order swaps two items if the second belongs before the first.
func (q *sorter) order(i, j int) {
	if q.before(item(q.table, j), item(q.table, i)) {
		q.swap(i, j)
	}
}

func (q *sorter) sort(low, high int) {
	for low < high {
		q.order(low, high)
		if high-low == 1 {
			return
		}
		middle := (low + high) / 2
		if q.before(item(q.table, middle), item(q.table, low)) {
			q.swap(middle, low)
		} else {
			q.order(middle, high)
		}
		if high-low == 2 {
			return
		}
		at := q.partition(low, high, middle)
		if at-low < high-at {
			q.sort(low, at-1)
			low = at + 1
		} else {
			q.sort(at+1, high)
			high = at - 1
		}
	}
}

// partition moves what is less than the item at middle before it, and returns where that ends up.
func (q *sorter) partition(low, high, middle int) int {
	pivot := item(q.table, middle)
	q.swap(middle, high-1)
	i, j := low, high-1
	for {
		for i++; q.before(item(q.table, i), pivot); i++ {
			if i > high {
				fail(q.L, "invalid order function for sorting")
			}
		}
		for j--; q.before(pivot, item(q.table, j)); j-- {
			if j < low {
				fail(q.L, "invalid order function for sorting")
			}
		}
		if j < i {
			q.swap(high-1, i)
			return i
		}
		q.swap(i, j)
	}
}
