package lockhistory

import (
	"encoding/binary"
	"math/bits"

	"lockserver/internal/tracecontext"
)

// Unknown is the value of Event.TookUS if the time is not known.
const Unknown = -1

// Event is one event of one lock.
type Event struct {
	ID     int64 // rises by one with each event since the ring was made
	AtUS   int64 // microseconds since 1970
	DB     int
	Kind   Kind
	Reason Reason
	Mode   Mode
	// Permits is the number of permits of a semaphore that the event is about; 0: it is about a lock.
	Permits int32
	// Key and Owner are valid until the next Add. Key is nil if the event is about all locks of the database.
	Key, Owner []byte
	Token      int64 // 0: there is none
	Client     int64 // the number of the connection; 0: none
	Address    string
	// TookUS is how long the lock was held if the event ended a hold, and how long the owner had waited if it
	// ended a wait; Unknown: not known.
	TookUS int64
	// Trace is the trace that the owner's call belonged to; nil: none. Add copies it.
	Trace *tracecontext.Context
	// KeyHash is Ring.Hash of Key; 0: Add makes it if it needs it.
	KeyHash uint64
}

const (
	// MinBytes is the smallest size of a ring.
	MinBytes = 64 << 10
	chunks   = 16
	// recordBytes is the size of a record. Its layout is that of putRecord.
	recordBytes = 50
	// mostText is how many bytes of a key, of an owner or of an address are kept.
	mostText = 1 << 10
	// tableShare is which part of a chunk is the table of its texts.
	tableShare = 16
	// traced is the bit of a record's mode that says that a trace stands before its names.
	traced = 1 << 7
	// traceBytes is a trace among the texts: trace, span, flags, and the offset of the names.
	traceBytes = 16 + 8 + 1 + 4
	// latest is how many tokens the ring finds the names of without a hash.
	latest = 256
)

// Ring holds the latest events. The zero value is a ring of no bytes, which keeps nothing.
type Ring struct {
	seed   uint64
	size   int     // bytes
	chunks []chunk // oldest first; the last one is written to
	nextID int64
	// startID is the number of the first event since the ring was emptied.
	startID int64
	// sinceUS is the time from which on no event is missing, apart from those that were dropped for lack of
	// space.
	sinceUS int64
	why     string
	// grants are the names of the latest events with tokens, by token, in the last chunk. Most holds are
	// short: their ends find the names that their beginnings have written.
	grants [latest]grant
}

// grant is the token of an event, and the offset of its names.
type grant struct {
	token int64
	names uint32
}

// chunk is a part of the ring. Texts begin at the front of buf, records at its end.
type chunk struct {
	buf     []byte
	front   int // where the next text goes
	back    int // where the latest record begins
	firstID int64
	table   []uint32 // by hash: offset of two texts, plus one; 0: none
	// client and address are of the latest event: most events come from the same client as the one before.
	client  int64
	address uint32
}

// New returns a ring. All texts are hashed with seed, which should differ from process to process.
func New(seed uint64) *Ring { return &Ring{seed: seed, nextID: 1, startID: 1} }

// Hash returns the hash of a key that Add needs. A text is hashed for each event, so the function is faster
// than maphash, and good enough: texts with the same hash only cost a little more.
func (r *Ring) Hash(text []byte) uint64 {
	h := r.seed + uint64(len(text))*0x9e3779b97f4a7c15
	for len(text) > 8 {
		h = mixed(h ^ binary.LittleEndian.Uint64(text))
		text = text[8:]
	}
	var last uint64
	switch n := len(text); {
	case n == 8:
		last = binary.LittleEndian.Uint64(text)
	case n >= 4:
		last = uint64(binary.LittleEndian.Uint32(text)) | uint64(binary.LittleEndian.Uint32(text[n-4:]))<<32
	case n > 0:
		last = uint64(text[0]) | uint64(text[n/2])<<8 | uint64(text[n-1])<<16
	}
	return mixed(h ^ last)
}

