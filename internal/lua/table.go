package lua

import (
	"math"
	"math/bits"
)

// LTable is a table as in Lua 5.1: an array for the keys 1 to n, and a hash. Colliding keys are chained
// through free nodes (Brent's variation). Sizes, hashes and the order of keys are those of the original, so
// the length of a table with holes and the order of pairs are the same as well.
type LTable struct {
	array []Value
	nodes []node // a power of two of them
	// lastFree is an index: every node from there on is in use.
	lastFree int
	meta     *LTable
	// absent has a bit for each metamethod that this table, used as a metatable, surely does not have.
	absent uint8
	// ReadOnly refuses assignments by scripts. Go code can still set items.
	ReadOnly bool
	id       uint32
}

// node is an item of a hash. Its key stays when its value becomes nil, so that an iteration can continue from
// it.
type node struct {
	key, value Value
	hash       uint32 // of the key, before it is cut to the size of the table
	next       int32  // distance to the next node of the chain, 0 at its end
}

// noNodes is the hash of tables without nodes. It is never written to.
var noNodes = make([]node, 1)

// maxArrayBits is the largest array's size as a power of two.
const maxArrayBits = 26

// newTable makes a table with space for a number of items and of fields.
func newTable(items, fields int) *LTable {
	t := &LTable{nodes: noNodes}
	if items > 0 {
		t.array = make([]Value, items)
	}
	if fields > 0 {
		t.setNodes(fields)
	}
	return t
}

// setNodes gives the table an empty hash for count keys.
func (t *LTable) setNodes(count int) {
	if count == 0 {
		t.nodes, t.lastFree = noNodes, 0
		return
	}
	size := 1 << bits.Len(uint(count-1))
	t.nodes, t.lastFree = make([]node, size), size
}

// hashString is Lua 5.1's hash of a string.
func hashString(s string) uint32 {
	h := uint32(len(s))
	step := len(s)>>5 + 1
	for i := len(s); i >= step; i -= step {
		h ^= h<<5 + h>>2 + uint32(s[i-1])
	}
	return h
}

func hashNumber(f float64) uint32 {
	if f == 0 {
		return 0
	}
	b := math.Float64bits(f)
	return uint32(b) + uint32(b>>32)
}

// hashOf is the hash of a key.
func hashOf(key Value) uint32 {
	switch {
	case key.n >= firstNumber:
		return hashNumber(key.float())
	case key.n >= tagString:
		return hashString(key.str())
	}
	switch key.n {
	case tagTrue:
		return 1
	case tagTable:
		return key.table().id
	case tagFunction:
		return key.function().id
	case tagUserData:
		return (*LUserData)(key.p).id
	case tagThread:
		return (*LState)(key.p).id
	default:
		return 0
	}
}

// mainPosition returns the node that a key's hash selects.
func (t *LTable) mainPosition(key Value, hash uint32) int {
	size := uint32(len(t.nodes))
	if key.n >= firstNumber || key.n >= tagTable && key.n < tagString {
		return int(hash % ((size - 1) | 1))
	}
	return int(hash & (size - 1))
}

// stringSlot returns the address of a string key's value, or nil.
func (t *LTable) stringSlot(key Value, hash uint32) *Value {
	i := int(hash & uint32(len(t.nodes)-1))
	for {
		n := &t.nodes[i]
		if n.key.n == key.n && n.hash == hash && (n.key.p == key.p || n.key.str() == key.str()) {
			return &n.value
		}
		if n.next == 0 {
			return nil
		}
		i += int(n.next)
	}
}

// numberSlot returns the address of a number key's value in the hash.
func (t *LTable) numberSlot(f float64) *Value {
	if len(t.nodes) == 1 && t.nodes[0].key.n < firstNumber {
		return nil
	}
	i := int(hashNumber(f) % ((uint32(len(t.nodes)) - 1) | 1))
	for {
		n := &t.nodes[i]
		if n.key.n >= firstNumber && n.key.float() == f {
			return &n.value
		}
		if n.next == 0 {
			return nil
		}
		i += int(n.next)
	}
}

