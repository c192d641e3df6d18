package luavm

import (
	"lockserver/internal/lua"
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

func tableGetn(L *lua.LState) int {
	L.PushInt(checkTable(L, 1).Len())
	return 1
}

func tableSetn(L *lua.LState) int {
	checkTable(L, 1)
	fail(L, "'setn' is obsolete")
	return 0
}

func tableMaxn(L *lua.LState) int {
	highest := 0.0
	checkTable(L, 1).Each(func(key, _ lua.Value) bool {
		if n, ok := key.AsNumber(); ok && n > highest {
			highest = n
		}
		return true
	})
	L.PushNumber(highest)
	return 1
}

func tableInsert(L *lua.LState) int {
	table := checkTable(L, 1)
	end := table.Len() + 1
	switch L.GetTop() {
	case 2:
		L.RawSetChecked(table, lua.Int(end), L.At(2))
	case 3:
		at := int(int32(checkInt(L, 2)))
		end = max(end, at)
		writable(L, table)
		L.Work(max(end-at, 0) / 4)
		for i := end; i > at; i-- {
			L.RawSetChecked(table, lua.Int(i), table.Item(i-1))
		}
		L.RawSetChecked(table, lua.Int(at), L.At(3))
	default:
		fail(L, "wrong number of arguments to 'insert'")
	}
	return 0
}

func tableRemove(L *lua.LState) int {
	table := checkTable(L, 1)
	end := table.Len()
	at := int(int32(optInt(L, 2, end)))
	if at < 1 || at > end {
		return 0
	}
	writable(L, table)
	FromLua(L).work(L, (end-at)/4)
	removed := table.Item(at)
	for i := at; i < end; i++ {
		table.SetItem(i, table.Item(i+1))
	}
	table.SetItem(end, lua.Nil)
	L.PushValue(removed)
	return 1
}

func tableConcat(L *lua.LState) int {
	table := checkTable(L, 1)
	separator := ""
	if L.Get(2) != lua.LNil {
		separator = checkString(L, 2)
	}
	first := int(int32(optInt(L, 3, 1)))
	last := 0
	if L.Get(4) == lua.LNil {
		last = table.Len()
	} else {
		last = int(int32(checkInt(L, 4)))
	}
	s := FromLua(L)
	var whole pieces
	buffer := s.scratch[:0]
	for i := first; i <= last; i++ {
		value := table.Item(i)
		if text, ok := value.AsString(); ok {
			buffer = append(buffer, text...)
		} else if number, ok := value.AsNumber(); ok {
			buffer = AppendNumber(buffer, number)
		} else {
			fail(L, "invalid value ("+value.Type().String()+") at index "+FormatNumber(float64(i))+" in table for 'concat'")
		}
		if i < last {
			buffer = append(buffer, separator...)
		}
		if full := len(buffer) >= pieceFull; full || i&0xff == 0 {
			s.work(L, 0x100)
			if full {
				buffer = whole.next(buffer)
				s.tooLong(L, whole.length)
			}
		}
	}
	s.charge(L, whole.length+len(buffer))
	L.PushString(whole.text(buffer))
	s.keep(buffer)
	return 1
}

// tooLong refuses a string that is longer than the script's memory limit.
func (s *State) tooLong(L *lua.LState, length int) {
	if int64(length) > s.options.MaxMemoryBytes {
		fail(L, errMemory.Error())
	}
}

func tableForeach(L *lua.LState) int {
	table := checkTable(L, 1)
	checkFunction(L, 2)
	for key := lua.Nil; ; {
		following, value, _, ok := table.Following(key)
		if !ok {
			failWithin(L, "invalid key to 'next'")
		}
		if following.IsNil() {
			return 0
		}
		key = following
		if result := L.CallValue(L.At(2), key, value); !result.IsNil() {
			L.PushValue(result)
			return 1
		}
	}
}

func tableForeachi(L *lua.LState) int {
	table := checkTable(L, 1)
	checkFunction(L, 2)
	count := table.Len()
	for i := 1; i <= count; i++ {
		if result := L.CallValue(L.At(2), lua.Int(i), table.Item(i)); !result.IsNil() {
			L.PushValue(result)
			return 1
		}
	}
	return 0
}

// sorter sorts a table by Lua 5.1's quicksort, because scripts can see the order of equal items, and which
// invalid order functions are detected.
type sorter struct {
	L     *lua.LState
	s     *State
	table *lua.LTable
	less  lua.Value // function, or nil
}

func tableSort(L *lua.LState) int {
	table := checkTable(L, 1)
	count := table.Len()
	sort := &sorter{L: L, s: FromLua(L), table: table, less: L.At(2)}
	if !sort.less.IsNil() {
		checkFunction(L, 2)
	}
	if count > 1 {
		writable(L, table)
	}
	L.SetTop(2)
	sort.sort(1, count)
	return 0
}

// before reports whether a comes before b.
func (q *sorter) before(a, b lua.Value) bool {
	q.s.work(q.L, 1)
	if !q.less.IsNil() {
		return q.L.CallValue(q.less, a, b).IsTrue()
	}
	return q.L.Less(a, b)
}

func (q *sorter) swap(i, j int) {
	a, b := q.table.Item(i), q.table.Item(j)
	q.table.SetItem(i, b)
	q.table.SetItem(j, a)
}

// order swaps two items if the second belongs before the first.
func (q *sorter) order(i, j int) {
	if q.before(q.table.Item(j), q.table.Item(i)) {
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
		if q.before(q.table.Item(middle), q.table.Item(low)) {
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

// partition moves the items that are less than the item at middle in front of it, and returns its new
// position.
func (q *sorter) partition(low, high, middle int) int {
	pivot := q.table.Item(middle)
	q.swap(middle, high-1)
	i, j := low, high-1
	for {
		for i++; q.before(q.table.Item(i), pivot); i++ {
			if i > high {
				fail(q.L, "invalid order function for sorting")
			}
		}
		for j--; q.before(pivot, q.table.Item(j)); j-- {
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