// mixed spreads each bit of h over all bits.
func mixed(h uint64) uint64 {
	high, low := bits.Mul64(h^0xa0761d6478bd642f, 0xe7037ed1a0b428db)
	return high ^ low
}

// Resize gives the ring a size in bytes; 0 turns it off. Another size than before empties it. nowUS is the
// time from which on events are kept.
func (r *Ring) Resize(bytes int, nowUS int64, why string) {
	if bytes != r.size {
		r.size = bytes
		r.Restart(nowUS, why)
	}
}

// Restart forgets all events. why says why events before nowUS are not known.
func (r *Ring) Restart(nowUS int64, why string) {
	r.chunks, r.startID, r.sinceUS, r.why = nil, r.nextID, nowUS, why
}

// On reports whether events are kept.
func (r *Ring) On() bool { return r.size > 0 }

// Bytes returns the memory that the ring takes.
func (r *Ring) Bytes() int { return len(r.chunks) * (r.size / chunks) }

// Since returns the time from which on the ring has all events, in microseconds since 1970. why says why not
// from an earlier one on: what Resize or Restart was given, or "full" if older events were dropped.
func (r *Ring) Since() (us int64, why string) {
	if len(r.chunks) > 0 && r.chunks[0].firstID > r.startID {
		return max(r.sinceUS, r.chunks[0].timeUS(0)), "full"
	}
	return r.sinceUS, r.why
}

// Add adds an event. ID is ignored.
func (r *Ring) Add(e *Event) {
	if r.size == 0 {
		return
	}
	if len(r.chunks) == 0 {
		r.turn()
	}
	c := &r.chunks[len(r.chunks)-1]
	key, owner := cut(e.Key), cut(e.Owner)
	if c.back-c.front < recordBytes+len(key)+len(owner)+min(len(e.Address), mostText)+4*textHead+traceBytes {
		r.turn()
		c = &r.chunks[len(r.chunks)-1]
	}
	if e.Client != c.client {
		address := cut([]byte(e.Address))
		c.client, c.address = e.Client, c.pair(address, nil, r.Hash(address))
	}
	names, mode := noKey, uint32(e.Mode)
	if e.Key != nil {
		names = r.names(c, key, owner, e)
	}
	if e.Trace != nil {
		names, mode = c.trace(e.Trace, names), mode|traced
	}
	c.back -= recordBytes
	b := (*[recordBytes]byte)(c.buf[c.back:])
	binary.LittleEndian.PutUint64(b[:8], uint64(e.AtUS))
	binary.LittleEndian.PutUint64(b[8:16], uint64(e.Token))
	binary.LittleEndian.PutUint64(b[16:24], uint64(e.Client))
	binary.LittleEndian.PutUint64(b[24:32], uint64(e.TookUS))
	binary.LittleEndian.PutUint32(b[32:36], names)
	binary.LittleEndian.PutUint32(b[36:40], c.address)
	binary.LittleEndian.PutUint32(b[40:44], uint32(e.Permits))
	binary.LittleEndian.PutUint32(b[44:48], uint32(e.DB)<<8|mode)
	b[48], b[49] = byte(e.Kind), byte(e.Reason)
	r.nextID++
}

// names returns the offset of an event's names.
func (r *Ring) names(c *chunk, key, owner []byte, e *Event) uint32 {
	g := &r.grants[e.Token&(latest-1)]
	if g.token == e.Token && e.Token != 0 && c.has(g.names, key, owner) {
		return g.names
	}
	hash := e.KeyHash
	if hash == 0 {
		hash = r.Hash(key)
	}
	if n := len(owner); n >= 8 {
		hash = mixed(hash ^ binary.LittleEndian.Uint64(owner[n-8:]))
	} else {
		hash ^= r.Hash(owner)
	}
	names := c.pair(key, owner, hash)
	*g = grant{e.Token, names}
	return names
}

