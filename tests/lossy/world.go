package lossy

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
)

// world is the content of the disk, with its durable part.
type world struct {
	dirs     map[string]*folder
	nodes    map[int]*node
	nextNode int
}

// folder is a directory. The value isDir marks the name of a subdirectory.
type folder struct {
	now, durable map[string]int
	pending      []naming // since the last sync
}

// isDir is the value of a name that belongs to a directory.
const isDir = -1

// naming is a change of names: the name taken loses its file, and the name given gets it. Either may be
// empty.
type naming struct {
	taken, given string
	node         int
}

func (n naming) apply(names map[string]int) {
	if n.taken != "" {
		delete(names, n.taken)
	}
	if n.given != "" {
		names[n.given] = n.node
	}
}

// node is a file.
type node struct {
	now, durable []byte
	pending      []change // since the last sync
}

// change is a write at an offset, or a cut to a size.
type change struct {
	at   int64
	data []byte
	cut  bool
	lost bool // a sync failed after it: no later sync makes it durable
	// allocated says that a later sync has made its space durable, but not its bytes.
	allocated bool
}

func newWorld() *world {
	return &world{dirs: map[string]*folder{".": newFolder()}, nodes: map[int]*node{}}
}

func newFolder() *folder { return &folder{now: map[string]int{}, durable: map[string]int{}} }

func (w *world) clone() *world {
	c := &world{dirs: map[string]*folder{}, nodes: map[int]*node{}, nextNode: w.nextNode}
	for path, f := range w.dirs {
		c.dirs[path] = &folder{maps.Clone(f.now), maps.Clone(f.durable), slices.Clone(f.pending)}
	}
	for id, n := range w.nodes {
		c.nodes[id] = &node{slices.Clone(n.now), slices.Clone(n.durable), slices.Clone(n.pending)}
	}
	return c
}

// find returns the file at a path.
func (w *world) find(path string) (int, bool) {
	f, ok := w.dirs[filepath.Dir(path)]
	if !ok {
		return 0, false
	}
	id, ok := f.now[filepath.Base(path)]
	return id, ok && id != isDir
}

// apply performs an operation.
func (w *world) apply(op Op) error {
	switch op.Kind {
	case Write:
		n := w.nodes[op.node]
		n.do(change{at: op.At, data: op.Data})
		return nil
	case Truncate:
		w.nodes[op.node].do(change{at: op.Size, cut: true})
		return nil
	case Sync:
		w.nodes[op.node].sync(op.lost)
		return nil
	case SyncDir:
		f, ok := w.dirs[op.Path]
		if !ok {
			return fs.ErrNotExist
		}
		f.durable, f.pending = maps.Clone(f.now), nil
		return nil
	}
	return w.rename(op)
}

// rename performs an operation on names.
func (w *world) rename(op Op) error {
	dir, ok := w.dirs[filepath.Dir(op.Path)]
	if !ok {
		return fs.ErrNotExist
	}
	name := filepath.Base(op.Path)
	id, there := dir.now[name]
	switch op.Kind {
	case Create:
		w.nodes[op.node] = &node{}
		w.nextNode = max(w.nextNode, op.node+1)
		dir.do(naming{given: name, node: op.node})
	case MakeDir:
		w.dirs[op.Path] = newFolder()
		dir.do(naming{given: name, node: isDir})
	case Remove:
		if !there {
			return fs.ErrNotExist
		}
		dir.do(naming{taken: name})
	case Rename:
		to, ok := w.dirs[filepath.Dir(op.To)]
		switch {
		case !there || !ok:
			return fs.ErrNotExist
		case to == dir:
			dir.do(naming{taken: name, given: filepath.Base(op.To), node: id})
		default: // the two directories become durable separately
			to.do(naming{given: filepath.Base(op.To), node: id})
			dir.do(naming{taken: name})
		}
	default:
		return errors.ErrUnsupported
	}
	return nil
}

func (f *folder) do(n naming) {
	n.apply(f.now)
	f.pending = append(f.pending, n)
}

func (n *node) do(c change) {
	n.now = c.apply(n.now)
	n.pending = append(n.pending, c)
}

// sync makes the changes durable. If the sync failed, it marks them as lost for good.
func (n *node) sync(failed bool) {
	if failed {
		for i := range n.pending {
			n.pending[i].lost = true
		}
		return
	}
	var kept []change
	for _, c := range n.pending {
		if c.cut { // data that was cut off cannot come back
			kept = cutTo(kept, c.at)
		}
		switch {
		case c.lost && c.allocated:
			kept = append(kept, c)
			continue
		case c.lost && !c.cut:
			c.allocated = true
			kept = append(kept, c)
			c.data = make([]byte, len(c.data))
		case !c.cut:
			kept = slices.DeleteFunc(kept, c.covers) // these bytes were written again
		}
		n.durable = c.apply(n.durable)
	}
	n.pending = kept
}

// cutTo removes the parts of writes beyond a size.
func cutTo(writes []change, size int64) (left []change) {
	for _, c := range writes {
		if c.at < size {
			c.data = c.data[:min(int64(len(c.data)), size-c.at)]
			left = append(left, c)
		}
	}
	return left
}

// covers reports whether a write covers all bytes of another write.
func (c change) covers(other change) bool {
	return c.at <= other.at && other.at+int64(len(other.data)) <= c.at+int64(len(c.data))
}

// apply returns the content after the change.
func (c change) apply(b []byte) []byte {
	if c.cut {
		if int64(len(b)) > c.at {
			return slices.Clone(b[:c.at])
		}
		return extend(b, c.at)
	}
	b = extend(b, c.at+int64(len(c.data)))
	copy(b[c.at:], c.data)
	return b
}

// extend gives b a length of at least n; new bytes are zeros. It never writes to memory that another slice
// uses.
func extend(b []byte, n int64) []byte {
	if int64(len(b)) >= n {
		return slices.Clone(b)
	}
	longer := make([]byte, n)
	copy(longer, b)
	return longer
}

// hasDir reports whether the directory of a path has its name in its parent.
func (w *world) hasDir(path string) bool {
	parent, ok := w.dirs[filepath.Dir(path)]
	if !ok {
		return false
	}
	id, ok := parent.now[filepath.Base(path)]
	return ok && id == isDir
}
