package lua

// The functions by which Go code uses tables, without metamethods.

// NewTable makes a table with space for a number of items and of fields.
func NewTable(items, fields int) *LTable { return newTable(items, fields) }

// RawGetString is t[key].
func (t *LTable) RawGetString(key string) LValue { return t.getStr(key).Boxed() }

// RawGetInt is t[i].
func (t *LTable) RawGetInt(i int) LValue { return t.getInt(i).Boxed() }

// Item is t[i].
func (t *LTable) Item(i int) Value { return t.getInt(i) }

// Field is t[key].
func (t *LTable) Field(key string) Value { return t.getStr(key) }

// Find is t[key].
func (t *LTable) Find(key Value) Value { return t.get(key) }

// RawSet is t[key] = value. The key is neither nil nor NaN.
func (t *LTable) RawSet(key, value LValue) { t.set(Of(key), Of(value)) }

// RawSetString is t[key] = value.
func (t *LTable) RawSetString(key string, value LValue) { t.set(String(key), Of(value)) }

// SetItem is t[i] = value.
func (t *LTable) SetItem(i int, value Value) { t.setInt(i, value) }

// SetField is t[key] = value.
func (t *LTable) SetField(key string, value Value) { t.set(String(key), value) }

// Put is t[key] = value. The key is neither nil nor NaN.
func (t *LTable) Put(key, value Value) { t.set(key, value) }

// Len is the operator #.
func (t *LTable) Len() int { return t.length() }

// Bytes is about how much memory the items take.
func (t *LTable) Bytes() int { return t.bytes() }

// Metatable is the table's metatable, or LNil.
func (t *LTable) Metatable() LValue {
	if t.meta == nil {
		return LNil
	}
	return t.meta
}

// SetMetatable replaces the table's metatable. LNil removes it.
func (t *LTable) SetMetatable(meta LValue) { t.meta, _ = meta.(*LTable) }

// Next returns the item after a key. LNil as a key begins the iteration, and ends it as a result.
func (t *LTable) Next(key LValue) (LValue, LValue) {
	following, value, _, _ := t.next(Of(key))
	return following.Boxed(), value.Boxed()
}

// Following does what Next does, with Values. steps is the number of visited positions; ok is false for a key
// that the table does not have.
func (t *LTable) Following(key Value) (following, value Value, steps int, ok bool) {
	return t.next(key)
}

// ForEach calls fn for each item. fn may change existing items and must not add any.
func (t *LTable) ForEach(fn func(key, value LValue)) {
	t.Each(func(key, value Value) bool {
		fn(key.Boxed(), value.Boxed())
		return true
	})
}

// Each calls fn for each item, as long as fn returns true. fn may change existing items and must not add any.
func (t *LTable) Each(fn func(key, value Value) bool) {
	for i, value := range t.array {
		if value.n != tagNil && !fn(number(float64(i+1)), value) {
			return
		}
	}
	for i := range t.nodes {
		if n := &t.nodes[i]; n.value.n != tagNil && !fn(n.key, n.value) {
			return
		}
	}
}

// HashString is the hash by which tables find a string.
func HashString(s string) uint32 { return hashString(s) }

// SetHashed is t[key] = value for a string with its hash.
func (t *LTable) SetHashed(key Value, hash uint32, value Value) {
	t.absent = 0
	slot := t.stringSlot(key, hash)
	if slot == nil {
		if value.n == tagNil {
			return
		}
		slot = t.newKey(key, hash)
	}
	*slot = value
}

// SetItems sets the items of a table without items. The values are copied.
func (t *LTable) SetItems(values []Value) {
	t.array = make([]Value, len(values))
	copy(t.array, values)
}
