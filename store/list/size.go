package list

import "lockserver/store/listpack"

const (
	// headerBytes is a List, and what the allocator rounds a small one's listpack up by.
	headerBytes = 48 + 16
	// directoryBytes is a directory with a segment.
	directoryBytes = 128
	// nodeBytes is what a node takes beside its bytes: itself, the pointer to it with its share of a segment,
	// and what the allocator rounds up by.
	nodeBytes = 48 + 12 + 20
)

// Size returns about how many bytes the list takes: O(1).
func (l *List) Size() int {
	if l.nodes != nil {
		return headerBytes + directoryBytes + l.nodes.bytes
	}
	return headerBytes + len(l.small)
}

// size returns what a node weighs in the directory.
func (n *node) size() int { return nodeBytes + len(n.lp) }

// become gives a node that is owned other elements, and the directory its new weight.
func (l *List) become(n *node, lp listpack.List) {
	l.nodes.bytes += len(lp) - len(n.lp)
	n.lp = lp
}
