package raft

import (
	"fmt"
	"strconv"
	"strings"

	"lockserver/commands"
	"lockserver/server/info"
)

// Rows returns the row of the command RAFT.
func Rows(of Of) []commands.Row {
	const flags = commands.Admin | commands.NoScript | commands.Loading | commands.Stale | commands.NoMulti
	with := func(run func(m *Member, c *commands.Ctx) error) func(*commands.Ctx) error {
		return func(c *commands.Ctx) error {
			m := of(c).Member()
			if m == nil {
				return ErrNoGroup
			}
			return run(m, c)
		}
	}
	later := func(run func(m *Member, words []string) error) func(*commands.Ctx) error {
		return with(func(m *Member, c *commands.Ctx) error {
			var words []string
			for _, w := range c.Argv[2:] {
				words = append(words, string(w))
			}
			return of(c).Later(c, func() (Reply, error) { return ok, run(m, words) })
		})
	}
	replies := func(work func(m *Member) (Reply, error)) func(*commands.Ctx) error {
		return with(func(m *Member, c *commands.Ctx) error {
			return of(c).Later(c, func() (Reply, error) { return work(m) })
		})
	}
	readCmd := with(func(m *Member, c *commands.Ctx) error {
		id := string(c.Argv[2])
		offset, err := strconv.ParseInt(string(c.Argv[3]), 10, 64)
		if err != nil {
			return commands.ErrNotInteger
		}
		return of(c).Later(c, func() (Reply, error) { return m.Read(id, offset) })
	})
	moveCmd := with(func(m *Member, c *commands.Ctx) error {
		message := commands.Clone(c.Argv[2])
		return of(c).Later(c, func() (Reply, error) { return m.receiveMove(message) })
	})
	row := func(name, summary, complexity string, run func(*commands.Ctx) error, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Server, Since: "1.0.0", Flags: flags, Run: run, Summary: summary, Complexity: complexity, Args: args}
	}
	waits := func(r commands.Row) commands.Row {
		r.Flags |= commands.Blocking
		return r
	}
	return []commands.Row{{Name: "raft", Group: commands.Server, Since: "1.0.0", Summary: "Commands about the raft group that the server is in.",
		Complexity: "Depends on the subcommand.", Sub: []commands.Row{
			row("info", "Tells how this member of the group is.", "O(1)", with(infoCmd)),
			waits(row("members", "Lists the members of the group, and how each of them is; it asks all of them.", "O(N) for N members", replies((*Member).Members))),
			waits(row("snapshot", "Makes a snapshot, and cuts the log off behind it; answers when it is on the disk.", "O(N) for N keys", later(snapshot))),
			waits(row("backup", "Makes a snapshot, and holds it open for RAFT READ; tells which entry and time it stands for.", "O(N) for N keys", replies((*Member).Backup))),
			waits(row("read", "Returns the next piece of a backup, which is an RDB file; behind the end an empty one.", "O(1)", readCmd,
				commands.Str("id"), commands.Int("offset"))),
			waits(row("check", "Compares the data of all members, and tells what was found; answers when those that can be reached were compared.", "O(N) for N keys", replies((*Member).Check))),
			waits(row("add", "Makes a server a member of the group: a learner first, and a voter when it has caught up. Of a member that cannot be reached it changes the addresses.", "O(1)", later(add),
				commands.Str("id"), commands.Str("raft-address"), commands.Str("client-address"))),
			waits(row("remove", "Takes a member out of the group.", "O(1)", later(remove), commands.Str("id"))),
			waits(row("move", "Takes a message of another shard about slots that move. Servers send it to each other.", "O(N) for N bytes", moveCmd,
				commands.Str("message"))),
			waits(row("transfer", "Makes another member the leader.", "O(1)", later(transfer), commands.Opt(commands.Str("id")))),
		}}}
}

func infoCmd(m *Member, c *commands.Ctx) error {
	var t info.Text
	m.WriteInfo(&t)
	c.Out.Verbatim("txt", t.String())
	return nil
}

func add(m *Member, words []string) error {
	if !m.engine.Leads() {
		return m.errNotHere()
	}
	p, err := NewPeer(words[0], words[1], words[2])
	if err == nil {
		err = m.vacant(p)
	}
	if err == nil {
		err = m.engine.Add(p)
	}
	return asReply(err)
}

