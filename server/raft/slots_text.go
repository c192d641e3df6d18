package raft

import (
	"errors"
	"strconv"
	"strings"
	"sync/atomic"

	"lockserver/server/cluster"
	"lockserver/server/slotmove"
)

// The slots of a group that is a shard of a cluster are in its log: a member serves a slot only if its own
// log says so. Two kinds of entries change the slots, and nothing of the history. They are entries of version
// 1 that go on from a history that cannot exist, as those with users are.
//
// The first kind gives a group its slots. It names the generation before the change. The entry is void if the
// slots have another generation, or if slots have moved. Its format, do not change: the name of the history
// is slotsID, offset is that generation, id is empty, the bytes are the text of cluster.Owned.
//
// The second kind is a step of a move of slots between groups. Members of versions before historySlotMoves
// stop there. Its format, do not change: the name is movesID, offset is 0, id is empty, the bytes are a
// slotmove.Entry.
const (
	slotsID = "slots"
	movesID = "moves"
)

// historySlots is the form of the history with entries of the first kind, and historySlotMoves of both kinds.
const (
	historySlots     = 3
	historySlotMoves = 6
)

// groupSlots are the slots of a group. They do not change.
type groupSlots struct {
	cluster string // its name
	table   *slotmove.Table
}

// moved reports whether the log of the group has moves, so that older versions must not read a snapshot. s
// may be nil.
func (s *groupSlots) moved() bool { return s != nil && s.table.Moved() }

// owned returns the slots with the names of the shard and of the cluster.
func (s *groupSlots) owned() cluster.Owned {
	return cluster.Owned{Cluster: s.cluster, Shard: s.table.Shard, Slots: s.table.Owned}
}

// isSlots reports whether the entry names slots, or moves slots to another group.
func (e *entry) isSlots() bool { return e.after.id == slotsID || e.after.id == movesID }

// moveEntry returns the entry with a step of a move.
func moveEntry(step *slotmove.Entry, clockMS, token int64) *entry {
	return &entry{after: place{movesID, 0}, clockMS: clockMS, token: token, bytes: step.AppendTo(nil)}
}

// slotsEntry returns the entry after a generation.
func slotsEntry(generation int64, text string, clockMS, token int64) *entry {
	return &entry{after: place{slotsID, generation}, clockMS: clockMS, token: token, bytes: []byte(text)}
}

// text returns the form of the slots in snapshots, do not change. Before the first move it has the
// generation, a line end, and the text of cluster.Owned. After it, it has the word movesID and the name of
// the cluster, each with a line end, and the table. For nil it is empty.
func (s *groupSlots) text() string {
	switch {
	case s == nil:
		return ""
	case s.moved():
		return movesID + "\n" + s.cluster + "\n" + string(s.table.AppendTo(nil))
	}
	owned := s.owned()
	return strconv.FormatInt(s.table.Generation, 10) + "\n" + owned.String()
}

// parseSlots reads the result of text.
func parseSlots(text string) (*groupSlots, error) {
	if text == "" {
		return nil, nil
	}
	s, err := new(groupSlots), error(nil)
	first, rest, _ := strings.Cut(text, "\n")
	if first == movesID {
		var table string
		s.cluster, table, _ = strings.Cut(rest, "\n")
		s.table, err = slotmove.ParseTable([]byte(table))
	} else {
		s, err = slotsOf(rest)
		if s != nil {
			s.table.Generation, err = strconv.ParseInt(first, 10, 64)
		}
	}
	if err != nil || s.table.Generation < 1 || !cluster.IsName(s.cluster) || s.moved() != (first == movesID) {
		return nil, errors.New("the slots of the group are damaged")
	}
	return s, nil
}

// slotsOf returns the slots of a text of cluster.Owned, with the generation 1.
func slotsOf(text string) (*groupSlots, error) {
	owned, err := cluster.ParseOwned(text)
	if err != nil {
		return nil, err
	}
	return &groupSlots{owned.Cluster, slotmove.New(owned.Shard, owned.Slots)}, nil
}

// ReadSlots reads the slots of a group from the AUX field rdb.AuxSlots of a snapshot: the name of the
// cluster, and the table of the shard. Without slots the table is nil.
func ReadSlots(aux string) (name string, t *slotmove.Table, err error) {
	s, err := parseSlots(aux)
	if err != nil || s == nil {
		return "", nil, err
	}
	return s.cluster, s.table, nil
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
	Moves    MovesState
}

// MovesState holds figures about the moves of slots from and to a shard.
type MovesState struct {
	// Away and In count the moves from and to the shard that are not over.
	Away, In int
	// Sent and Left are bytes of the newest move from the shard: see topology.Move. FrozenMS is the time in
	// which commands waited for it. SilentMS is the time since it went on last; 0: it is over.
	Sent, Left, FrozenMS, SilentMS int64
	// Faults has a line for each fault of a move from the shard.
	Faults []string
}

// OwnedSlots are the slots of a group that is a shard of a cluster.
type OwnedSlots struct {
	// now has the slots of the newest applied entry; nil: the log names no slots. It may be read without
	// the lock.
	now      atomic.Pointer[groupSlots]
	stagings stagings
	// claiming says that an entry with the slots of the configuration is under way. fault says why it
	// cannot be made.
	claiming bool
	fault    string
}

// Slots returns the slots that the log of this member gives the group, and their generation; 0: the log names
// no slots. Any goroutine may call it.
func (o *OwnedSlots) Slots() (generation int64, owned cluster.Owned) {
	if s := o.now.Load(); s != nil {
		return s.table.Generation, s.owned()
	}
	return 0, owned
}

// Table returns the slots of the group as its log has them; nil: it names no slots. The table does not
// change. Any goroutine may call it.
func (o *OwnedSlots) Table() *slotmove.Table {
	if s := o.now.Load(); s != nil {
		return s.table
	}
	return nil
}
