package raft

import (
	"fmt"
	"strconv"

	"lockserver/internal/resp"
)

// An entry may move all deadlines on: its bytes are one command of the group's own. Each member moves the
// deadlines of its own data, which are the same, by the same time. It does so in pieces, and no cut is made
// meanwhile. The command, do not change:
//
//	MOVEDEADLINES milliseconds ALL | LEASES

// HistoryVersion is the newest form of the history that this version applies, as in Report.History.
const HistoryVersion = historySlotMoves

// historyMoves is the form of the history that has such entries.
const historyMoves = 1

// moveWord is the command.
const moveWord = "MOVEDEADLINES"

// movedWords are the last words of the command: true if all deadlines are moved.
var movedWords = map[bool]string{true: "ALL", false: "LEASES"}

// appendMove appends the command.
func appendMove(dst []byte, byMS int64, all bool) []byte {
	return resp.AppendCommand(dst, []byte(moveWord), strconv.AppendInt(nil, byMS, 10), []byte(movedWords[all]))
}

// parseMove reads the command. It returns ok = false for other commands.
func parseMove(argv [][]byte) (byMS int64, all, ok bool, err error) {
	if len(argv) == 0 || string(argv[0]) != moveWord {
		return 0, false, false, nil
	}
	if len(argv) == 3 {
		all = string(argv[2]) == movedWords[true]
		byMS, err = strconv.ParseInt(string(argv[1]), 10, 64)
	}
	if len(argv) != 3 || err != nil || !all && string(argv[2]) != movedWords[false] {
		err = fmt.Errorf("%q is no command of the history", argv)
	}
	return byMS, all, true, err
}

// allMove reports whether all members have said that they can apply an entry that moves all deadlines.
func (m *Member) allMove() bool {
	s := m.engine.Status()
	for _, p := range s.Peers {
		if p.ID != s.ID && s.observation(p).Report.History < historyMoves {
			return false
		}
	}
	return true
}

// proposeMove moves deadlines by an entry. It returns when the entry is committed and applied here.
func (m *Member) proposeMove(run int, byMS int64, all bool) error {
	var made []byte
	m.host.Slice(func() {
		if !m.mayLead(run) {
			return
		}
		e := entry{after: m.applied, id: m.host.NewID(), clockMS: m.head.ClockMS, token: m.head.Token, bytes: appendMove(nil, byMS, all)}
		made = e.appendTo(nil)
		m.counts.entries++
	})
	if made == nil {
		return errForeign
	}
	return m.engine.Propose(made)()
}

// moveDeadlines applies an entry of proposeMove.
func (a openedMember) moveDeadlines(byMS int64, all bool) error {
	m := a.member
	for from := (Cursor{}); !from.AtEnd(); {
		foreign := false
		m.host.Slice(func() {
			if foreign = m.run != a.run; foreign {
				return
			}
			from = m.host.MoveDeadlines(from, byMS, all)
			m.partly = !from.AtEnd()
			m.host.EndUnit()
		})
		if foreign {
			return errForeign
		}
	}
	return nil
}
