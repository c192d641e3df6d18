package dict

import (
	"encoding/binary"
	"unsafe"
)

const (
	// 63 slots: at 24 bytes a slot a clone copies 1.5 KB, two microseconds. With 255 slots, random writes
	// during a save copy twice as many bytes; with 31 the chunks' own headers begin to cost. 64 slots would
	// cost an eighth more: Go's allocator puts a word before allocations with pointers that are larger than
	// 512 bytes, and its sizes are 1536 and 1792.
	chunkSize = 63
	pageBits  = 8 // 256 chunks, 16128 slots: a cloned page copies 8 KB
	pageSize  = 1 << pageBits
	pageMask  = pageSize - 1
	minSlots  = 4 // the first chunk of a dict starts with this many slots
)

// slot is an entry. The value stands first, because Go pads a zero-size value at the end of a struct to a
// word.
type slot[V any] struct {
	val V
	key *Key
}

// chunk is a run of slots that is shared and cloned as a whole. Slots from the dict's length on are zero
// (checked by check), so that they keep no memory alive.
type chunk[V any] struct {
	slots []slot[V]
	sides *sides // nil: all sides are 0
	stamp uint64 // epoch at which slots and sides were allocated
}

// sides holds the numbers beside the slots of a chunk: see Dict.Side.
type sides [chunkSize]int64

// copyOf returns a copy with the sides of the first live slots; nil if they are all 0.
func (s *sides) copyOf(live int) *sides {
	if s == nil || *s == (sides{}) {
		return nil
	}
	fresh := new(sides)
	copy(fresh[:live], s[:live])
	return fresh
}

func (c *chunk[V]) side(at int) int64 {
	if c.sides == nil {
		return 0
	}
	return c.sides[at]
}

// setSide sets the number beside a slot of a chunk that may be written.
func (c *chunk[V]) setSide(at int, to int64) {
	if c.sides == nil {
		if to == 0 {
			return
		}
		c.sides = new(sides)
	}
	c.sides[at] = to
}

// page is a run of chunks; its clone copies their headers, not their slots.
type page[V any] struct {
	chunks []chunk[V]
	stamp  uint64 // epoch at which chunks was allocated
}

// place returns the chunk of a slot, and the slot's index in the chunk.
func place(i int) (number, at int) {
	n := uint(i) / chunkSize
	return int(n), int(uint(i) - n*chunkSize)
}

// chunk returns the chunk of a slot, for reading.
func (d *Dict[V]) chunk(i int) *chunk[V] {
	number, _ := place(i)
	return &d.pages[number>>pageBits].chunks[number&pageMask]
}

// slot returns an entry for reading.
func (d *Dict[V]) slot(i int) *slot[V] {
	number, at := place(i)
	return &d.pages[number>>pageBits].chunks[number&pageMask].slots[at]
}

// ownPage returns a page for writing: a clone if a snapshot reads it.
func (d *Dict[V]) ownPage(i int) *page[V] {
	p := d.pages[i]
	if !d.ep.Shared(p.stamp) {
		return p
	}
	var fresh *page[V]
	if d.spares != nil && len(p.chunks) == pageSize {
		fresh = d.spares.takePage(d.reader.pages())
		d.spares.retirePage(p, i)
	}
	if fresh == nil {
		fresh = &page[V]{chunks: make([]chunk[V], len(p.chunks))}
	}
	copy(fresh.chunks, p.chunks)
	fresh.stamp = d.ep.Now()
	d.pages[i] = fresh
	return fresh
}

// own returns an entry for writing.
func (d *Dict[V]) own(i int) *slot[V] {
	c, at := d.ownChunk(i)
	return &c.slots[at]
}

// ownChunk returns the chunk of a slot for writing, and the slot's index in it. Page and chunk are cloned
// first if a snapshot reads them.
func (d *Dict[V]) ownChunk(i int) (c *chunk[V], at int) {
	number, at := place(i)
	p := d.ownPage(number >> pageBits)
	c = &p.chunks[number&pageMask]
	if d.shared(c, number) {
		d.unshare(c, number, min(chunkSize, d.n-number*chunkSize))
	}
	return c, at
}

// shared reports whether a snapshot may still read the chunk with this number. When the only snapshot has
// finished a chunk, the chunk belongs to the dict alone again.
func (d *Dict[V]) shared(c *chunk[V], number int) bool {
	if !d.ep.Shared(c.stamp) {
		return false
	}
	if !d.reader.doneWith(number, d.ep.Now()) {
		return true
	}
	c.stamp = d.ep.Now()
	return false
}

// recopy moves the live slots of a chunk that may be written into a new array.
func (d *Dict[V]) recopy(c *chunk[V], live, size int) {
	fresh := make([]slot[V], size)
	copy(fresh, c.slots[:live])
	c.slots, c.sides, c.stamp = fresh, c.sides.copyOf(live), d.ep.Now()
}

// unshare copies the array of a chunk that a snapshot reads.
func (d *Dict[V]) unshare(c *chunk[V], number, live int) {
	old := c.slots
	var spare []slot[V]
	if d.spares != nil && len(old) == chunkSize {
		spare = d.spares.take(d.reader.pages())
	}
	if spare == nil {
		d.recopy(c, live, len(old))
	} else {
		copy(spare, old[:live])
		clear(spare[live:])
		c.slots, c.sides, c.stamp = spare, c.sides.copyOf(live), d.ep.Now()
	}
	if d.spares != nil {
		d.spares.retire(old, number)
	}
}

