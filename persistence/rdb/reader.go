package rdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

const (
	magic       = "REDIS"
	headerBytes = len(magic) + 4
	// checksumSince is the first version with a checksum behind the EOF opcode.
	checksumSince = 5
	// maxAux limits the AUX fields that are kept; further fields are skipped.
	maxAux = 1024
)

// ReaderOptions says how strictly to read.
type ReaderOptions struct {
	// NoChecksum leaves the checksum at the end unverified.
	NoChecksum bool
	// NeedsChecksum refuses a snapshot without a checksum: that of a version before 5, or of a writer with
	// NoChecksum.
	NeedsChecksum bool
	// Databases is the number of databases; 0 means any number. A file that selects a higher database is
	// ErrUnsupported.
	Databases int
	// SkipModuleKeys skips keys with a module's value, instead of failing with ErrUnsupported.
	SkipModuleKeys bool
	// Producers, if not nil, is called with the value of each AuxProducers, and the key before it. Its error
	// ends the reading. The slices are valid during the call.
	Producers func(db int, key, value []byte) error
}

// Entry is a key with its value. The entry and every slice in it are valid until the next call of Next.
type Entry struct {
	DB  int
	Key []byte
	// ExpireAtMS is the key's deadline in Unix milliseconds; 0 means no deadline. A deadline at or before
	// 1970 is 1.
	ExpireAtMS int64
	IdleSec    int64 // since the last access, -1 if the file does not state it
	Freq       int   // logarithmic access frequency 0..255, -1 if the file does not state it
	Object
}

// AuxTokenLimit is the AUX field with an upper limit of all fencing tokens at the time of writing, in
// decimal. It is our own (format, do not change); Redis skips unknown fields.
const AuxTokenLimit = "lockserver-token-limit"

// RulesMark is the content of one more AuxTokenLimit, at the end of a file with delayed entries that recur. A
// version that does not know such entries finds no number there, and does not load the file (format, do not
// change).
const RulesMark = "needs a version with entries that recur"

// AuxUsers is the AUX field with the users of a raft group, in the text form of package raft. It is our own
// (format, do not change).
const AuxUsers = "lockserver-users"

// AuxSlots is the AUX field with the slots of a raft group, in the text form of package raft. It is our own
// (format, do not change).
const AuxSlots = "lockserver-slots"

// The AUX fields with the position of the data in a replication history. They are the name of the history,
// the number of its bytes before this position, and the database of the commands that follow.
const (
	AuxHistoryID     = "repl-id"
	AuxHistoryOffset = "repl-offset"
	AuxStreamDB      = "repl-stream-db"
)

// AuxField is a statement of a file about itself, such as redis-ver, ctime or used-mem.
type AuxField struct{ Name, Value string }

// Skipped counts the skipped parts of a file.
type Skipped struct {
	EmptyKeys  int      // containers without elements, which Redis drops too
	ModuleKeys int      // see ReaderOptions.SkipModuleKeys
	ModuleAux  []string // names of modules with skipped data outside of keys, at most 1024
}

// Texts describes the skipped parts for a person, each on a line.
func (s *Skipped) Texts() (lines []string) {
	if s.EmptyKeys > 0 {
		lines = append(lines, fmt.Sprintf("keys without elements, passed over: %d", s.EmptyKeys))
	}
	if s.ModuleKeys > 0 {
		lines = append(lines, fmt.Sprintf("keys of modules, passed over: %d", s.ModuleKeys))
	}
	counts := map[string]int{}
	for _, name := range s.ModuleAux {
		if counts[name]++; counts[name] == 1 {
			lines = append(lines, fmt.Sprintf("data of the module %q that belongs to no key, passed over", name))
		}
	}
	return lines
}

// Reader reads a snapshot entry by entry. It reads ahead of the returned entries.
type Reader struct {
	d         *decoder
	opts      ReaderOptions
	version   int
	entry     Entry
	open      bool // entry may have unread elements
	done      bool // the end was reached
	aux       []AuxField
	functions [][]byte
	skipped   Skipped
	keys      uint64
	expires   uint64
}

// NewReader makes a reader of the snapshot in r. Nothing is read before the first Next.
func NewReader(r io.Reader, opts ReaderOptions) *Reader {
	return &Reader{d: newDecoder(r), opts: opts}
}

