package server

import (
	"cmp"
	"sync"

	"lockserver/commands"
	"lockserver/internal/lockhistory"
	"lockserver/server/raft"
	"lockserver/server/topology"
)

// How the server's group (package topology) has its say: before a command is run by a member that does not
// lead, and when the leader has changed.

// groupOf is the group of the server that runs a command, and where its client is.
func groupOf(c *commands.Ctx) (*topology.Group, *topology.Place) {
	s := sessionOf(c)
	return s.executor.group, &s.place
}

// groupHost is the executor as its group sees it.
type groupHost struct {
	executor *executor
	mu       sync.Mutex
	changes  []topology.Change // that are still to be reported, in order
}

var _ topology.ChangeListener = (*groupHost)(nil)

// joinGroup makes the server a member of a group; nil: of none.
func (ex *executor) joinGroup(g *topology.Group) {
	if ex.group = g; g != nil {
		ex.groupChanges = &groupHost{executor: ex}
		g.Attach(ex.groupChanges)
	}
}

// Switched implements topology.ChangeListener.
func (h *groupHost) Switched(c topology.Change) {
	h.mu.Lock()
	h.changes = append(h.changes, c)
	h.mu.Unlock()
	go h.executor.do(h.tell)
}

// tell tells clients of the changes: who waits at a member that leads no more is sent on, and who listens to
// a Sentinel hears where the master is.
func (h *groupHost) tell() {
	h.mu.Lock()
	changes := h.changes
	h.changes = nil
	h.mu.Unlock()
	ex := h.executor
	for _, c := range changes {
		if text, ok := ex.group.SwitchMessage(c); ok {
			ex.publish([]byte(topology.SwitchChannel), []byte(text))
		}
	}
	for _, s := range ex.clients {
		if w := s.Waiter; w != nil && !ex.group.Leads(&s.place) {
			if call := s.callOf(w.Row, w.Words.Argv(), w.Row.Flags); call.Keyed {
				ex.waits.RefuseFor(lockhistory.Failover)
				ex.waits.Answer(w, func(*commands.Ctx) error { return ex.group.RedirectWaiter(call.Key) })
			}
		}
	}
}

// redirect says why the session's command is not for this member of the group. flags are the row's, or those
// of what it is to run.
func (s *session) redirect(row *commands.Row, argv [][]byte, flags commands.Flags) error {
	g := s.executor.group
	if !g.Leads(&s.place) {
		call := s.callOf(row, argv, flags)
		if err := g.Redirect(&s.place, &call); err != nil && !(s.mayRead(row, flags) && s.executor.member.ServesReads()) {
			if g.View().Leader == "" {
				err = cmp.Or(s.executor.waitsForGroup(), err)
			}
			return err
		}
	}
	if row.Databases.Named != nil && g.IsCluster() {
		return g.RefusesDatabase(row.Name, argv, row.Databases.Named(argv, nil))
	}
	return nil
}

// mayRead reports whether a member of a raft group that does not lead may run the session's command, if its
// data is new enough. The client must have sent READONLY, and the command must only read data. Commands about
// locks are left to the leader, which alone knows the waiters and the connections that renew leases. flags
// are the row's, or those of what it is to run.
func (s *session) mayRead(row *commands.Row, flags commands.Flags) bool {
	const changes = commands.Write | commands.MayReplicate
	ex := s.executor
	return ex.member != nil && s.place.ReadOnly && ex.group.IsCluster() && flags.Has(commands.ReadOnly) && (flags|row.Flags)&changes == 0 && row.Group != commands.Lock
}

// callOf is a command as the group looks at it.
func (s *session) callOf(row *commands.Row, argv [][]byte, flags commands.Flags) (call topology.Call) {
	call.Write, call.Reads = flags.Has(commands.Write), flags.Has(commands.ReadOnly)
	call.Stale = row.Flags.Has(commands.Stale) || row.Name == "ping"      // which Sentinels are asked, to see whether they live
	if s.executor.member != nil && row.Flags.Has(commands.MayReplicate) { // a script without keys may touch any
		call.Reads, call.Write, call.Stale = true, false, false
	}
	if !row.Flags.Has(commands.RunsQueue) {
		if s.executor.member != nil && row.Flags.Has(commands.UsesPubSub|commands.MayReplicate) && len(argv) > 1 {
			call.Key, call.Message = argv[1], true
		}
		s.findKey(&call, row, argv)
		return call
	}
	if s.multi != nil {
		for _, q := range s.multi.queued {
			if s.findKey(&call, q.row, q.argv); call.Keyed {
				break
			}
		}
	}
	return call
}

// findKey finds the first key of a command: of those that it names, or else of those that follow from what it
// names. A sharded channel goes the way of a key.
func (s *session) findKey(call *topology.Call, row *commands.Row, argv [][]byte) {
	for _, spec := range row.Keys() {
		if spec.Flags&commands.NotKey != 0 && len(argv) > 1 {
			call.Key, call.Keyed, call.Channel = argv[1], true, true
			return
		}
	}
	refs, err := s.executor.table.KeyRefs(row, argv, nil)
	switch {
	case err == nil && len(refs) > 0:
		call.Key, call.Keyed = argv[refs[0].Pos], true
	case row.Implied != nil:
		row.Implied(s.DB, argv, func(key []byte, _ commands.KeyFlags) bool {
			call.Key, call.Keyed = commands.Clone(key), true
			return false
		})
	case row.Group == commands.Lock: // LOCK.ATTACH: clients of a cluster send it to any member, and only the leader renews locks
		call.Keyed = true
	}
}

// roleInGroup makes ROLE tell of the group where there is one.
func roleInGroup(rows []commands.Row) []commands.Row {
	for i := range rows {
		if rows[i].Name != "role" {
			continue
		}
		alone := rows[i].Run
		rows[i].Run = func(c *commands.Ctx) error {
			g, p := groupOf(c)
			if g == nil {
				return alone(c)
			}
			g.WriteRole(p, c.Out)
			return nil
		}
	}
	return rows
}

// waitsForGroup is the answer of a server that waits to be added to a group; nil: it does not.
func (ex *executor) waitsForGroup() error {
	if ex.member == nil || !ex.member.AwaitsAdd() {
		return nil
	}
	return topology.Redirection(ex.downWord() + " This server is in no raft group yet: " + raft.AwaitsAdd)
}
