package rdb

import (
	"bytes"
	"math"
	"strconv"

	"lockserver/store/listpack"
)

// maxSizeHint limits SizeHint, so that a false length does not allocate a large container.
const maxSizeHint = 1 << 16

// Object is the value of a key. A string is available at once. The elements of other values are read one by
// one with the iterator of their kind:
//
//	String        Bytes
//	List, Set     NextMember
//	Hash          NextField
//	ZSet          NextScored
//	Stream        NextNode, then StreamInfo, then NextGroup
//	Bloom         Filter
//
// An iterator returns false at the end and after an error; Err distinguishes them. The reader's Next skips
// remaining elements. The object and every slice that it returns are valid until the next call on it or on
// its reader, unless stated otherwise. Duplicate members and fields are detected here for listpacks,
// ziplists, zipmaps and intsets. For other forms the container detects them when they are added, and the
// caller reports them with Duplicate.
type Object struct {
	Kind Kind
	// SizeHint is about the number of elements, at most 65536. It is the file's claim, which may be false.
	SizeHint int
	// Bytes is the value of a String.
	Bytes []byte
	// Int is the same value as a number, if IsInt is set: it was stored as a number.
	Int   int64
	IsInt bool
	// Filter is the value of a Bloom.
	Filter *BloomFilter
	// Owned says that Bytes, Listpack and Intset have memory of their own, which the caller may keep.
	// Otherwise the caller must copy them.
	Owned bool
	// Listpack is the whole value of a Hash (field, value, ...), Set (member, ...) or ZSet (member, score,
	// ... in order) that is stored as a listpack and can be used unchanged; nil otherwise. It is valid, not
	// empty, and free of duplicates.
	Listpack listpack.List
	// Intset is the whole value of a Set that is stored as an intset: width and count (32 bits each), then
	// the members ascending, all little endian; nil otherwise. It is valid and not empty.
	Intset []byte

	d        *decoder
	left     uint64 // elements, pairs or nodes that are not read yet
	blob     blob   // of the container, or of the current list node
	plain    []byte // a list node that is a single element
	hasPlain bool   // plain must still be returned
	leastMS  uint64 // the base of relative field deadlines
	stream   streamState
	a, b     [24]byte
}

// Err returns the error that ended an iteration; nil at its regular end. It is the reader's error: Next
// returns it, too.
func (o *Object) Err() error { return o.d.err }

// Duplicate makes the error for a member or field that occurs twice in the object. It fails the reader.
func (o *Object) Duplicate(member []byte) error {
	if len(member) > 64 {
		member = member[:64]
	}
	return o.d.corrupt(o.d.src.offset(), "%q occurs twice", member)
}

// begin reads the part of a value before its first element. It returns false for a container without
// elements, which Redis never writes, and drops when it loads it.
func (o *Object) begin(d *decoder) (notEmpty bool, err error) {
	*o = Object{d: d, Kind: typeKind(d.typ)}
	switch d.typ {
	case typeString:
		t, err := d.text()
		o.Bytes, o.Int, o.IsInt, o.Owned = t.bytes, t.num, t.isInt, d.owned
		return true, err
	case typeHashFields:
		if o.leastMS, err = d.uint64LE(); err != nil {
			return false, err
		}
		if o.leastMS > maxFieldDeadlineMS+1 {
			return false, d.corrupt(d.src.offset()-8, "no field has the deadline %d", o.leastMS)
		}
	case typeHashListpackEx:
		if _, err = d.uint64LE(); err != nil { // the least deadline; each field has its own as well
			return false, err
		}
		return o.beginBlob(listpackBlob, 3)
	case typeHashPackExPreGA:
		return o.beginBlob(listpackBlob, 3)
	case typeHashListpack, typeZSetListpack:
		return o.beginBlob(listpackBlob, 2)
	case typeHashZiplist, typeZSetZiplist:
		return o.beginBlob(ziplistBlob, 2)
	case typeHashZipmap:
		return o.beginBlob(zipmapBlob, 2)
	case typeSetListpack:
		return o.beginBlob(listpackBlob, 1)
	case typeSetIntset:
		return o.beginBlob(intsetBlob, 1)
	case typeListZiplist:
		return o.beginBlob(ziplistBlob, 1)
	}
	if o.left, err = d.length(); err != nil {
		return false, err
	}
	o.SizeHint = int(min(o.left, maxSizeHint))
	switch d.typ {
	case typeStream, typeStream2, typeStream3, typeStream4:
		return true, nil
	case typeListQuicklist, typeListQuicklist2:
		for o.left > 0 && o.blob.done() && !o.hasPlain {
			if err := o.nextListNode(); err != nil {
				return false, err
			}
		}
		return o.hasPlain || !o.blob.done(), nil
	}
	return o.left > 0, nil
}

