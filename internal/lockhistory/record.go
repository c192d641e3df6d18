package lockhistory

import (
	"encoding/binary"

	"lockserver/internal/tracecontext"
)

// The layout of an event in a chunk. It is only in memory, and may change. All numbers are little-endian.
//
//	flags   uint32 kind, reason and mode, 8 bits each, and which parts follow
//	since   uint32 microseconds since the chunk's first event
//	token   int32  the token, minus the time
//	took    int32  microseconds; -1: not known
//	names   uint32 offset of the names; noKey: the event is about all locks of the database
//	client  uint32 offset of the client; noClient: none
//
// Then follow the parts that have a flag. The first are the time, the token and the duration, as int64, if
// they do not fit above. Next are permits and database as int32, if they are not 0, and then the trace. Last
// are the names and the client, if they were not written shortly before. Names are the lengths of key and
// owner as uint16, and both texts. A client is its number as int64, the length of its address as uint16, and
// the address.
const (
	headBytes   = 24
	traceBytes  = 16 + 8 + 1
	namesHead   = 2 + 2
	clientHead  = 8 + 2
	longBytes   = 8
	numberBytes = 4
	// mostRecord is the largest size of an event without its texts, including a window for its names.
	mostRecord = headBytes + 3*longBytes + 2*numberBytes + traceBytes + windowBytes + clientHead

	// windowBytes is the space for two names of 8 to 16 bytes, the length of most names. Such names are
	// compared and copied by pairs of words that may overlap, without a call of the runtime.
	windowBytes = 40

	// noKey and noClient replace an offset if the event has no key or no client.
	noKey, noClient = ^uint32(0), ^uint32(0)
)

// The flags of an event say which parts it has.
const (
	longTime = 1 << (24 + iota)
	longToken
	longTook
	hasPermits
	hasDB
	hasTrace
	hasNames
	hasClient

	reasonShift, modeShift, partShift = 8, 16, 24
	partByte                          = partShift / 8
)

// partBytes is the size of the parts between head and names, by the lower six bits of the flags for parts.
var partBytes = func() (size [hasNames >> partShift]uint8) {
	for flags := range size {
		for i, n := range [...]uint8{longBytes, longBytes, longBytes, numberBytes, numberBytes, traceBytes} {
			if flags>>i&1 != 0 {
				size[flags] += n
			}
		}
	}
	return size
}()

func load64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
func load32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func load16(b []byte) int    { return int(binary.LittleEndian.Uint16(b)) }

func cut(text []byte) []byte { return text[:min(len(text), mostText)] }

// write appends an event to a chunk that has space for it.
func (r *Ring) write(c *chunk, e *Event) {
	flags := Brief(e.Kind, e.Reason, e.Mode)
	since, token, took := e.AtUS-c.baseUS, e.Token-e.AtUS, e.TookUS
	end := c.end + headBytes
	if uint64(since) >= 1<<32 || token != int64(int32(token)) || took != int64(int32(took)) || e.Permits != 0 || e.DB != 0 || e.Trace != nil {
		more := uint32(0)
		more, end = c.writeParts(end, e)
		flags |= more
	}
	from := &r.latest[e.Client&(clients-1)]
	if from.number != e.Client {
		*from = place{number: e.Client, offset: noClient}
		if e.Client != 0 {
			flags |= hasClient
		}
	}
	names := noKey
	if e.Key != nil {
		n, known := Names{cut(e.Key), cut(e.Owner)}, &r.named[e.Token&(tokens-1)]
		switch {
		case e.Kind != Granted && c.has(*known, &n):
			names = *known
		case c.has(from.names, &n):
			names = from.names
		default:
			names = uint32(end)
			flags |= hasNames
			end = c.writeNames(end, &n)
		}
		*known, from.names = names, names
	}
	if flags&hasClient != 0 {
		from.offset = uint32(end)
		end = c.writeClient(end, e)
	}
	b := (*[headBytes]byte)(c.buf[c.end:])
	binary.LittleEndian.PutUint64(b[:8], uint64(flags)|uint64(since)<<32)
	binary.LittleEndian.PutUint64(b[8:16], uint64(uint32(token))|uint64(took)<<32)
	binary.LittleEndian.PutUint64(b[16:24], uint64(names)|uint64(from.offset)<<32)
	c.end = end
}

