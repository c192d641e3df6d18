package store

import "lockserver/store/hll"

// PFAdd counts elements into key's HyperLogLog, and reports whether that changed it. It makes the HyperLogLog
// if the key is missing. The caller has checked that the key is missing or holds a valid HyperLogLog. The
// error is hll.ErrCorrupt; elements that were counted before it stay counted.
func (e StringEdit) PFAdd(elements [][]byte) (changed bool, err error) {
	g := e.hyperLogLog(&changed)
	was := g.size()
	args := [][]byte{e.key}
	changes := 0
	if changed {
		changes++ // the HyperLogLog is new
	}
	for _, element := range elements {
		var grew bool
		if g.b, grew, err = hll.Add(e.db.store.limits.HLL, g.b, element); err != nil {
			break
		}
		if grew {
			changed = true
			changes++
			args = append(args, element)
		}
	}
	e.db.space.charge(g.size() - was)
	if changed {
		hll.Invalidate(g.b)
		e.db.store.record(e.db, "PFADD", args...)
		e.db.changedBy(e.key, changes)
	}
	return changed, err
}

// PFMerge merges the HyperLogLogs of the sources into key's HyperLogLog, which it makes if the key is
// missing. All existing HyperLogLogs must be valid. The result is dense if one of them is dense. The error is
// hll.ErrCorrupt; then nothing has changed.
func (e StringEdit) PFMerge(sources [][]byte) error {
	var merged hll.Registers
	dense := false
	for _, k := range append([][]byte{e.key}, sources...) {
		if b := e.db.Peek(k).Bytes(); b != nil {
			dense = dense || !hll.IsSparse(b)
			if err := merged.Merge(b); err != nil {
				return err
			}
		}
	}
	var made bool
	g := e.hyperLogLog(&made)
	was := g.size()
	defer func() { e.db.space.charge(g.size() - was) }()
	var err error
	if dense {
		if g.b, err = hll.ToDense(g.b); err != nil {
			return err
		}
	}
	if g.b, err = merged.Store(e.db.store.limits.HLL, g.b); err != nil {
		return err
	}
	hll.Invalidate(g.b)
	e.db.store.record(e.db, "PFMERGE", append([][]byte{e.key}, sources...)...)
	e.db.changed(e.key)
	return nil
}

// PFToDense makes key's HyperLogLog, which must exist, dense and reports whether it was sparse. The error is
// hll.ErrCorrupt.
func (e StringEdit) PFToDense() (was bool, err error) {
	b := e.db.Peek(e.key).Bytes()
	if !hll.IsSparse(b) {
		return false, nil
	}
	d, err := hll.ToDense(b)
	if err != nil {
		return false, err
	}
	g := e.buffer(0)
	before := g.size()
	g.b = d
	e.db.space.charge(g.size() - before)
	e.recordSet(d, KeepTTL)
	e.db.store.dirty++ // clients that watch or cache the key are not notified, as in Redis: its value is the same
	return true, nil
}

// PFCache stores an estimate in key's HyperLogLog, which must exist.
func (e StringEdit) PFCache(n uint64) {
	text := hll.EncodeCache(n)
	e.SetRange(hll.CacheAt, text[:])
}

// hyperLogLog returns key's HyperLogLog to write to, and reports in made whether it was created.
func (e StringEdit) hyperLogLog(made *bool) *growable {
	g := e.buffer(0)
	if len(g.b) == 0 {
		was := g.size()
		g.b = hll.New()
		e.db.space.charge(g.size() - was)
		*made = true
	}
	return g
}
