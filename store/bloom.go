package store

import (
	"strconv"

	"lockserver/store/bloom"
)

// BloomEdit writes to one key's Bloom filter. A Redis with the module RedisBloom understands the effects that
// it records.
type BloomEdit struct {
	db  *DB
	key []byte
	f   *bloom.Filter // nil: no such key yet
}

// OpenBloom opens key's Bloom filter for writing, as OpenHash opens a hash.
func (db *DB) OpenBloom(key []byte) (e BloomEdit, ok bool) {
	v, _, ok := db.open(key, Bloom)
	if !ok {
		return e, false
	}
	e = BloomEdit{db: db, key: key}
	if v != nil {
		e.f = v.bloom()
	}
	return e, true
}

// Filter returns the filter to read; nil if the key has no filter.
func (e *BloomEdit) Filter() *bloom.Filter { return e.f }

// Reserve makes the filter, which must not exist. The error is bloom.ErrTooLarge.
func (e *BloomEdit) Reserve(p bloom.Params) error {
	f, err := bloom.New(e.db.store.values, p)
	if err != nil {
		return err
	}
	e.put(f)
	if e.db.store.effects != nil {
		args := [][]byte{e.key, strconv.AppendFloat(nil, p.ErrorRate, 'g', -1, 64), strconv.AppendUint(nil, p.Capacity, 10)}
		if p.Growth == 0 {
			args = append(args, []byte("NONSCALING"))
		} else {
			args = append(args, []byte("EXPANSION"), appendInt(nil, int64(p.Growth)))
		}
		e.db.store.record(e.db, "BF.RESERVE", args...)
	}
	e.db.changed(e.key)
	return nil
}

func (e *BloomEdit) put(f *bloom.Filter) {
	e.f = f
	var v value
	v.setBloom(f)
	e.db.put(e.key, v)
}

// Add adds an element to the filter, which must exist, and reports whether the element was certainly absent
// before. The error is bloom.ErrFull or bloom.ErrTooLarge; then nothing has changed.
func (e *BloomEdit) Add(element []byte) (added bool, err error) {
	was := e.f.Size()
	added, err = e.f.Add(element)
	e.db.space.charge(e.f.Size() - was)
	if !added || err != nil {
		return false, err
	}
	e.db.store.recordMember(e.db, "BF.MADD", e.key, element)
	e.db.changed(e.key)
	return true, nil
}

// LoadHeader makes the filter, which must not exist, from the header of a dump. The error is bloom.ErrData.
func (e *BloomEdit) LoadHeader(b []byte) error {
	f, err := bloom.FromHeader(e.db.store.values, b)
	if err != nil {
		return err
	}
	e.put(f)
	e.recordChunk(1, b)
	return nil
}

// LoadChunk puts a chunk of a dump into the filter, which must exist. next is the position after the chunk.
// The errors are those of bloom.Filter.Load; then nothing has changed.
func (e *BloomEdit) LoadChunk(next int64, b []byte) error {
	was := e.f.Size()
	err := e.f.Load(next, b)
	e.db.space.charge(e.f.Size() - was)
	if err == nil {
		e.recordChunk(next, b)
	}
	return err
}

func (e *BloomEdit) recordChunk(place int64, b []byte) {
	if e.db.store.effects != nil {
		e.db.store.record(e.db, "BF.LOADCHUNK", e.key, appendInt(nil, place), b)
	}
	e.db.changed(e.key)
}