// Next returns the next key. At the end it returns io.EOF, after it has verified the checksum. Any other
// error is an *Error, and every later call returns the same. The unread rest of the entry before is skipped.
func (r *Reader) Next() (*Entry, error) {
	if r.open {
		r.open = false
		if err := r.entry.drain(); err != nil {
			return nil, err
		}
		if field := r.entry.takeProducers(); field != nil && r.opts.Producers != nil {
			if err := r.opts.Producers(r.entry.DB, r.entry.Key, field); err != nil {
				return nil, err
			}
		}
	}
	r.d.busy = false
	if r.d.err != nil {
		return nil, r.d.err
	}
	if r.done {
		return nil, io.EOF
	}
	if r.version == 0 {
		if err := r.header(); err != nil {
			return nil, err
		}
	}
	r.d.release()
	e := &r.entry
	e.ExpireAtMS, e.IdleSec, e.Freq = 0, -1, -1
	for {
		op, err := r.d.byte()
		if err != nil {
			return nil, err
		}
		switch {
		case op == opEOF:
			return nil, r.end()
		case op >= opSlotInfo:
			err = r.opcode(op)
		default:
			keep := false
			if keep, err = r.key(op); keep && err == nil {
				r.open = e.Kind != String
				return e, nil
			}
			e.ExpireAtMS, e.IdleSec, e.Freq = 0, -1, -1
		}
		if err != nil {
			return nil, err
		}
	}
}

// Version returns the file's version of the format; 0 before the first Next.
func (r *Reader) Version() int { return r.version }

// Offset returns the number of consumed bytes; after io.EOF it is the end of the snapshot.
func (r *Reader) Offset() int64 { return r.d.src.offset() }

// Aux returns the first 1024 AUX fields so far, in their order. Those of Redis stand before the first key.
func (r *Reader) Aux() []AuxField { return r.aux }

// Functions returns the code of the function libraries so far.
func (r *Reader) Functions() [][]byte { return r.functions }

// SizeHint returns the file's claim about the last entry's database: the number of keys, and the number with
// a deadline. Both are 0 without a claim. The claim may be false.
func (r *Reader) SizeHint() (keys, expires uint64) { return r.keys, r.expires }

// Skipped returns the parts skipped so far.
func (r *Reader) Skipped() Skipped { return r.skipped }

// DuplicateKey makes the error for an entry with a key that its database already has. It fails the reader.
func (r *Reader) DuplicateKey() error {
	return r.d.corrupt(r.d.src.offset(), "the key occurs twice in database %d", r.entry.DB)
}

// DuplicateString does what DuplicateKey does, for a string that was read some entries ago. offset is the
// Offset after it.
func (r *Reader) DuplicateString(db int, key []byte, offset int64) error {
	d := r.d
	d.key, d.typ, d.busy = append(d.key[:0], key...), typeString, true
	return d.corrupt(offset, "the key occurs twice in database %d", db)
}

// valkeyMagic is the beginning of snapshots of Valkey 9.0 and later.
const valkeyMagic = "VALKEY"

// header reads the magic and the version.
func (r *Reader) header() error {
	b, err := r.d.fixed(headerBytes)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(b, []byte(valkeyMagic)) {
		return r.d.fail(0, ErrUnsupported, "begins with %q: Valkey 9 or later wrote it in a format of its own, which Redis does not read either; "+
			"REPLICAOF takes over the data of such a server", b)
	}
	if !bytes.HasPrefix(b, []byte(magic)) {
		return r.d.corrupt(0, "begins with %q, not with %s and a version", b, magic)
	}
	for _, c := range b[len(magic):] {
		if c < '0' || c > '9' {
			return r.d.corrupt(int64(len(magic)), "version is %q", b[len(magic):])
		}
		r.version = r.version*10 + int(c-'0')
	}
	if v := r.version; v < 1 || v > MaxVersion {
		r.version = 0
		return r.d.fail(int64(len(magic)), ErrUnsupported, "version %d; known are 1 to %d", v, MaxVersion)
	}
	if r.opts.NeedsChecksum && r.version < checksumSince {
		return r.d.corrupt(int64(len(magic)), "version %d has no checksum", r.version)
	}
	r.d.src.checksum = r.version >= checksumSince && !r.opts.NoChecksum
	return nil
}

// key reads a key and begins its value. keep is false if the entry must be skipped.
func (r *Reader) key(typ byte) (keep bool, err error) {
	d := r.d
	at := d.src.offset() - 1
	e := &r.entry
	if typeKind(typ) == 0 && typ != typeModule2 && typ != typeModulePreGA {
		return false, d.corrupt(at, "unknown type %d", typ)
	}
	key, err := d.string()
	if err != nil {
		return false, err
	}
	d.key = append(d.key[:0], key...)
	d.typ, d.busy = typ, true
	e.Key = d.key
	if typ == typeModule2 || typ == typeModulePreGA {
		return r.moduleKey(at)
	}
	keep, err = e.begin(d)
	if err == nil && !keep {
		d.busy = false
		r.skipped.EmptyKeys++
	}
	return keep, err
}

