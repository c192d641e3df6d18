package commands

import (
	"bytes"
	"slices"
	"strconv"

	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
)

// KeyRef is one key of a call: the index of its word, and its use.
type KeyRef struct {
	Pos   int
	Flags KeyFlags
}

// KeyRefs appends the keys of a call to dst. args is the whole call and must satisfy the row's arity. It
// returns an error if the arguments contradict each other, for example if numkeys exceeds them; then dst is
// returned unchanged. A command that needs no keys (EVAL) has no keys in that case.
func (t *Table) KeyRefs(row *Row, args [][]byte, dst []KeyRef) ([]KeyRef, error) {
	refs, ok := row.OwnKeyRefs(args, dst)
	if ok && row.Inner > 0 {
		refs, ok = t.innerRefs(row, args, refs)
	}
	if !ok {
		return dst, row.unfound()
	}
	return refs, nil
}

// OwnKeyRefs is KeyRefs without the keys of an inner command (GUARD). ok is false if the arguments contradict
// each other; refs then holds the keys that can still be found.
func (r *Row) OwnKeyRefs(args [][]byte, dst []KeyRef) (refs []KeyRef, ok bool) {
	if r.FindKeys != nil {
		return r.FindKeys(args, dst)
	}
	refs = dst
	found := func(pos int, use KeyFlags) { refs = append(refs, KeyRef{pos, use}) }
	if r.eachKey(args, found) {
		return refs, true
	}
	if loose, ok := r.looseRefs(args, dst); ok {
		return loose, true
	}
	refs = dst
	for i := range r.keys {
		r.keysOf(&r.keys[i], args, found)
	}
	return refs, false
}

// KeyPositions appends the indexes of the words of a call that are keys to dst; see KeyRefs.
func (t *Table) KeyPositions(row *Row, args [][]byte, dst []int) ([]int, error) {
	found := dst
	if row.FindKeys != nil || row.Inner > 0 {
		refs, err := t.KeyRefs(row, args, nil)
		for _, ref := range refs {
			found = append(found, ref.Pos)
		}
		return found, err
	}
	if row.eachKey(args, func(pos int, _ KeyFlags) { found = append(found, pos) }) {
		return found, nil
	}
	refs, ok := row.looseRefs(args, nil)
	if !ok {
		return dst, row.unfound()
	}
	found = dst
	for _, ref := range refs {
		found = append(found, ref.Pos)
	}
	return found, nil
}

// innerRefs appends the keys of the inner command of a call.
func (t *Table) innerRefs(row *Row, args [][]byte, refs []KeyRef) ([]KeyRef, bool) {
	inner, err := t.Resolve(args[row.Inner:])
	if err != nil || inner.Inner > 0 {
		return refs, false
	}
	from := len(refs)
	refs, err = t.KeyRefs(inner, args[row.Inner:], refs)
	for i := from; i < len(refs); i++ {
		refs[i].Pos += row.Inner
	}
	return refs, err == nil
}

// unfound returns the error for a call with contradictory arguments.
func (r *Row) unfound() error {
	if r.Flags.Has(NoMandatoryKeys) {
		return nil
	}
	return ErrCommandInvalidArgs
}

// eachKey calls found for each key that the row's specs find, and returns false if the specs do not fit the
// call.
func (r *Row) eachKey(args [][]byte, found func(pos int, use KeyFlags)) bool {
	for i := range r.keys {
		if !r.keysOf(&r.keys[i], args, found) {
			return false
		}
	}
	return true
}

// EachRouted calls found with the index of each word that is no key and is routed like a key. Such words are
// sharded channels, and names from which keys follow (SECKILL's voucher).
func (r *Row) EachRouted(args [][]byte, found func(pos int)) {
	for i := range r.keys {
		s := &r.keys[i]
		if s.Flags&NotKey == 0 {
			continue
		}
		if first, last, ok := s.locate(args, s.Index); ok {
			for at := first; at <= last; at += s.Step {
				found(at)
			}
		}
	}
}

// keysOf is eachKey for one spec.
func (r *Row) keysOf(s *KeySpec, args [][]byte, found func(pos int, use KeyFlags)) bool {
	if s.Flags&NotKey != 0 || s.Unknown {
		return true
	}
	first := s.Index
	if s.Keyword != "" {
		if first = s.behindKeyword(args); first == 0 {
			return true // the call does not have this option
		}
	}
	first, last, ok := s.locate(args, first)
	if !ok {
		return false
	}
	for at := first; at <= last; at += s.Step {
		found(at, s.Flags)
	}
	return true
}