// beginModule begins the value of a module, which must be a Bloom filter. ok is false for another module;
// then only the ID was read.
func (o *Object) beginModule(d *decoder) (id uint64, ok bool, err error) {
	if id, err = d.length(); err != nil {
		return id, false, err
	}
	name, version := moduleName(id)
	if name != bloomName || version > bloomVersion {
		return id, false, nil
	}
	*o = Object{d: d, Kind: Bloom}
	o.Filter, err = d.bloom(version)
	return id, err == nil, err
}

// beginBlob reads a container that is one string of elements; width elements belong together.
func (o *Object) beginBlob(format blobFormat, width int) (notEmpty bool, err error) {
	d := o.d
	at := d.src.offset()
	w, err := d.blob(format)
	if err != nil {
		return false, err
	}
	if w.n%width != 0 {
		return false, d.corrupt(at, "%v: %d elements do not come in groups of %d", format, w.n, width)
	}
	o.blob, o.Owned = w, d.owned
	o.SizeHint = min(w.n/width, maxSizeHint)
	if o.Kind != List {
		if twice, found := d.dups.find(w, width); found {
			return false, d.corrupt(at, "%v: %.64q occurs twice", format, twice)
		}
	}
	ordered := true
	switch {
	case o.Kind == ZSet:
		ordered, err = o.checkScores(at, w)
	case width == 3:
		ordered, err = false, o.checkDeadlines(at, w)
	}
	if err != nil {
		return false, err
	}
	switch {
	case format == intsetBlob:
		o.Intset = w.b
	case format == listpackBlob && ordered:
		o.Listpack = w.b
	case format == ziplistBlob && ordered && o.Kind == ZSet:
		o.Listpack = w.listpack()
	}
	return w.n > 0, nil
}

// listpack converts the elements to the newer format without changing them: a score that is text stays that
// text, as in Redis. Otherwise -0 would lose its sign.
func (w blob) listpack() []byte {
	lp := listpack.NewSize(len(w.b) + 2*w.n)
	for e, ok := w.next(); ok; e, ok = w.next() {
		if e.isInt {
			lp = lp.AppendInt(e.num)
		} else {
			lp = lp.Append(e.bytes)
		}
	}
	return lp
}

// checkScores checks the scores of a compact sorted set, and reports whether its members are in order.
func (o *Object) checkScores(at int64, w blob) (ordered bool, err error) {
	ordered = true
	lastScore := math.Inf(-1)
	var last element
	for m, ok := w.next(); ok; m, ok = w.next() {
		s, _ := w.next()
		score, ok := s.score()
		if !ok {
			return false, o.d.corrupt(at, "%v: %.64q is not a score", w.format, s.text(o.a[:]))
		}
		if score < lastScore || score == lastScore && bytes.Compare(last.text(o.a[:]), m.text(o.b[:])) > 0 {
			ordered = false
		}
		last, lastScore = m, score
	}
	return ordered, nil
}

// checkDeadlines checks the deadlines of a compact hash with deadlines of fields.
func (o *Object) checkDeadlines(at int64, w blob) error {
	for _, ok := w.next(); ok; _, ok = w.next() {
		w.next()
		if t, _ := w.next(); !t.isInt || t.num < 0 || t.num > maxFieldDeadlineMS {
			return o.d.corrupt(at, "%v: %.64q is not a deadline", w.format, t.text(o.a[:]))
		}
	}
	return nil
}

// score returns an element as a score; ok is false for NaN.
func (e element) score() (float64, bool) {
	if e.isInt {
		return float64(e.num), true
	}
	return parseScore(e.bytes)
}

// parseScore parses a score. A score out of range is infinite, as for strtod.
func parseScore(b []byte) (float64, bool) {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, !math.IsNaN(f)
}