// moduleKey reads a Bloom filter. It skips or refuses the value of any other module.
func (r *Reader) moduleKey(at int64) (keep bool, err error) {
	d := r.d
	if d.typ == typeModulePreGA {
		return false, d.fail(at, ErrUnsupported, "value of a module in a form that cannot be read past")
	}
	id, known, err := r.entry.beginModule(d)
	if known || err != nil {
		return known, err
	}
	if !r.opts.SkipModuleKeys {
		name, version := moduleName(id)
		return false, d.fail(at, ErrUnsupported, "value of module type %q version %d", name, version)
	}
	if err := d.skipModule(); err != nil {
		return false, err
	}
	d.busy = false
	r.skipped.ModuleKeys++
	return false, nil
}

// opcode reads an item between keys.
func (r *Reader) opcode(op byte) error {
	d := r.d
	at := d.src.offset() - 1
	e := &r.entry
	switch op {
	case opExpireMS:
		t, err := d.uint64LE()
		e.ExpireAtMS = deadline(int64(t))
		return err
	case opExpireSec:
		b, err := d.fixed(4)
		if err == nil {
			e.ExpireAtMS = deadline(int64(int32(binary.LittleEndian.Uint32(b))) * 1000)
		}
		return err
	case opIdle:
		sec, err := d.length()
		e.IdleSec = int64(min(sec, math.MaxInt64))
		return err
	case opFreq:
		freq, err := d.byte()
		e.Freq = int(freq)
		return err
	case opSelectDB:
		return r.selectDB(at)
	case opResizeDB:
		var err error
		if r.keys, err = d.length(); err == nil {
			r.expires, err = d.length()
		}
		return err
	case opSlotInfo: // slot, and keys and expires in it: only clusters need it
		for range 3 {
			if _, err := d.length(); err != nil {
				return err
			}
		}
		return nil
	case opAux:
		return r.auxField()
	case opFunction2:
		code, err := d.string()
		if err == nil {
			r.functions = append(r.functions, bytes.Clone(code))
		}
		return err
	case opFunctionPreGA:
		return d.fail(at, ErrUnsupported, "functions in the form of a release candidate of Redis 7")
	}
	name, err := d.skipModuleAux() // opModuleAux, the only opcode left
	if err == nil && len(r.skipped.ModuleAux) < maxAux {
		r.skipped.ModuleAux = append(r.skipped.ModuleAux, name)
	}
	return err
}

// deadline converts a key's deadline to the form of Entry. Redis treats -1 as no deadline.
func deadline(ms int64) int64 {
	if ms == -1 {
		return 0
	}
	return max(ms, 1)
}

// selectDB reads the database of the following keys.
func (r *Reader) selectDB(at int64) error {
	n, err := r.d.length()
	if err != nil {
		return err
	}
	if n > math.MaxInt32 {
		return r.d.corrupt(at, "no database has the number %d", n)
	}
	if r.opts.Databases > 0 && n >= uint64(r.opts.Databases) {
		return r.d.fail(at, ErrUnsupported, "database %d; there are %d", n, r.opts.Databases)
	}
	r.entry.DB = int(n)
	r.keys, r.expires = 0, 0
	return nil
}

// auxField reads a statement about the file, or about the key before it.
func (r *Reader) auxField() error {
	name, value, err := r.d.pair()
	if err == nil && string(name) == AuxProducers {
		if r.opts.Producers == nil {
			return nil
		}
		return r.opts.Producers(r.entry.DB, r.entry.Key, value)
	}
	if err == nil && len(r.aux) < maxAux {
		r.aux = append(r.aux, AuxField{Name: string(name), Value: string(value)})
	}
	return err
}

// end verifies the checksum after the EOF opcode.
func (r *Reader) end() error {
	d := r.d
	if r.version >= checksumSince {
		at := d.src.offset()
		d.src.sumConsumed()
		sum := d.src.sum
		d.src.checksum = false
		want, err := d.uint64LE()
		if err != nil {
			return err
		}
		if !r.opts.NoChecksum && (want != 0 || r.opts.NeedsChecksum) && want != sum {
			return d.corrupt(at, "RDB CRC error: the checksum of the file is %016x, its bytes give %016x", want, sum)
		}
	}
	r.done = true
	return io.EOF
}
