package raft

// lookForSelf logs once for each removal that this server is no longer a member. A new member may not have
// read the entry that added it. Such a member hears from a leader. Under the host's lock.
func (m *Member) lookForSelf(s *Status) {
	_, in := Find(s.Peers, s.ID)
	in = in && !s.Removed
	if in || len(s.Peers) == 0 || s.Leader.ID != "" {
		m.saidOut = m.saidOut && !in
		return
	}
	if !m.saidOut {
		m.saidOut = true
		m.host.Log().Warn("raft: this server is no member of its group any more (RAFT REMOVE): it answers no reads and no writes, and does not know who leads. "+
			"Stop it, or have the member that leads make it one again (RAFT ADD)", "id", s.ID)
	}
}
