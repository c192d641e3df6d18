package engine

import (
	"slices"
	"sync"
	"time"

	"lockserver/server/raft"
)

// checks has the checksums of a member's own data and of the data of the others.
type checks struct {
	mu       sync.Mutex
	own      []raft.Checksum // the newest is the last
	since    time.Time       // when that one was known
	found    map[string]raft.Check
	compared uint64
	verdict  raft.Verdict
	kept     string // what the stable store has of the members that differ
	news     chan struct{}
}

// sent returns the own checksums that are sent to others.
func (c *checks) sent() []raft.Checksum {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.own)
}