func cut(text []byte) []byte { return text[:min(len(text), mostText)] }

// turn makes an empty chunk the last one: a new one, or the oldest.
func (r *Ring) turn() {
	if n := len(r.chunks); n < chunks {
		size := r.size / chunks
		table := 1
		for table*2*4 <= size/tableShare {
			table *= 2
		}
		r.chunks = append(r.chunks, chunk{buf: make([]byte, size-4*table), table: make([]uint32, table)})
	} else {
		oldest := r.chunks[0]
		copy(r.chunks, r.chunks[1:])
		clear(oldest.table)
		r.chunks[n-1] = oldest
	}
	c := &r.chunks[len(r.chunks)-1]
	c.front, c.back, c.firstID, c.client, c.address = 0, len(c.buf), r.nextID, 0, 0
	clear(r.grants[:])
}

const (
	// textHead is the size of the length of a text.
	textHead = 2
	// noKey stands for the names of an event about all locks of a database.
	noKey = ^uint32(0)
)

// pair returns the offset of two texts, one behind the other, and writes them if the table does not have
// them.
func (c *chunk) pair(first, second []byte, hash uint64) uint32 {
	place := &c.table[hash&uint64(len(c.table)-1)]
	if *place != 0 && c.has(*place-1, first, second) {
		return *place - 1
	}
	at := c.front
	binary.LittleEndian.PutUint16(c.buf[at:], uint16(len(first)))
	binary.LittleEndian.PutUint16(c.buf[at+textHead:], uint16(len(second)))
	c.front += 2 * textHead
	c.front += copy(c.buf[c.front:], first)
	c.front += copy(c.buf[c.front:], second)
	*place = uint32(at) + 1
	return uint32(at)
}

// has reports whether two texts stand at an offset.
func (c *chunk) has(offset uint32, first, second []byte) bool {
	b := c.buf[offset:]
	n := int(binary.LittleEndian.Uint16(b))
	m := int(binary.LittleEndian.Uint16(b[textHead:]))
	b = b[2*textHead:]
	return n == len(first) && m == len(second) && string(b[:n]) == string(first) && string(b[n:n+m]) == string(second)
}

// trace writes a trace and the offset of the names that belong to it, and returns its own offset.
func (c *chunk) trace(t *tracecontext.Context, names uint32) uint32 {
	at := c.front
	b := c.buf[at : at+traceBytes]
	copy(b, t.Trace[:])
	copy(b[16:], t.Span[:])
	b[24] = t.Flags
	binary.LittleEndian.PutUint32(b[25:], names)
	c.front += traceBytes
	return uint32(at)
}

// traceAt returns the trace at an offset.
func (c *chunk) traceAt(offset uint32) *tracecontext.Context {
	b := c.buf[offset : offset+traceBytes]
	return &tracecontext.Context{Trace: [16]byte(b[:16]), Span: [8]byte(b[16:24]), Flags: b[24]}
}

// namesBehind returns the offset of the names that belong to a trace.
func (c *chunk) namesBehind(offset uint32) uint32 {
	return binary.LittleEndian.Uint32(c.buf[offset+traceBytes-4:])
}

// at returns two texts with their offset.
func (c *chunk) at(offset uint32) (first, second []byte) {
	b := c.buf[offset:]
	n := int(binary.LittleEndian.Uint16(b))
	m := int(binary.LittleEndian.Uint16(b[textHead:]))
	b = b[2*textHead:]
	return b[:n], b[n : n+m]
}

// count returns how many events the chunk has.
func (c *chunk) count() int { return (len(c.buf) - c.back) / recordBytes }

// record returns the bytes of an event: that with the number firstID+i.
func (c *chunk) record(i int) []byte {
	at := len(c.buf) - (i+1)*recordBytes
	return c.buf[at : at+recordBytes]
}

func (c *chunk) timeUS(i int) int64 { return int64(binary.LittleEndian.Uint64(c.record(i))) }