// Brief packs the kind, the reason and the mode of an event for AddBrief.
func Brief(kind Kind, reason Reason, mode Mode) uint32 {
	return uint32(kind) | uint32(reason)<<reasonShift | uint32(mode)<<modeShift
}

// AddBrief adds an event of one lock of database 0 that has no trace. what is a result of Brief. If AddBrief
// returns false, it has added nothing, and the caller must call Add: for instance, the client is not known
// yet. Almost all events are added by AddBrief, which takes few instructions.
func (r *Ring) AddBrief(what uint32, permits int32, atUS, token, tookUS, client int64, n *Names) bool {
	c := r.last
	if c == nil {
		return false
	}
	since, ahead, from, at := uint64(atUS-c.baseUS), token-atUS, &r.latest[client&(clients-1)], c.end
	if (since|uint64(ahead+1<<31)|uint64(tookUS+1<<31))>>32 != 0 || from.number != client ||
		len(n.Key)|len(n.Owner) >= mostText || len(c.buf)-at < mostRecord+len(n.Key)+len(n.Owner) {
		return false
	}
	b, granted := (*[headBytes]byte)(c.buf[at:]), Kind(what) == Granted
	known, names := &r.named[token&(tokens-1)], from.names
	if at += headBytes; permits != 0 {
		what |= hasPermits
		binary.LittleEndian.PutUint32(c.buf[at:], uint32(permits))
		at += numberBytes
	}
	if !granted && c.has(*known, n) {
		names = *known
	} else if names == 0 || !c.has(names, n) {
		what |= hasNames
		names = uint32(at)
		at = c.writeNames(at, n)
	}
	*known = names
	if from.names = names; granted {
		from.names = 0
	}
	binary.LittleEndian.PutUint64(b[:8], uint64(what)|since<<32)
	binary.LittleEndian.PutUint64(b[8:16], uint64(uint32(ahead))|uint64(tookUS)<<32)
	binary.LittleEndian.PutUint64(b[16:24], uint64(names)|uint64(from.offset)<<32)
	c.end = at
	c.count++
	r.nextID++
	return true
}

// writeParts writes the parts that most events do not have, from the offset end on. It returns their flags
// and their end.
func (c *chunk) writeParts(end int, e *Event) (flags uint32, _ int) {
	long := func(flag uint32, value int64) {
		flags |= flag
		binary.LittleEndian.PutUint64(c.buf[end:], uint64(value))
		end += longBytes
	}
	number := func(flag uint32, value int32) {
		flags |= flag
		binary.LittleEndian.PutUint32(c.buf[end:], uint32(value))
		end += numberBytes
	}
	if uint64(e.AtUS-c.baseUS) >= 1<<32 {
		long(longTime, e.AtUS)
	}
	if token := e.Token - e.AtUS; token != int64(int32(token)) {
		long(longToken, e.Token)
	}
	if e.TookUS != int64(int32(e.TookUS)) {
		long(longTook, e.TookUS)
	}
	if e.Permits != 0 {
		number(hasPermits, e.Permits)
	}
	if e.DB != 0 {
		number(hasDB, int32(e.DB))
	}
	if t := e.Trace; t != nil {
		flags |= hasTrace
		b := c.buf[end : end+traceBytes]
		copy(b, t.Trace[:])
		copy(b[16:], t.Span[:])
		b[24] = t.Flags
		end += traceBytes
	}
	return flags, end
}

// has reports whether the given names are at an offset. The offset 0 means that there are no names.
func (c *chunk) has(offset uint32, names *Names) bool {
	if offset == 0 {
		return false
	}
	b, key, owner := c.buf[offset:], names.Key, names.Owner
	n, m := len(key), len(owner)
	if n-8 > 8 || m-8 > 8 || n < 8 || m < 8 || len(b) < windowBytes {
		return len(b) >= namesHead+n+m && load32(b) == lengths(n, m) && string(b[namesHead:namesHead+n]) == string(key) &&
			string(b[namesHead+n:namesHead+n+m]) == string(owner)
	}
	w := (*[windowBytes]byte)(b)
	return load32(w[:]) == lengths(n, m) && load64(w[(n-4)&31:]) == load64(key[n-8:]) && load64(w[namesHead:]) == load64(key) &&
		load64(w[(n+4)&31:]) == load64(owner) && load64(w[(n+m-4)&31:]) == load64(owner[m-8:])
}

