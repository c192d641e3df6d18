package persistence

import (
	"bytes"

	"lockserver/persistence/rdb"
	"lockserver/store"
)

// PieceOptions says which keys of a snapshot SavePieces writes, and how.
type PieceOptions struct {
	DB int
	// Keep reports whether a key is written. Its slice is valid during the call.
	Keep func(key []byte) bool
	// MostBytes is the size at which a piece ends. The last key of a piece may exceed it.
	MostBytes int
	Compress  bool
	// Version is the Redis version that a piece states.
	Version string
	// Breathe, if not nil, is called regularly with the number of keys that were looked at.
	Breathe func(keys int)
}

// lookBytes is the number of written bytes that a look at a key counts for.
const lookBytes = 16

// SavePieces writes some keys of one database as pieces. A piece is a snapshot of whole keys, which Load adds
// to a store that has other keys. Without such keys there is no piece. send gets each piece when it is
// complete, and owns it; its error ends the work. SavePieces drains the database of the snapshot.
func SavePieces(snap *store.Snapshot, o PieceOptions, send func(piece []byte) error) error {
	p := pieces{snap: snap, o: o, send: send}
	var name []byte
	var err error
	snap.Drain(o.DB, func(key string, r store.Ref) bool {
		name = append(name[:0], key...)
		if o.Keep(name) {
			err = p.add(name, r)
		}
		p.look()
		return err == nil
	})
	if err == nil {
		err = p.end()
	}
	return err
}

// pieces makes the pieces of a snapshot, one after the other.
type pieces struct {
	snap   *store.Snapshot
	o      PieceOptions
	send   func(piece []byte) error
	b      *bytes.Buffer // the piece that has begun, or nil
	keys   keyWriter
	looked int   // keys that were looked at
	work   int64 // bytes written since the last breath, and lookBytes for each key
}

// add adds a key to the piece, and ends a piece that is large enough.
func (p *pieces) add(name []byte, r store.Ref) error {
	if p.b == nil {
		version := rdb.Version7
		if p.snap.HasFieldTimes() {
			version = rdb.VersionFieldExpiry
		}
		p.b = new(bytes.Buffer)
		p.keys = keyWriter{out: begin(p.b, version, SaveOptions{Compress: p.o.Compress, Checksum: true, Version: p.o.Version}), snap: p.snap}
		p.keys.out.SelectDB(p.o.DB)
	}
	before := p.keys.out.Written()
	p.keys.write(name, r)
	p.work += p.keys.out.Written() - before
	if err := p.keys.out.Err(); err != nil {
		return err
	}
	if p.keys.out.Written() < int64(p.o.MostBytes) {
		return nil
	}
	return p.end()
}

// end sends the piece that has begun, if there is one.
func (p *pieces) end() error {
	if p.b == nil {
		return nil
	}
	b := p.b
	p.b = nil
	if err := p.keys.close(); err != nil {
		return err
	}
	return p.send(b.Bytes())
}

// look counts a key, and lets others have the processor now and then.
func (p *pieces) look() {
	p.looked++
	if p.work += lookBytes; p.work < breathBytes {
		return
	}
	p.work = 0
	if p.o.Breathe != nil {
		p.o.Breathe(p.looked)
	}
}