// slot returns the address of a key's value, or nil.
func (t *LTable) slot(key Value) *Value {
	if key.n >= firstNumber {
		f := key.float()
		if i := int(f); uint(i-1) < uint(len(t.array)) && float64(i) == f {
			return &t.array[i-1]
		}
		return t.numberSlot(f)
	}
	if key.n >= tagString {
		return t.stringSlot(key, hashString(key.str()))
	}
	if key.n == tagNil {
		return nil
	}
	i := t.mainPosition(key, hashOf(key))
	for {
		n := &t.nodes[i]
		if RawEqual(n.key, key) {
			return &n.value
		}
		if n.next == 0 {
			return nil
		}
		i += int(n.next)
	}
}

// get is t[key] without metamethods.
func (t *LTable) get(key Value) Value {
	if slot := t.slot(key); slot != nil {
		return *slot
	}
	return Value{}
}

// getInt is t[i] without metamethods.
func (t *LTable) getInt(i int) Value {
	if uint(i-1) < uint(len(t.array)) {
		return t.array[i-1]
	}
	if slot := t.numberSlot(float64(i)); slot != nil {
		return *slot
	}
	return Value{}
}

// getStr is t[s] without metamethods.
func (t *LTable) getStr(s string) Value {
	if slot := t.stringSlot(String(s), hashString(s)); slot != nil {
		return *slot
	}
	return Value{}
}

// set is t[key] = value without metamethods. The key is neither nil nor NaN.
func (t *LTable) set(key, value Value) {
	t.absent = 0
	slot := t.slot(key)
	if slot == nil {
		if value.n == tagNil {
			return
		}
		slot = t.newKey(key, hashOf(key))
	}
	*slot = value
}

// setInt is t[i] = value.
func (t *LTable) setInt(i int, value Value) {
	if uint(i-1) < uint(len(t.array)) {
		t.array[i-1] = value
		return
	}
	t.set(number(float64(i)), value)
}

// newKey adds a key that the table does not have, and returns the address of its value.
func (t *LTable) newKey(key Value, hash uint32) *Value {
	at := t.mainPosition(key, hash)
	main := &t.nodes[at]
	if main.value.n != tagNil || len(t.nodes) == 1 && &t.nodes[0] == &noNodes[0] {
		free := t.freeNode()
		if free < 0 {
			t.rehash(key)
			return t.placeOf(key, hash)
		}
		other := t.mainPosition(main.key, main.hash)
		if other != at {
			// The colliding node is not at its main position: it moves to the free node.
			for other+int(t.nodes[other].next) != at {
				other += int(t.nodes[other].next)
			}
			t.nodes[other].next = int32(free - other)
			t.nodes[free] = *main
			if main.next != 0 {
				t.nodes[free].next = main.next + int32(at-free)
			}
			main.next = 0
			main.value = Value{}
		} else {
			added := &t.nodes[free]
			added.next = 0
			if main.next != 0 {
				added.next = main.next + int32(at-free)
			}
			main.next = int32(free - at)
			main = added
		}
	}
	main.key, main.hash = key, hash
	return &main.value
}

// placeOf returns the address of a key's value after a rehash.
func (t *LTable) placeOf(key Value, hash uint32) *Value {
	if slot := t.slot(key); slot != nil {
		return slot
	}
	return t.newKey(key, hash)
}

// freeNode returns the last free node, or -1.
func (t *LTable) freeNode() int {
	for t.lastFree > 0 {
		t.lastFree--
		if t.nodes[t.lastFree].key.n == tagNil {
			return t.lastFree
		}
	}
	return -1
}

// arrayIndex returns a key as an index that an array may have, or 0.
func arrayIndex(key Value) int {
	if key.n < firstNumber {
		return 0
	}
	f := key.float()
	if f >= 1 && f <= 1<<maxArrayBits {
		if i := int(f); float64(i) == f {
			return i
		}
	}
	return 0
}