// lengths returns the word in front of names: the lengths of key and owner.
func lengths(key, owner int) uint32 { return uint32(key) | uint32(owner)<<16 }

func (c *chunk) writeNames(at int, names *Names) (end int) {
	b, key, owner := c.buf[at:], names.Key, names.Owner
	n, m := len(key), len(owner)
	if n-8 > 8 || m-8 > 8 || n < 8 || m < 8 {
		binary.LittleEndian.PutUint32(b, lengths(n, m))
		copy(b[namesHead:], key)
		copy(b[namesHead+n:], owner)
		return at + namesHead + n + m
	}
	w := (*[windowBytes]byte)(b)
	binary.LittleEndian.PutUint32(w[:], lengths(n, m))
	binary.LittleEndian.PutUint64(w[namesHead:], load64(key))
	binary.LittleEndian.PutUint64(w[(n-4)&31:], load64(key[n-8:]))
	binary.LittleEndian.PutUint64(w[(n+4)&31:], load64(owner))
	binary.LittleEndian.PutUint64(w[(n+m-4)&31:], load64(owner[m-8:]))
	return at + namesHead + n + m
}

func (c *chunk) writeClient(at int, e *Event) (end int) {
	b, address := c.buf[at:], e.Address[:min(len(e.Address), mostText)]
	binary.LittleEndian.PutUint64(b, uint64(e.Client))
	binary.LittleEndian.PutUint16(b[8:], uint16(len(address)))
	return at + clientHead + copy(b[clientHead:], address)
}

// next returns the offset of the event that follows the event at the given offset.
func (c *chunk) next(at int) int {
	flags := load32(c.buf[at:])
	at += headBytes + int(partBytes[flags>>partShift&(hasNames>>partShift-1)])
	if flags&hasNames != 0 {
		at += namesHead + load16(c.buf[at:]) + load16(c.buf[at+2:])
	}
	if flags&hasClient != 0 {
		at += clientHead + load16(c.buf[at+8:])
	}
	return at
}

// namesAt returns the names at an offset.
func (c *chunk) namesAt(offset uint32) (key, owner []byte) {
	b := c.buf[offset:]
	n, m := load16(b), load16(b[2:])
	b = b[namesHead:]
	return b[:n:n], b[n : n+m : n+m]
}

// clientAt returns the client at an offset.
func (c *chunk) clientAt(offset uint32) (number int64, address string) {
	b := c.buf[offset:]
	return int64(load64(b)), string(b[clientHead : clientHead+load16(b[8:])])
}

// parts holds the parts of an event that have flags, except the names and the client.
type parts struct {
	atUS, token, tookUS int64
	permits             int32
	db                  int
	trace               []byte // nil: none
}

// partsAt reads the event at an offset.
func (c *chunk) partsAt(at int) (p parts) {
	head := c.buf[at : at+headBytes]
	b := c.buf[at+headBytes:]
	flags := load32(head)
	long := func() int64 {
		n := int64(load64(b))
		b = b[longBytes:]
		return n
	}
	number := func() int32 {
		n := int32(load32(b))
		b = b[numberBytes:]
		return n
	}
	if p.atUS = c.baseUS + int64(load32(head[4:])); flags&longTime != 0 {
		p.atUS = long()
	}
	if p.token = p.atUS + int64(int32(load32(head[8:]))); flags&longToken != 0 {
		p.token = long()
	}
	if p.tookUS = int64(int32(load32(head[12:]))); flags&longTook != 0 {
		p.tookUS = long()
	}
	if flags&hasPermits != 0 {
		p.permits = number()
	}
	if flags&hasDB != 0 {
		p.db = int(number())
	}
	if flags&hasTrace != 0 {
		p.trace = b[:traceBytes]
	}
	return p
}

// traceOf reads a trace.
func traceOf(b []byte) *tracecontext.Context {
	return &tracecontext.Context{Trace: [16]byte(b[:16]), Span: [8]byte(b[16:24]), Flags: b[24]}
}
