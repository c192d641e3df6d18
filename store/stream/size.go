package stream

const (
	// headerBytes is the size of a Stream with an empty index.
	headerBytes = 320
	// nodeBytes is the size of a node without its bytes: its header, its place in the index, and the
	// allocator's rounding.
	nodeBytes = 64 + 36 + 64
	// groupBytes, consumerBytes and pendingBytes are the sizes of a group, of a consumer (with a short name)
	// and of a pending entry, which is in two trees.
	groupBytes    = 512
	consumerBytes = 320
	pendingBytes  = 100
	// timeBytes is the further size of a pending entry in a group that has the order by time.
	timeBytes = 40
	// producersBytes is the size of the part that comes with the first producer. producerBytes and
	// messageBytes are the sizes of a producer and of a message without the name; a message is in three
	// trees.
	producersBytes = 800
	producerBytes  = 48
	messageBytes   = 132
)

// Size returns about the size of the stream in bytes, including its groups: O(number of groups).
func (s *Stream) Size() int {
	n := s.EntriesSize()
	for _, g := range s.groups {
		n += g.Size()
	}
	return n + s.producers.Size()
}

// EntriesSize returns the Size without the groups and producers: O(1).
func (s *Stream) EntriesSize() int { return headerBytes + s.bytes }

// Size returns about how many bytes the group takes: O(1).
func (g *Group) Size() int {
	n := groupBytes + len(g.name) + consumerBytes*len(g.consumers) + pendingBytes*pendingOf(g).Len()
	if g.timeTree != nil {
		n += timeBytes * timesOf(g).Len()
	}
	return n
}

// Size returns about how many bytes the producers take: O(1).
func (p *Producers) Size() int {
	if p == nil {
		return 0
	}
	producers, messages := p.Tracked()
	return producersBytes + p.bytes + producerBytes*producers + messageBytes*messages
}

// size returns the weight of a node in the stream.
func (n *node) size() int { return nodeBytes + len(n.list) }
