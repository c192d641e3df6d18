package store

// Lazy tells for which removals Redis frees a large value in the background: the directives lazyfree-lazy-*.
// Here the garbage collector frees everything in the background; the directives only decide what is counted.
type Lazy struct {
	Eviction, Expire bool
	ServerDel        bool // another value takes its place
	UserDel          bool // DEL
	UserFlush        bool // FLUSHDB, FLUSHALL, SCRIPT FLUSH and FUNCTION FLUSH that say neither SYNC nor ASYNC
}

// lazyEffort is the largest number of parts of a value that Redis frees at once (LAZYFREE_THRESHOLD).
const lazyEffort = 64

// large reports whether Redis would take more than lazyEffort for freeing the value. A table has one step for
// each element, a list for each node, a stream for the parts of its index and groups. Any other value is one
// step. The time of the count is bounded.
func (v *value) large() bool {
	switch v.tag() {
	case Hash:
		return v.hash().Encoding() == "hashtable" && v.hash().Len() > lazyEffort
	case Set:
		return v.set().Encoding() == "hashtable" && v.set().Len() > lazyEffort
	case ZSet:
		return v.zset().Encoding() == "skiplist" && v.zset().Len() > lazyEffort
	case List:
		return v.list().NodeCount() > lazyEffort
	case Stream:
		s := v.stream()
		if s.NodeCount() > lazyEffort { // the index has a leaf for each, and is walked only if there are few
			return true
		}
		effort := s.RadixNodes()
		if groups := s.Groups(); len(groups) > 0 { // the first group stands for all
			effort += len(groups) * (1 + groups[0].PendingLen())
		}
		return effort > lazyEffort
	}
	return false
}
