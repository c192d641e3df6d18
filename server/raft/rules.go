package raft

import (
	"fmt"

	"lockserver/commands"
)

// A version before historyRules takes a delayed entry that recurs for a damaged one. As a leader it would
// drop the entry when that is due. So a leader adds none while it knows of a member with such a version. A
// member that gets such a version later stops at the entry, or at a snapshot behind it (rulesVersion,
// rulesMagic).

// historyRules is the form of the history that has such entries.
const historyRules = 4

// MayRecur returns why no delayed entry that recurs can be added now; nil: one can be added. Under the host's
// lock.
func (m *Member) MayRecur() error {
	s := m.engine.Status()
	if older, ok := s.older(historyRules); ok {
		return commands.Error(fmt.Sprintf("ERR entries that recur cannot be added while member '%s' runs an older version (%s), which does not know them", older.ID, older.Version))
	}
	return nil
}

// older returns a member that is known to run a version that cannot apply a form of the history. A member
// without an answer is not returned, nor one of this version that has just started, and sends no report yet.
func (s *Status) older(history int64) (o Observation, ok bool) {
	version := s.observation(Peer{ID: s.ID}).Version
	for _, p := range s.Peers {
		o := s.observation(p)
		if p.ID != s.ID && (o.Reported || o.Version != "" && o.Version != version) && o.History < history {
			return o, true
		}
	}
	return o, false
}
