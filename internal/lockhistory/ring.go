package lockhistory

import (
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
}

const (
	// MinBytes is the smallest size of a ring.
	MinBytes = 64 << 10
	chunks   = 16
	// mostText is how many bytes of a key, of an owner or of an address are kept.
	mostText = 1 << 10
	// tableShare is which part of a chunk is the table of its names.
	tableShare = 16
	// latest is how many tokens, and how many clients, the ring remembers. It finds their texts
	// without a hash.
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
	// grants are the names of the latest events with tokens, by token, and clients the latest clients by
	// number, all in the last chunk. Most holds are short: their ends find the names that their beginnings
	// have written.
	grants, clients [latest]place
}

// place is where the last chunk has what belongs to a number. The number is never 0 if it is there.
type place struct {
	number int64
	offset uint32
}

// chunk is a part of the ring. Its events follow each other in buf from the front.
type chunk struct {
	buf     []byte
	end     int // of the latest event
	firstID int64
	count   int      // of events
	baseUS  int64    // the time of the first event
	table   []uint32 // by hash: offset of names, plus one; 0: none
}

// New returns a ring. Names are hashed with seed, which should differ from process to process.
func New(seed uint64) *Ring { return &Ring{seed: seed, nextID: 1, startID: 1} }

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
		return max(r.sinceUS, r.chunks[0].baseUS), "full"
	}
	return r.sinceUS, r.why
}

// LastID returns the number of the latest event; 0: there was none.
func (r *Ring) LastID() int64 { return r.nextID - 1 }

// Add adds an event. ID is ignored.
func (r *Ring) Add(e *Event) {
	if r.size == 0 {
		return
	}
	if len(r.chunks) == 0 {
		r.turn(e.AtUS)
	}
	c := &r.chunks[len(r.chunks)-1]
	if len(c.buf)-c.end < mostRecord+min(len(e.Key), mostText)+min(len(e.Owner), mostText)+min(len(e.Address), mostText) {
		r.turn(e.AtUS)
		c = &r.chunks[len(r.chunks)-1]
	}
	r.write(c, e)
	c.count++
	r.nextID++
}

// turn makes an empty chunk the last one: a new one, or the oldest.
func (r *Ring) turn(nowUS int64) {
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
	c.end, c.firstID, c.count, c.baseUS = 0, r.nextID, 0, nowUS
	clear(r.grants[:])
	clear(r.clients[:])
}

// hash returns a hash of names. It reads the beginning, the middle and the end of the key and the end of the
// owner: it is made for almost every grant. Names with the same hash only take more memory.
func (r *Ring) hash(key, owner []byte) uint64 {
	h := r.seed ^ uint64(len(key))<<32 ^ uint64(len(owner))
	if n := len(key); n >= 8 {
		h = mixed(h^load64(key[n-8:]), load64(key)^bits.RotateLeft64(load64(key[n/2-4:]), 29))
	} else {
		h = mixed(h^short(key), 0)
	}
	if n := len(owner); n >= 8 {
		return mixed(h, load64(owner[n-8:]))
	}
	return mixed(h, short(owner))
}

// mixed spreads each bit of a and b over all bits.
func mixed(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	return high ^ low
}

// short is a text of fewer than eight bytes as a number.
func short(text []byte) (n uint64) {
	for _, c := range text {
		n = n<<8 | uint64(c)
	}
	return n
}