// locate finds the first and the last key from the index begin on. ok is false if the arguments contradict
// the length of the call; a numkeys of 0 counts as that, too.
func (s *KeySpec) locate(args [][]byte, begin int) (first, last int, ok bool) {
	first = begin
	switch {
	case s.KeyNum:
		if begin >= len(args) {
			return 0, 0, false
		}
		n, isInt := decimal.ParseInt(args[begin])
		if !isInt || n <= 0 || n > int64(len(args)) {
			return 0, 0, false
		}
		first = begin + s.FirstKey
		last = first + (int(n)-1)*s.Step
	case s.LastKey >= 0:
		last = first + s.LastKey
	case s.Limit > 0:
		last = first + (len(args)-first)/s.Limit + s.LastKey
	default:
		last = len(args) + s.LastKey
	}
	return first, last, first <= last && last < len(args)
}

// looseRefs is Redis' fallback for a numkeys that is not an integer. It uses the leading digits. It returns
// the counted keys, then the other keys, without their access.
func (r *Row) looseRefs(args [][]byte, dst []KeyRef) ([]KeyRef, bool) {
	counted := slices.IndexFunc(r.keys, func(s KeySpec) bool { return s.KeyNum })
	if counted < 0 || r.keys[counted].Index >= len(args) {
		return dst, false
	}
	s := &r.keys[counted]
	n, first := LeadingInt(args[s.Index]), s.Index+s.FirstKey
	if n < 1 || n > (len(args)-first)/s.Step {
		return dst, false
	}
	refs := dst
	for i := range n {
		refs = append(refs, KeyRef{Pos: first + i*s.Step})
	}
	for i := range r.keys {
		if i != counted {
			refs = append(refs, KeyRef{Pos: r.keys[i].Index})
		}
	}
	return refs, true
}

// LeadingInt returns the number at the beginning of a text, as C's atoi does, or 0.
func LeadingInt(text []byte) int {
	text = bytes.TrimLeft(text, " \t\n\v\f\r")
	end := 0
	for end < len(text) && ('0' <= text[end] && text[end] <= '9' || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	n, _ := strconv.ParseInt(string(text[:end]), 10, 64) // out of range, the result is the nearest integer
	return int(int32(n))
}

// behindKeyword returns the index after the spec's word, or 0 if the call does not have that word.
func (s *KeySpec) behindKeyword(args [][]byte) int {
	if s.StartFrom < 0 {
		for i := len(args) + s.StartFrom; i > 1; i-- {
			if ascii.EqualFold(args[i], s.Keyword) {
				return i + 1
			}
		}
		return 0
	}
	for i := s.StartFrom; i < len(args)-1; i++ {
		if ascii.EqualFold(args[i], s.Keyword) {
			return i + 1
		}
	}
	return 0
}

// OnlyKey returns the index of the only key of every call, and its use. ok is false if a call may have other
// keys, or no key.
func (r *Row) OnlyKey() (pos int, use KeyFlags, ok bool) {
	if len(r.keys) != 1 || r.FindKeys != nil || r.Inner > 0 {
		return 0, 0, false
	}
	s := &r.keys[0]
	if !s.plainRange() || s.LastKey != 0 || s.Flags&NotKey != 0 {
		return 0, 0, false
	}
	return s.Index, s.Flags, true
}

// SoleKey returns the index of the only key of every call, and all access that a call may have. ok is false
// if a call may have other keys, or no key.
func (r *Row) SoleKey() (pos int, most KeyFlags, ok bool) {
	if r.FindKeys == nil {
		return r.OnlyKey()
	}
	if len(r.keys) != 1 || r.Inner > 0 {
		return 0, 0, false
	}
	s := &r.keys[0]
	if s.Flags&VariableFlags == 0 || !s.plainRange() || s.LastKey != 0 { // FindKeys only adds details about the use
		return 0, 0, false
	}
	return s.Index, s.Flags | Access | Update, true
}

// TakesKeys reports whether calls of this command can have keys.
func (r *Row) TakesKeys() bool {
	if r.FindKeys != nil {
		return true
	}
	for i := range r.keys {
		if r.keys[i].Flags&NotKey == 0 {
			return true
		}
	}
	return false
}