// rehash makes space for another key. The array gets the largest size at which more than half of it is in
// use.
func (t *LTable) rehash(extra Value) {
	var counts [maxArrayBits + 1]int // counts[i]: keys above 2^(i-1), up to 2^i
	inArray := t.countArray(&counts)
	total := inArray
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.value.n == tagNil {
			continue
		}
		if index := arrayIndex(n.key); index > 0 {
			counts[bits.Len(uint(index-1))]++
			inArray++
		}
		total++
	}
	if index := arrayIndex(extra); index > 0 {
		counts[bits.Len(uint(index-1))]++
		inArray++
	}
	total++
	size, used := 0, 0
	sum := 0
	for i, Power := 0, 1; i <= maxArrayBits && Power/2 < inArray; i, Power = i+1, Power*2 {
		if counts[i] == 0 {
			continue
		}
		sum += counts[i]
		if sum > Power/2 {
			size, used = Power, sum
		}
		if sum == inArray {
			break
		}
	}
	t.resize(size, total-used)
}

// countArray counts the items of the array, by powers of two of their indices.
func (t *LTable) countArray(counts *[maxArrayBits + 1]int) (total int) {
	i := 1
	for slice, limit := 0, 1; slice <= maxArrayBits; slice, limit = slice+1, limit*2 {
		end := min(limit, len(t.array))
		if i > end {
			break
		}
		count := 0
		for ; i <= end; i++ {
			if t.array[i-1].n != tagNil {
				count++
			}
		}
		counts[slice] += count
		total += count
	}
	return total
}

// resize gives the table an array and a hash of new sizes, with the same items.
func (t *LTable) resize(items, fields int) {
	array, nodes := t.array, t.nodes
	t.setNodes(fields)
	if items > len(array) {
		t.array = make([]Value, items)
		copy(t.array, array)
	} else if items < len(array) {
		t.array = append([]Value(nil), array[:items]...)
		for i, value := range array[items:] {
			if value.n != tagNil {
				key := number(float64(items + i + 1))
				*t.placeOf(key, hashOf(key)) = value
			}
		}
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := &nodes[i]
		if n.value.n != tagNil {
			*t.placeOf(n.key, n.hash) = n.value
		}
	}
}

// length is the operator #: an index with a value, while the next index has no value.
func (t *LTable) length() int {
	high := len(t.array)
	if high > 0 && t.array[high-1].n == tagNil {
		low := 0
		for high-low > 1 {
			middle := (low + high) / 2
			if t.array[middle-1].n == tagNil {
				high = middle
			} else {
				low = middle
			}
		}
		return low
	}
	if len(t.nodes) == 1 && t.nodes[0].key.n == tagNil {
		return high
	}
	low := high
	high++
	for t.getInt(high).n != tagNil {
		low = high
		if high > math.MaxInt32/2 {
			for low = 1; t.getInt(low).n != tagNil; low++ {
				continue
			}
			return low - 1
		}
		high *= 2
	}
	for high-low > 1 {
		middle := (low + high) / 2
		if t.getInt(middle).n == tagNil {
			high = middle
		} else {
			low = middle
		}
	}
	return low
}

// indexOf returns the position of a key in the order of next, or -1. The key nil comes before all others.
func (t *LTable) indexOf(key Value) int {
	if key.n == tagNil {
		return 0
	}
	if i := arrayIndex(key); i > 0 && i <= len(t.array) {
		return i
	}
	i, hash := 0, hashOf(key)
	for i = t.mainPosition(key, hash); ; {
		n := &t.nodes[i]
		if n.key.n != tagNil && RawEqual(n.key, key) {
			return len(t.array) + i + 1
		}
		if n.next == 0 {
			return -1
		}
		i += int(n.next)
	}
}

// next returns the item after a key. steps is the number of visited positions. ok is false if the table does
// not have the key.
func (t *LTable) next(key Value) (following, value Value, steps int, ok bool) {
	i := t.indexOf(key)
	if i < 0 {
		return Value{}, Value{}, 1, false
	}
	start := i
	for ; i < len(t.array); i++ {
		if t.array[i].n != tagNil {
			return number(float64(i + 1)), t.array[i], i - start, true
		}
	}
	for j := i - len(t.array); j < len(t.nodes); j++ {
		if n := &t.nodes[j]; n.value.n != tagNil {
			return n.key, n.value, j + len(t.array) - start, true
		}
	}
	return Value{}, Value{}, len(t.array) + len(t.nodes) - start, true
}

// bytes is about how much memory the array and the hash take.
func (t *LTable) bytes() int { return 16*len(t.array) + 40*len(t.nodes) }
