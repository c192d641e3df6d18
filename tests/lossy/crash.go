package lossy

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Loss says which unsynced data a crash loses.
type Loss int

const (
	// LoseNothing is the end of the process alone: the operating system keeps all data.
	LoseNothing Loss = iota
	// LoseAll keeps only synced data.
	LoseAll
	// LoseSome keeps any part: the first few changes of each file, the last of them perhaps torn, or with
	// zeros in its place; and any of a directory's name changes.
	LoseSome
	// LoseHoles is LoseSome, but any of a file's changes may be missing.
	LoseHoles
)

// Tape replays the history of a disk, and can simulate a crash after each operation.
type Tape struct {
	world *world
	ops   []Op
	at    int
}

// Tape returns the history of the disk, beginning before its first operation.
func (d *Disk) Tape() *Tape {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &Tape{world: d.start.clone(), ops: slices.Clone(d.ops)}
}

// At returns the number of replayed operations.
func (t *Tape) At() int { return t.at }

// Next replays the next operation, and reports whether there was one.
func (t *Tape) Next() bool {
	if t.at == len(t.ops) {
		return false
	}
	if err := t.world.apply(t.ops[t.at]); err != nil {
		panic("lossy: the history cannot be played: " + err.Error())
	}
	t.at++
	return true
}

// Last returns the last replayed operation.
func (t *Tape) Last() Op {
	if t.at == 0 {
		return Op{}
	}
	return t.ops[t.at-1]
}

// Crash returns a disk with the data that a crash at this moment leaves. All of it is durable.
func (t *Tape) Crash(loss Loss, chance *rand.Rand) *Disk { return newDisk(t.world.crash(loss, chance)) }

// Crash returns a disk with the data that a crash now leaves.
func (d *Disk) Crash(loss Loss, chance *rand.Rand) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return newDisk(d.world.crash(loss, chance))
}

func (w *world) crash(loss Loss, chance *rand.Rand) *world {
	left := &world{dirs: map[string]*folder{}, nodes: map[int]*node{}, nextNode: w.nextNode}
	// In the order of their numbers, so that a seed always gives the same result.
	for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
		data := w.nodes[id].crash(loss, chance)
		left.nodes[id] = &node{now: data, durable: data}
	}
	for _, path := range slices.Sorted(maps.Keys(w.dirs)) {
		names := w.dirs[path].crash(loss, chance)
		left.dirs[path] = &folder{now: names, durable: maps.Clone(names)}
	}
	left.prune()
	return left
}

// prune removes directories that have lost their names.
func (w *world) prune() {
	for {
		gone := ""
		for path := range w.dirs {
			if path != "." && !w.hasDir(path) {
				gone = path
			}
		}
		if gone == "" {
			return
		}
		delete(w.dirs, gone)
	}
}

func (f *folder) crash(loss Loss, chance *rand.Rand) map[string]int {
	switch loss {
	case LoseNothing:
		return maps.Clone(f.now)
	case LoseAll:
		return maps.Clone(f.durable)
	}
	names := maps.Clone(f.durable)
	for _, n := range f.pending {
		if chance.IntN(2) == 0 {
			n.apply(names)
		}
	}
	return names
}

func (n *node) crash(loss Loss, chance *rand.Rand) []byte {
	switch loss {
	case LoseNothing:
		return slices.Clone(n.now)
	case LoseAll:
		return slices.Clone(n.durable)
	}
	data := slices.Clone(n.durable)
	whole := chance.IntN(len(n.pending) + 1)
	for i, c := range n.pending {
		switch {
		case loss == LoseHoles && chance.IntN(3) == 0:
			continue
		case i < whole || loss == LoseHoles && chance.IntN(2) == 0:
		case i > whole:
			return data
		case c.cut:
			continue
		default:
			c.data = torn(c.data, max(0, int64(len(data))-c.at), chance)
		}
		data = c.apply(data)
	}
	return data
}

// torn returns a partial write: the rest is missing, or zeros. The first over bytes overwrite old data, and
// are never zeros in between.
func torn(data []byte, over int64, chance *rand.Rand) []byte {
	if len(data) == 0 {
		return data
	}
	n := chance.IntN(len(data))
	if chance.IntN(2) == 0 || int64(n) < over {
		return data[:n]
	}
	rest := make([]byte, len(data))
	copy(rest, data[:n])
	return rest[:n+chance.IntN(len(data)-n+1)]
}
