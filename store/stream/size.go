package stream

const (
	// headerBytes is a Stream with an empty index.
	headerBytes = 320
	// nodeBytes is what a node takes beside its bytes: itself, its place in the index, and
	// what the allocator rounds up by.
	nodeBytes = 64 + 36 + 64
	// groupBytes, consumerBytes and pendingBytes are the sizes of a group, of a consumer (with a short name)
	// and of a pending entry, which is in two trees.
	groupBytes    = 512
	consumerBytes = 320
	pendingBytes  = 100
	// timeBytes is what a pending entry takes besides in a group that has the order by time.
	timeBytes = 40
	// producersBytes is the size of the part that comes with the first producer. producerBytes and
	// messageBytes are the sizes of a producer and of a message without the name; a message is in three
	// trees.
	producersBytes = 800
	producerBytes  = 48
	messageBytes   = 132
)

// Size returns about how many bytes the stream takes, its groups included: O(number of groups).
func (s *Stream) Size() int {
	n := s.EntriesSize()
	for _, g := range s.groups {
		n += g.Size()
	}
	return n + s.producers.Size()
}

// EntriesSize is Size without the groups and producers: O(1).
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

// size returns what a node weighs in the stream.
func (n *node) size() int { return nodeBytes + len(n.list) }
