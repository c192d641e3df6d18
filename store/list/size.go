package list

import (
	"lockserver/store/listpack"
	"lockserver/store/piece"
)

const (
	// directoryBytes is the header of a list with nodes, with a segment.
	directoryBytes = 48 + 128
	// nodeBytes is the size of a node without its elements: its header, the pointer to it with its share of a
	// segment, and the allocator's rounding.
	nodeBytes = 48 + 12 + 20
)

// Size returns about how many bytes the list takes: O(1).
func (l *List) Size() int {
	if d := l.nodes(); d != nil {
		return directoryBytes + d.bytes
	}
	return (piece.HeadBytes + len(l.packed()) + 15) &^ 15
}

// size returns the weight of a node in the directory.
func (n *node) size() int { return nodeBytes + len(n.lp) }

// become gives an owned node other elements, and updates its weight in the directory.
func (l *Edit) become(n *node, lp listpack.List) {
	l.nodes().bytes += len(lp) - len(n.lp)
	n.lp = lp
}