// freeSlot returns the slot after the last entry, for writing. Chunks of small dicts grow, so that a dict
// never takes much more than twice the memory of its entries.
func (d *Dict[V]) freeSlot() *slot[V] {
	number, live := place(d.n)
	if number>>pageBits == len(d.pages) {
		d.pages = append(d.pages, &page[V]{stamp: d.ep.Now()})
	}
	p := d.ownPage(number >> pageBits)
	if number&pageMask == len(p.chunks) {
		size := max(minSlots, min(chunkSize, number*chunkSize/4))
		p.chunks = append(p.chunks, chunk[V]{slots: make([]slot[V], size), stamp: d.ep.Now()})
	}
	c := &p.chunks[number&pageMask]
	switch {
	case live == len(c.slots):
		d.recopy(c, live, min(chunkSize, 2*live))
	case d.shared(c, number):
		d.unshare(c, number, live)
	}
	return &c.slots[live]
}

// trim frees the memory of deleted entries at the end. A chunk is kept until the chunk before it is half
// empty, so that a dict that moves back and forth across a boundary does not allocate each time.
func (d *Dict[V]) trim() {
	last := len(d.pages) - 1
	number := last<<pageBits + len(d.pages[last].chunks) - 1
	if number > 0 {
		if d.n > number*chunkSize-chunkSize/2 {
			return
		}
		p := d.ownPage(last)
		tail := len(p.chunks) - 1
		p.chunks[tail] = chunk[V]{}
		p.chunks = p.chunks[:tail]
		if tail == 0 {
			d.pages[last] = nil
			d.pages = d.pages[:last]
		}
		return
	}
	if size := len(d.pages[0].chunks[0].slots); size > minSlots && d.n <= size/4 {
		d.recopy(&d.ownPage(0).chunks[0], d.n, size/2)
	}
}

// Key is the key of an entry in one piece of memory: its length and its bytes, followed by a tail with its
// length if the entry has a tail. A slot holds only the address; a string would also take the length. A Key
// is never written to.
type Key struct {
	// first is the length if it is less than 128, else the first byte of the length as a varint.
	first byte
}

// oneByte is the first number that a varint of one byte cannot hold.
const oneByte = 1 << 7

// newKey returns a key, with a tail if tailed is set.
func newKey(key string, tailed bool, tail []byte) *Key {
	size := headerLen(len(key)) + len(key)
	if tailed {
		size += headerLen(len(tail)) + len(tail)
	}
	b := appendKey(make([]byte, 0, size), key)
	if tailed {
		b = append(binary.AppendUvarint(b, uint64(len(tail))), tail...)
	}
	return (*Key)(unsafe.Pointer(unsafe.SliceData(b)))
}

// appendKey appends a key's length and its bytes.
func appendKey(b []byte, key string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(key))), key...)
}

// NewKey returns a key in memory of its own, for Rekey.
func NewKey(key []byte) *Key {
	return newKey(unsafe.String(unsafe.SliceData(key), len(key)), false, nil)
}

// KeyLen returns the number of bytes that PutKey takes for a key.
func KeyLen(key []byte) int { return headerLen(len(key)) + len(key) }

// PutKey makes a key from the first KeyLen bytes of dst, which must not be written afterwards. It is for
// callers that store a key and its value in one piece of memory.
func PutKey(dst, key []byte) *Key {
	appendKey(dst[:0:KeyLen(key)], unsafe.String(unsafe.SliceData(key), len(key)))
	return (*Key)(unsafe.Pointer(unsafe.SliceData(dst)))
}

// headerLen returns how many bytes a length takes.
func headerLen(length int) int {
	n := 1
	for ; length >= oneByte; length >>= 7 {
		n++
	}
	return n
}

// String returns the key without a copy.
func (k *Key) String() string {
	if k.first-1 < oneByte-1 { // neither empty nor long
		return unsafe.String((*byte)(unsafe.Add(unsafe.Pointer(k), 1)), int(k.first))
	}
	return k.string()
}

// string does what String does, for every key.
func (k *Key) string() string {
	header, n := lengthAt(unsafe.Pointer(k))
	if n == 0 { // there may be no byte after the length that a pointer may point to
		return ""
	}
	return unsafe.String((*byte)(unsafe.Add(unsafe.Pointer(k), header)), n)
}

// Bytes returns the key without a copy. The caller must not write to it.
func (k *Key) Bytes() []byte {
	s := k.String()
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// Tail returns the bytes after the key, set by InsertTailed or SetTail. The caller must not write to them. It
// may only be called for entries with a tail.
func (k *Key) Tail() []byte {
	header, n := lengthAt(unsafe.Pointer(k))
	tail := unsafe.Add(unsafe.Pointer(k), header+n)
	header, n = lengthAt(tail)
	if n == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Add(tail, header)), n)
}

// lengthAt reads a length. header is the number of bytes that the length itself takes.
func lengthAt(at unsafe.Pointer) (header, n int) {
	for shift := 0; ; shift += 7 {
		b := *(*byte)(unsafe.Add(at, header))
		header++
		n |= int(b&(oneByte-1)) << shift
		if b < oneByte {
			return header, n
		}
	}
}
