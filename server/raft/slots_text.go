package raft

import (
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
)

// The slots of a group that is a shard of a cluster are in its log: a member serves a slot only if its own
// log says so. The log has a text, which package cluster reads. It changes nothing of the history.
//
// Changes are counted: the count is the generation of the slots. An entry names the generation that it goes
// on from, and is void if another change was committed before. It is an entry of version 1 that goes on from
// a history that cannot exist, as those with users are. Its format, do not change: the name of that history
// is slotsID, offset is the generation, id is empty, the bytes are the text.
//
// movesID is reserved for entries that move slots to another group. A member that passed such an entry over
// would serve slots that are another group's, so this version stops at it.
const (
	slotsID = "slots"
	movesID = "moves"
)

// historySlots is the form of the history with such entries.
const historySlots = 3

// groupSlots are the slots of a group.
type groupSlots struct {
	generation int64 // from 1
	is         string
}

// isSlots reports whether the entry names slots, or moves slots to another group.
func (e *entry) isSlots() bool { return e.after.id == slotsID || e.after.id == movesID }

// slotsEntry returns the entry after a generation.
func slotsEntry(generation int64, text string, clockMS, token int64) *entry {
	return &entry{after: place{slotsID, generation}, clockMS: clockMS, token: token, bytes: []byte(text)}
}

// text returns the form of the slots in snapshots, do not change: the generation, a line end, and the text.
// For nil it is empty.
func (s *groupSlots) text() string {
	if s == nil {
		return ""
	}
	return strconv.FormatInt(s.generation, 10) + "\n" + s.is
}

// parseSlots reads the result of text.
func parseSlots(text string) (*groupSlots, error) {
	if text == "" {
		return nil, nil
	}
	number, is, ok := strings.Cut(text, "\n")
	generation, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || generation < 1 || is == "" {
		return nil, errors.New("the slots of the group are damaged")
	}
	return &groupSlots{generation, is}, nil
}

// ReadSlots reads the slots of a group from the AUX field rdb.AuxSlots of a snapshot: their generation, and
// the text that package cluster reads. Without slots the generation is 0.
func ReadSlots(aux string) (generation int64, text string, err error) {
	s, err := parseSlots(aux)
	if err != nil || s == nil {
		return 0, "", err
	}
	return s.generation, s.is, nil
}

// ClusterState holds the knowledge of a member about the cluster in which its group is a shard. A group that
// is no shard has the zero value.
type ClusterState struct {
	// Shard is the name of the group as a shard, and Slots the number of slots that its log gives it.
	Shard string
	Slots int
	// SlotFaults and MapFaults say what is wrong with the slots, and which shards have been silent for so
	// long that the map of them may be old. Each has a line for each fault.
	SlotFaults, MapFaults []string
	// MapAgeMS is the time since the last answer of the shard that has been silent for the longest time.
	MapAgeMS int64
}

// OwnedSlots are the slots of a group that is a shard of a cluster.
type OwnedSlots struct {
	// now has the slots of the newest applied entry; nil: the log names no slots. It may be read without
	// the lock.
	now atomic.Pointer[groupSlots]
	// claiming says that an entry with the slots of the configuration is under way. fault says why it
	// cannot be made.
	claiming bool
	fault    string
}

// Slots returns the slots that the log of this member gives the group, as a text, and their generation; 0:
// the log names no slots. Any goroutine may call it.
func (o *OwnedSlots) Slots() (generation int64, text string) {
	if s := o.now.Load(); s != nil {
		return s.generation, s.is
	}
	return 0, ""
}
