package store

import "lockserver/store/hll"

// PFAdd counts elements into key's HyperLogLog, and reports whether that changed it. It makes the HyperLogLog
// if the key is missing. The caller has checked that the key is missing or holds a valid HyperLogLog. The
// error is hll.ErrCorrupt; elements that were counted before it stay counted.
func (db *DB) PFAdd(key []byte, elements [][]byte) (changed bool, err error) {
	g := db.hyperLogLog(key, &changed)
	was := g.size()
	args := [][]byte{key}
	changes := 0
	if changed {
		changes++ // the HyperLogLog is new
	}
	for _, element := range elements {
		var grew bool
		if g.b, grew, err = hll.Add(db.store.limits.HLL, g.b, element); err != nil {
			break
		}
		if grew {
			changed = true
			changes++
			args = append(args, element)
		}
	}
	db.space.charge(g.size() - was)
	if changed {
		hll.Invalidate(g.b)
		db.store.record(db, "PFADD", args...)
		db.changedBy(key, changes)
	}
	return changed, err
}

// PFMerge merges the HyperLogLogs of the sources into key's HyperLogLog, which it makes if the key is
// missing. All existing HyperLogLogs must be valid. The result is dense if one of them is dense. The error is
// hll.ErrCorrupt; then nothing has changed.
func (db *DB) PFMerge(key []byte, sources [][]byte) error {
	var merged hll.Registers
	dense := false
	for _, k := range append([][]byte{key}, sources...) {
		if b := db.Peek(k).Bytes(); b != nil {
			dense = dense || !hll.IsSparse(b)
			if err := merged.Merge(b); err != nil {
				return err
			}
		}
	}
	var made bool
	g := db.hyperLogLog(key, &made)
	was := g.size()
	defer func() { db.space.charge(g.size() - was) }()
	var err error
	if dense {
		if g.b, err = hll.ToDense(g.b); err != nil {
			return err
		}
	}
	if g.b, err = merged.Store(db.store.limits.HLL, g.b); err != nil {
		return err
	}
	hll.Invalidate(g.b)
	db.store.record(db, "PFMERGE", append([][]byte{key}, sources...)...)
	db.changed(key)
	return nil
}

// PFToDense makes key's HyperLogLog, which must exist, dense and reports whether it was sparse. The error is
// hll.ErrCorrupt.
func (db *DB) PFToDense(key []byte) (was bool, err error) {
	b := db.Peek(key).Bytes()
	if !hll.IsSparse(b) {
		return false, nil
	}
	d, err := hll.ToDense(b)
	if err != nil {
		return false, err
	}
	g := db.writableBuffer(key, 0)
	before := g.size()
	g.b = d
	db.space.charge(g.size() - before)
	db.recordSet(key, d, KeepTTL)
	db.store.dirty++ // clients that watch or cache the key are not notified, as in Redis: its value is the same
	return true, nil
}

// PFCache stores an estimate in key's HyperLogLog, which must exist.
func (db *DB) PFCache(key []byte, n uint64) {
	text := hll.EncodeCache(n)
	db.SetRange(key, hll.CacheAt, text[:])
}

// hyperLogLog returns key's HyperLogLog to write to, and reports in made whether it was created.
func (db *DB) hyperLogLog(key []byte, made *bool) *growable {
	g := db.writableBuffer(key, 0)
	if len(g.b) == 0 {
		was := g.size()
		g.b = hll.New()
		db.space.charge(g.size() - was)
		*made = true
	}
	return g
}
