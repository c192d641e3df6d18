package hash

import (
	"strconv"
	"unsafe"

	"lockserver/store/dict"
	"lockserver/store/listpack"
	"lockserver/store/piece"
)

const (
	// maxListpack limits the small form for any Limits, because a listpack's size field has 32 bits. Redis
	// has the same limit.
	maxListpack = 1 << 30
	// mostIntBytes is the largest size of an integer.
	mostIntBytes = 10
)

// PairBytes returns the size to pass to New if the caller then sets a field to a value.
func PairBytes(field, value []byte) int {
	return listpack.EncodedLen(field) + listpack.EncodedLen(value)
}

// IntPairBytes is PairBytes for an integer value.
func IntPairBytes(field []byte, n int64) int { return listpack.EncodedLen(field) + listpack.IntLen(n) }

// mostExpected is the largest size in bytes for which a new hash is prepared; a larger hash may become a
// table.
const mostExpected = 4096

// PairsBytes is PairBytes for several fields and values.
func PairsBytes(pairs [][]byte) (n int) {
	for _, b := range pairs {
		if n += listpack.EncodedLen(b); n > mostExpected {
			return 0
		}
	}
	return n
}

// fits reports whether a field can be set while the hash stays a listpack.
func (h *Hash) fits(lim Limits, field []byte, valueLen int) bool {
	return len(field) <= lim.Value && valueLen <= lim.Value &&
		len(h.lp())+mostBytes(len(field))+mostBytes(valueLen) < maxListpack
}

// outgrown turns the hash into a table if it has too many fields.
func (e *Edit) outgrown(lim Limits) {
	if e.lp().Len() > 2*lim.Entries {
		e.convert()
	}
}

// PrepareFor converts a hash to a table if n new fields are too many for a listpack. It does so even if some
// of the fields turn out to be equal.
func (e *Edit) PrepareFor(lim Limits, n int) {
	e.mustOwn()
	if e.table() == nil && n > lim.Entries {
		e.convert()
	}
}

// convert turns the listpack into a table.
func (e *Edit) convert() {
	table := dict.New[struct{}](e.common.Epoch, e.common.Seed)
	e.smallEach(func(field, value []byte) bool {
		table.InsertTailed(table.Hash(field), field, value, struct{}{})
		table.AddWeight(len(value))
		return true
	})
	f := e.unpack()
	f.table, f.lp = table, nil
}

// smallFind returns the position of a field in the listpack, or -1.
func smallFind(lp listpack.List, field []byte) int {
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

func (e *Edit) smallSet(field, value []byte) (added bool) {
	lp := e.lp()
	if pos := smallFind(lp, field); pos >= 0 {
		at := lp.Next(pos)
		if old := lp.SizeAt(at); mostBytes(len(value))-old > cap(lp)-len(lp) { // perhaps too long: the value may be stored as an integer
			lp = e.grow(lp, listpack.EncodedLen(value)-old)
		}
		e.keep(lp.Replace(at, value))
		return false
	}
	if mostBytes(len(field))+mostBytes(len(value)) > cap(lp)-len(lp) {
		lp = e.grow(lp, listpack.EncodedLen(field)+listpack.EncodedLen(value))
	}
	e.keep(lp.Append(field).Append(value))
	return true
}

func (e *Edit) smallSetInt(field []byte, n int64) (added bool) {
	lp := e.lp()
	if pos := smallFind(lp, field); pos >= 0 {
		at := lp.Next(pos)
		lp = e.grow(lp, listpack.IntLen(n)-lp.SizeAt(at))
		e.keep(lp.ReplaceInt(at, n))
		return false
	}
	if mostBytes(len(field))+mostIntBytes > cap(lp)-len(lp) {
		lp = e.grow(lp, listpack.EncodedLen(field)+listpack.IntLen(n))
	}
	e.keep(lp.Append(field).AppendInt(n))
	return true
}

// grow returns the listpack with space for more bytes.
func (e *Edit) grow(lp listpack.List, more int) listpack.List {
	need := len(lp) + more
	switch {
	case need <= cap(lp):
		return lp
	case !e.head.Packed():
		return lp.Reserve(more)
	}
	e.move(lp, piece.CapacityFor(need)-len(lp))
	return e.lp()
}

// move moves the hash to another piece, with space for more bytes.
func (e *Edit) move(lp listpack.List, more int) {
	fresh := packed(e.common, e.name, lp, more)
	e.head.Leave()
	e.Hash = fresh
}

// keep stores the changed listpack. In a piece it stays in place.
func (e *Edit) keep(lp listpack.List) {
	if !e.head.Packed() {
		e.full().lp = lp
	} else if unsafe.SliceData(lp) != unsafe.SliceData(e.head.Content()) {
		if invariants {
			panic("hash: a listpack that has left its piece")
		}
		e.move(lp, 0)
	}
}

func (e *Edit) smallDelete(field []byte) bool {
	lp := e.lp()
	pos := smallFind(lp, field)
	if pos < 0 {
		return false
	}
	lp = lp.Delete(pos, 2)
	if !e.head.Packed() {
		e.full().lp = lp.Trim()
	} else if cap(lp) > 256 && len(lp) < cap(lp)/4 {
		e.move(lp, 0)
	}
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
	if v.IsInt { // after the field, if the field is in dst
		value = strconv.AppendInt(dst, v.Int, 10)[len(dst):]
	}
	return field, value
}

func (h *Hash) smallEach(fn func(field, value []byte) bool) {
	lp := h.lp()
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
