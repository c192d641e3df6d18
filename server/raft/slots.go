package raft

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The slots of a group that is a shard of a cluster are in its log: a member serves a slot only if its own log
// says so. The log has a text, which package cluster reads. It changes nothing of the history.
//
// Changes are counted: the count is the generation of the slots. An entry names the generation that it goes on
// from, and is void if another change was committed before. It is an entry of version 1 that goes on from a
// history that cannot exist, as those with users are. Its format, do not change: the name of that history is
// slotsID, offset is the generation, id is empty, the bytes are the text.
//
// movesID is reserved for entries that move slots to another group. A member that passed such an entry over
// would serve slots that are another group's, so this version stops at it.
const (
	slotsID = "slots"
	movesID = "moves"
)

// historySlots is the form of the history that has such entries.
const historySlots = 3

// groupSlots are the slots of a group.
type groupSlots struct {
	generation int64 // from 1
	is         string
}

// isSlots reports whether the entry has slots, or moves some.
func (e *entry) isSlots() bool { return e.after.id == slotsID || e.after.id == movesID }

// slotsEntry makes the entry that follows a generation.
func slotsEntry(generation int64, text string, clockMS, token int64) *entry {
	return &entry{after: place{slotsID, generation}, clockMS: clockMS, token: token, bytes: []byte(text)}
}

// text is how snapshots keep slots, do not change: the generation, a line end, and the text. It is empty for
// nil.
func (s *groupSlots) text() string {
	if s == nil {
		return ""
	}
	return strconv.FormatInt(s.generation, 10) + "\n" + s.is
}

// parseSlots reads what text returns.
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

// meetSlots is given an entry with slots. Under the host's lock.
func (m *Member) meetSlots(e *entry) error {
	if e.after.id == movesID {
		m.stop(errors.New("an entry of the log moves slots to another group, which this version cannot do: a newer lockserver wrote it"))
		return errForeign
	}
	if generation, _ := m.Slots(); e.after.offset != generation {
		return errVoid
	}
	m.showSlots(&groupSlots{e.after.offset + 1, string(e.bytes)})
	return nil
}

// showSlots makes the slots those of the group; nil: the log names no slots.
func (m *Member) showSlots(s *groupSlots) {
	m.slots.Store(s)
	m.changed()
}

// Slots returns the slots that the log of this member gives the group, as a text, and their generation; 0: the
// log names no slots. Any goroutine may call it.
func (m *Member) Slots() (generation int64, text string) {
	if s := m.slots.Load(); s != nil {
		return s.generation, s.is
	}
	return 0, ""
}

// claimSlots has a group that owns no slots begin to own those of the configuration. It is called when this
// member begins to serve, and about once a second.
func (m *Member) claimSlots() {
	m.slotsFault = ""
	if m.options.Slots == "" || m.state != leading || m.quiet || m.unseen || m.claiming || m.slots.Load() != nil {
		return
	}
	if err := m.knowSlots(); err != nil {
		m.slotsFault = "this group cannot begin to own its slots: " + err.Error()
		return
	}
	m.claiming = true
	made := slotsEntry(0, m.options.Slots, m.clockMS, m.token).appendTo(nil)
	m.host.Background(func() {
		err := m.engine.Propose(made)()
		m.host.Locked(func() { m.claiming = false })
		if err == nil {
			m.host.Log().Info("raft: this group owns the slots of cluster-slots from now on", "slots", strings.TrimSpace(m.options.Slots))
		}
	})
}

// knowSlots is why the group cannot begin to own slots; nil: it can. A member that was not heard of is no
// reason.
func (m *Member) knowSlots() error {
	s := m.engine.Status()
	for _, p := range s.Peers {
		o := s.observation(p)
		if p.ID != s.ID && (o.Reported || o.Version != "") && o.History < historySlots {
			return fmt.Errorf("member '%s' runs an older version (%s), which does not know slots of a group", p.ID, o.Version)
		}
	}
	return m.host.MayOwn(m.options.Slots)
}

// slotFaults are the texts of alarms about slots.
func (m *Member) slotFaults() []string {
	all := m.host.SlotFaults()
	if m.slotsFault != "" {
		all = append(all, m.slotsFault)
	}
	return all
}
