package stream

import "encoding/binary"

// radixKeySize is the size of a node's key in Redis' index and in RDB files: the
// master ID, both halves big endian.
const radixKeySize = 16

// RadixNodes returns the number of nodes in the radix tree that Redis would use as the index, because XINFO
// STREAM shows it. It walks through the index once.
//
// The tree is a compressed trie of keys of equal length. It has one node for each position where keys differ,
// one for each run of bytes between two such positions, and one leaf for each key.
func (s *Stream) RadixNodes() int {
	total := 1 // the root of an empty tree
	var prev [radixKeySize]byte
	var forks [radixKeySize]int // depths at which other keys differ from prev's path, ascending
	depth, first := 0, true
	nodesOf(s).Scan(func(sl slot) bool {
		var key [radixKeySize]byte
		binary.BigEndian.PutUint64(key[:], sl.master.MS)
		binary.BigEndian.PutUint64(key[8:], sl.master.Seq)
		if first {
			total, first, prev = 2, false, key // a run and a leaf
			return true
		}
		at := 0
		for key[at] == prev[at] {
			at++
		}
		end := radixKeySize
		for depth > 0 && forks[depth-1] > at {
			depth--
			end = forks[depth]
		}
		if depth == 0 || forks[depth-1] != at {
			begin := 0
			if depth > 0 {
				begin = forks[depth-1] + 1
			}
			// The run begin..end becomes a run, a fork and another run.
			total += run(begin, at) + 1 + run(at+1, end) - run(begin, end)
			forks[depth] = at
			depth++
		}
		total += run(at+1, radixKeySize) + 1
		prev = key
		return true
	})
	return total
}

// run returns the number of nodes that hold the bytes from..to of a key.
func run(from, to int) int {
	if from < to {
		return 1
	}
	return 0
}