// vacant returns an error if another member has one of the addresses of p. Two members at one address would
// have two votes, but could give only one.
func (m *Member) vacant(p Peer) error {
	for _, other := range m.Status().Peers {
		switch {
		case other.ID == p.ID:
		case other.Raft == p.Raft:
			return fmt.Errorf("member '%s' has the address %s", other.ID, p.Raft)
		case other.Client == p.Client:
			return fmt.Errorf("member '%s' has the address %s", other.ID, p.Client)
		}
	}
	return nil
}

// remove takes another member out of the group, not the leader itself. A leader could remove itself, and lead
// no more before the others know of it. Then it has the newest log, so that no other member can be elected,
// and it does not stand for election itself. There would be no leader any more, although all members are up.
func remove(m *Member, words []string) error {
	if !m.engine.Leads() {
		return m.errNotHere()
	}
	if !m.knows(words[0]) {
		return commands.Error("ERR no member has this id")
	}
	if words[0] == m.Status().ID {
		return commands.Error("ERR this member leads: have another lead (RAFT TRANSFER), and ask that one to remove it")
	}
	return asReply(m.engine.Remove(words[0]))
}

// WriteInfo writes the section of INFO about the group.
func (m *Member) WriteInfo(t *info.Text) {
	s := m.Status()
	t.Line("raft_id", s.ID)
	t.Line("raft_group", m.options.Group)
	t.Line("raft_group_id", s.Group)
	t.Line("raft_incarnation", s.Incarnation)
	t.Line("raft_waiting", s.Waiting)
	alarms := m.alarms(&s)
	t.Line("raft_alarms", len(alarms))
	t.Line("raft_alarm", strings.Join(texts(alarms), "; "))
	m.Owned.write(m, t)
	for i, a := range alarms {
		t.Line("raft_alarm"+strconv.Itoa(i), "kind="+string(a.Kind)+",text="+a.Text)
	}
	t.Line("raft_role", m.state)
	t.Line("raft_state", s.State)
	t.Line("raft_leader_id", s.Leader.ID)
	t.Line("raft_leader_address", s.Leader.Client)
	t.Flag("raft_serves", m.Serves())
	t.Flag("raft_has_leader", s.Leader.ID != "")
	t.Line("raft_members", len(s.Peers))
	t.Line("raft_term", s.Term)
	t.Line("raft_last_index", s.LastIndex)
	t.Line("raft_commit_index", s.CommitIndex)
	t.Line("raft_applied_index", s.AppliedIndex)
	t.Line("raft_snapshot_index", s.SnapshotIndex)
	t.Line("raft_last_contact_ms", s.ContactMS)
	m.writeDistance(t, &s)
	m.writeTimes(t, &s)
	t.Line("raft_highest_token", max(m.head.Token, m.host.LastToken()))
	t.Line("raft_history_id", m.applied.id)
	t.Line("raft_history_offset", m.applied.offset)
	ahead := int64(0)
	if m.state == leading {
		ahead = m.offset - m.applied.offset
	}
	t.Line("raft_uncommitted_bytes", ahead)
	t.Line("raft_log_bytes_since_snapshot", m.logBytes)
	t.Flag("raft_snapshot_in_progress", m.snapping)
	t.Line("raft_entries", m.counts.entries)
	t.Line("raft_read_proofs", m.counts.proofs)
	t.Line("raft_rebuilds", m.counts.rebuilds)
	t.Line("raft_undone", m.counts.undone)
	t.Line("raft_elections_won", m.counts.elections)
	t.Line("raft_snapshots", m.counts.snapshots)
	m.writeChecks(t, &s)
	t.Line("raft_snapshots_failed", m.counts.failedSnapshots)
	t.Line("raft_last_snapshot_error", oneLineOf(m.attempt.Error))
	t.Line("raft_last_snapshot_time_ms", m.attempt.AtMS)
	t.Line("raft_last_snapshot_index", m.attempt.Index)
	t.Line("raft_last_snapshot_bytes", m.attempt.Bytes)
}
