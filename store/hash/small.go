package hash

import (
	"strconv"

	"lockserver/store/dict"
	"lockserver/store/listpack"
)

const (
	// maxListpack bounds the small form whatever the limits say: a listpack's
	// own size field has 32 bits. Redis stops at the same size.
	maxListpack = 1 << 30
	// spare is what a new hash has room for beyond its first field: a lock's
	// "$token" and a 64-bit integer.
	spare = 18
	// intRoom is the most that an integer takes.
	intRoom = 10
)

// room returns how many bytes of a listpack a string takes at most.
func room(length int) int {
	if length < 64 {
		return length + 2
	}
	return length + 10
}

// fits reports whether a field may be set while the hash stays a listpack.
func (h *Hash) fits(lim Limits, field []byte, valueLen int) bool {
	return len(field) <= lim.Value && valueLen <= lim.Value &&
		len(h.lp())+room(len(field))+room(valueLen) < maxListpack
}

// outgrown turns the hash into a table if it has too many fields.
func (h *Hash) outgrown(lim Limits) {
	if h.lp().Len() > 2*lim.Entries {
		h.convert()
	}
}

// PrepareFor makes a table of a hash that is about to be given n fields at once, if so many are too many for
// a listpack, even if some of them turn out to be the same.
func (h *Hash) PrepareFor(lim Limits, n int) {
	h.mustOwn()
	if h.table() == nil && n > lim.Entries {
		h.convert()
	}
}

// convert turns the listpack into a table.
func (h *Hash) convert() {
	table := dict.New[string](h.common.Epoch, h.common.Seed)
	h.smallEach(func(field, value []byte) bool {
		table.Insert(table.Hash(field), field, string(value))
		table.AddWeight(len(value))
		return true
	})
	h.setTable(table)
}

// smallFind returns the position of a field in the listpack, or -1.
func smallFind(lp listpack.List, field []byte) int {
	if lp == nil {
		return -1
	}
	return lp.Find(lp.First(), field, 1)
}

func (h *Hash) smallGet(field []byte) (v listpack.Value, ok bool) {
	lp := h.lp()
	pos := smallFind(lp, field)
	if pos < 0 {
		return v, false
	}
	return lp.Get(lp.Next(pos)), true
}

func (h *Hash) smallSet(field, value []byte) (added bool) {
	lp := h.lp()
	if pos := smallFind(lp, field); pos >= 0 {
		h.setLP(lp.Replace(lp.Next(pos), value))
		return false
	}
	h.setLP(reserve(lp, room(len(field))+room(len(value))).Append(field).Append(value))
	return true
}

func (h *Hash) smallSetInt(field []byte, n int64) (added bool) {
	lp := h.lp()
	if pos := smallFind(lp, field); pos >= 0 {
		h.setLP(lp.ReplaceInt(lp.Next(pos), n))
		return false
	}
	h.setLP(reserve(lp, room(len(field))+intRoom).Append(field).AppendInt(n))
	return true
}

// reserve makes room for so many more bytes; lp may be nil.
func reserve(lp listpack.List, n int) listpack.List {
	if lp == nil {
		return listpack.NewSize(n + spare)
	}
	return lp.Reserve(n)
}

func (h *Hash) smallDelete(field []byte) bool {
	lp := h.lp()
	pos := smallFind(lp, field)
	if pos < 0 {
		return false
	}
	h.setLP(lp.Delete(pos, 2).Trim())
	return true
}

func (h *Hash) smallAt(i int, dst []byte) (field, value []byte) {
	lp := h.lp()
	pos := lp.First()
	for range 2 * i {
		pos = lp.Next(pos)
	}
	f, v := lp.Get(pos), lp.Get(lp.Next(pos))
	field, value, dst = f.Bytes(), v.Bytes(), dst[:0]
	if f.IsInt {
		dst = strconv.AppendInt(dst, f.Int, 10)
		field = dst
	}
	if v.IsInt { // behind the field, if that stands in dst
		value = strconv.AppendInt(dst, v.Int, 10)[len(dst):]
	}
	return field, value
}

func (h *Hash) smallEach(fn func(field, value []byte) bool) {
	lp := h.lp()
	if lp == nil {
		return
	}
	var fieldText, valueText []byte // only integers need them
	for pos := lp.First(); pos >= 0; {
		field, at := lp.Step(pos)
		value, next := lp.Step(at)
		pos = next
		f, v := field.Bytes(), value.Bytes()
		if field.IsInt {
			fieldText = strconv.AppendInt(fieldText[:0], field.Int, 10)
			f = fieldText
		}
		if value.IsInt {
			valueText = strconv.AppendInt(valueText[:0], value.Int, 10)
			v = valueText
		}
		if !fn(f, v) {
			return
		}
	}
}
