package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/persistence"
	"lockserver/server/acl"
	"lockserver/server/cluster"
	"lockserver/server/durability"
	"lockserver/server/gate"
	"lockserver/server/groups"
	"lockserver/server/pubsub"
	"lockserver/server/raft"
	"lockserver/server/slotdata"
	"lockserver/server/topology"
	"lockserver/store"
)

// raftHost is the executor as the member of a group sees it.
type raftHost struct{ *executor }

var _ raft.MemberServer = raftHost{}

// Locked implements raft.MemberServer.
func (h raftHost) Locked(f func()) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	f()
}

// Slice implements raft.MemberServer.
func (h raftHost) Slice(f func()) { replicationHost(h).Slice(f) }

// Background implements raft.MemberServer.
func (h raftHost) Background(f func()) { h.host.background(f) }

// Log implements raft.MemberServer.
func (h raftHost) Log() *slog.Logger { return h.Logger }

// NowMS implements raft.MemberServer.
func (h raftHost) NowMS() int64 { return h.Store.NowMS() }

// MachineMS implements raft.MemberServer.
func (h raftHost) MachineMS() int64 { return h.opts.Clock.NowUS() / 1000 }

// Apply implements raft.MemberServer.
func (h raftHost) Apply(db int, argv [][]byte) error {
	err := replicationHost(h).Apply(db, argv)
	if errors.Is(err, errClosed) {
		return raft.ErrEnding
	}
	return err
}

// Gate implements raft.MemberServer.
func (h raftHost) Gate() *gate.Gate { return &h.Gates.Copied }

// SetTime implements raft.MemberServer.
func (h raftHost) SetTime(leastMS int64) {
	h.steered.Set(leastMS * 1000)
	h.Begin()
}

// Records implements raft.MemberServer.
func (h raftHost) Records(on bool) { h.Durable.RecordHistory(on) }

// Undo implements raft.MemberServer.
func (h raftHost) Undo() raft.Undo { return h.Store.Undo() }

// Replace implements raft.MemberServer.
func (h raftHost) Replace(from io.Reader) (at persistence.History, agreed persistence.Agreed, err error) {
	h.Slice(func() {
		if from == nil {
			h.Durable.Forget()
		} else {
			var got persistence.Loaded
			got, err = h.Durable.Receive(durability.Incoming{From: from})
			at, agreed = got.History, got.Agreed
			h.Begin() // time has passed
		}
		h.EndUnit()
	})
	return at, agreed, err
}

// Cut implements raft.MemberServer.
func (h raftHost) Cut(at persistence.History, agreed persistence.Agreed) raft.DataCut {
	c := h.Durable.Copy(at, true, true)
	c.Tell(agreed)
	return c
}

// Followed implements raft.MemberServer.
func (h raftHost) Followed(follows bool) {
	// plant:raft-followed
	replicationHost(h).Followed(follows)
	if follows {
		h.sendOn()
	}
}

// sendOn closes the connections that would wait at this member for what only a leader does: those that are
// attached to owners, and those that listen. They connect to the new one. A client that listens for where
// the master is has come to the right place. Others a Sentinel closes, too, and libraries count on that:
// Redisson goes on with the connections that it has.
func (ex *executor) sendOn() {
	bySentinel := ex.group.IsSentinel()
	for _, s := range ex.clients {
		asks := s.lastRow != nil && s.lastRow.Group == commands.Sentinel || s.subs != nil && (s.subs.Has(pubsub.Channel, topology.SwitchChannel) || s.subs.Len(pubsub.Pattern) > 0)
		operates := s.Waiter != nil && s.Waiter.Row.Group == commands.Server // RAFT TRANSFER
		switch {
		case bySentinel && (asks || operates):
		case bySentinel, s.Attachments.Len() > 0, s.subs != nil:
			ex.terminate(s)
		}
	}
}

// HoldWrites implements raft.MemberServer.
func (h raftHost) HoldWrites(on bool) { h.holdWrites(on) }

// HoldAll implements raft.Host.
func (h raftHost) HoldAll() {
	h.holdWrites(true)
	h.Pausing.All = true
}

// TryAgain implements raft.MemberServer.
func (h raftHost) TryAgain() { h.Pausing.TryAgain() }

// LastToken implements raft.MemberServer.
func (h raftHost) LastToken() int64 { return h.Durable.LastToken() }

// SeeToken implements raft.MemberServer.
func (h raftHost) SeeToken(token int64) { h.Durable.SeeToken(token) }

// RecursAt implements raft.MemberServer.
func (h raftHost) RecursAt(db int, key []byte) bool { return h.Store.DB(db).Peek(key).Recurs() }

// HasLeases implements raft.MemberServer.
func (h raftHost) HasLeases() bool {
	for db := range h.Store.Len() {
		if keys := h.Store.DB(db).Keys(); keys.Holders() > 0 || keys.Timed()+keys.TimedHashes() > 0 {
			return true
		}
	}
	_, held := h.Store.NextAlarmMS(store.HoldAlarm)
	return held
}

// A new leader moves deadlines on by the time without a leader, since no client could renew anything. The
// deadlines of keys and fields, and the leases of exclusive locks, are found here in pieces (eachMoved). If
// there are many, the member moves them by entries of its log before it leads (MovedOn). A few are moved when
// it begins to lead (ExtendLeases). That moves shared leases and the holds of orders, too.

// movedPerUnit is how many deadlines one unit moves. A follower collects all of a unit, and then others wait
// until it is applied.
const movedPerUnit = 1000

// Deadlines implements raft.MemberServer.
func (h raftHost) Deadlines(all bool) (n int) {
	for id := range h.Store.Len() {
		if keys := h.Store.DB(id).Keys(); all {
			n += keys.Timed() + keys.TimedHashes()
		} else {
			n += keys.Holders()
		}
	}
	return n
}

// MovedOn implements raft.MemberServer.
func (h raftHost) MovedOn(from raft.Cursor, byMS int64, all bool) (units []raft.Effects, next raft.Cursor) {
	var unit raft.Effects
	next = h.eachMoved(from, movedPerUnit, all, func(db *store.DB, key, field []byte, atMS int64) {
		at := strconv.AppendInt(nil, atMS+byMS, 10)
		e := store.Effect{DB: db.ID(), Args: [][]byte{[]byte("PEXPIREAT"), key, at}}
		if field != nil {
			e.Args = [][]byte{[]byte("HPEXPIREAT"), key, at, []byte("FIELDS"), []byte("1"), field}
		}
		if unit = append(unit, e); len(unit) == movedPerUnit {
			units, unit = append(units, unit), nil
		}
	})
	if len(unit) > 0 {
		units = append(units, unit)
	}
	return units, next
}

// MoveDeadlines implements raft.MemberServer.
func (h raftHost) MoveDeadlines(from raft.Cursor, byMS int64, all bool) raft.Cursor {
	h.Store.SetFrozenTime(true) // deadlines that have passed by this machine's clock are moved, too
	defer h.Store.SetFrozenTime(false)
	return h.eachMoved(from, movedPerSlice, all, moveBy(byMS))
}

// movedPerSlice is how many deadlines MoveDeadlines moves at most while others wait.
const movedPerSlice = 20_000

// moveBy returns a visitor of eachMoved that moves a deadline on.
func moveBy(byMS int64) func(db *store.DB, key, field []byte, atMS int64) {
	return func(db *store.DB, key, field []byte, atMS int64) {
		if field == nil {
			db.Expire(key, atMS+byMS)
			return
		}
		e := db.EditHash(key)
		e.ExpireField(field, atMS+byMS)
	}
}

// ExtendLeases implements raft.MemberServer. Leases that the server renews have begun anew (promoted). Buyers
// could not pay while there was no leader, as no client could renew a lease.
func (h raftHost) ExtendLeases(g raft.Gap) {
	if g.MS <= 0 {
		return
	}
	h.Store.SetFrozenTime(true) // a lease that has ended since the last leader died is among them
	defer h.Store.SetFrozenTime(false)
	moved := 0
	count := func() {
		if moved++; moved%movedPerUnit == 0 {
			h.HandOn()
		}
	}
	if byMS := g.MS - g.MovedMS; byMS > 0 {
		var from raft.Cursor
		for !from.AtEnd() {
			move := moveBy(byMS)
			from = h.eachMoved(from, movedPerUnit, g.All, func(db *store.DB, key, field []byte, atMS int64) {
				move(db, key, field, atMS)
				count()
			})
		}
	}
	for id := range h.Store.Len() {
		extendShares(h.Store.DB(id), g.MS, count)
		// plant:raft-extend-holds
		commands.ShiftHolds(h.Store.DB(id), g.MS)
	}
	if moved > 0 {
		h.Logger.Info("raft: deadlines were moved on by the time without a leader", "deadlines", moved, "by-ms", g.MS)
	}
}

// extendShares moves the leases of all shared holders. moved is called for each.
func extendShares(db *store.DB, byMS int64, moved func()) {
	var all []string
	db.Keys().EachToken(func(key string, r store.LiveRef) bool {
		if l := commands.StateOf(r); l.Shares > 0 {
			all = append(all, key)
		}
		return true
	})
	for _, key := range all {
		commands.ShiftShares(db, []byte(key), byMS, false, moved)
	}
}

// eachMoved visits the deadlines to be moved, in pieces: from a cursor on, and a bounded number of keys. With
// all it visits more than the leases of exclusive locks with a token. visit gets a key or, with a field, a
// field of a hash, and its deadline. It may change that one.
func (h raftHost) eachMoved(from raft.Cursor, most int, all bool, visit func(db *store.DB, key, field []byte, atMS int64)) raft.Cursor {
	if from.DB >= h.Store.Len() {
		return raft.Cursor{DB: -1}
	}
	db := h.Store.DB(from.DB)
	keys := db.Keys()
	if keys.Timed()+keys.TimedHashes() == 0 {
		return raft.Cursor{DB: from.DB + 1}
	}
	from.Key = keys.TimedFrom(from.Key, most, func(key string, r store.Ref) {
		l := commands.StateOf(store.LiveRef{Ref: r}) // with overdue holders: their leases are moved on, too
		isLock := l.Shares > 0 || l.Holds > 0 && l.Token > 0
		if isLock && (l.Shares > 0 || l.Watched) || !isLock && !all {
			return
		}
		var fields []timedField
		if !isLock && r.Is(store.Hash) && r.Hash().Timed() > 0 {
			fields = timedFields(r)
		}
		if at := r.DeadlineMS(); at != 0 {
			// plant:raft-move-deadlines
			visit(db, []byte(key), nil, at)
		}
		for _, f := range fields {
			// plant:raft-move-fields
			visit(db, []byte(key), f.name, f.atMS)
		}
	})
	if from.Key < 0 {
		return raft.Cursor{DB: from.DB + 1}
	}
	return from
}

// timedField is a field of a hash with a deadline.
type timedField struct {
	name []byte
	atMS int64
}

// timedFields are the fields of a hash that have a deadline.
func timedFields(r store.Ref) (all []timedField) {
	r.Hash().EachTimed(func(field, _ []byte, atMS int64) bool {
		if atMS > 0 {
			all = append(all, timedField{commands.Clone(field), atMS})
		}
		return true
	})
	return all
}

// Seen implements raft.MemberServer: clients get the new view.
func (h raftHost) Seen(s raft.Status) {
	if h.group == nil {
		return
	}
	if in := h.opts.inCluster; in != nil {
		in.Seen(&s)
		return
	}
	v := topology.View{Term: int64(s.Term), AtMS: h.Clock.NowUS() / 1000}
	for _, p := range s.Peers {
		host, port, _ := net.SplitHostPort(p.Client)
		number, _ := strconv.Atoi(port)
		v.Members = append(v.Members, topology.Member{ID: topology.NodeID(p.ID), Host: host, Port: number, Up: true})
		if p.ID == s.Leader.ID {
			v.Leader = topology.NodeID(p.ID)
		}
	}
	if err := h.group.Update(v); err != nil {
		h.Logger.Error("raft: clients cannot learn of the group", "cause", err)
	}
}

// NewStaging implements raft.MemberServer.
func (h raftHost) NewStaging(slots []cluster.Range) *slotdata.Staging {
	return slotdata.NewStaging(h.Store, slotdata.SlotsOf(slots))
}

// ApplyTo implements raft.MemberServer.
func (h raftHost) ApplyTo(db *store.DB, argv [][]byte) error {
	if h.Failed != nil {
		return h.Failed
	}
	return h.ofMaster().applyTo(db, argv)
}

// TakeStaging implements raft.MemberServer.
func (h raftHost) TakeStaging(s *slotdata.Staging, most int) (left int) { return s.Take(h.Store, most) }

// MayOwn implements raft.MemberServer.
func (h raftHost) MayOwn(slots string) error { return groups.MayOwn(h.Store.DB(0), slots) }

// Cluster implements raft.MemberServer.
func (h raftHost) Cluster() raft.ClusterState {
	if h.opts.inCluster == nil {
		return raft.ClusterState{}
	}
	return h.opts.inCluster.State()
}

// DropClients implements raft.MemberServer.
func (h raftHost) DropClients() {
	for _, s := range h.clients {
		h.terminate(s)
	}
}

// raftOf returns the server's part of a raft group.
func raftOf(c *commands.Ctx) raft.Asked { return raftAsked{sessionOf(c)} }

// raftAsked is a session that asks about the group.
type raftAsked struct{ session *session }

// Member implements raft.Asked.
func (a raftAsked) Member() *raft.Member { return a.session.executor.Member }

// Later implements raft.Asked.
func (a raftAsked) Later(c *commands.Ctx, work func() (raft.Reply, error)) error {
	s, ex := a.session, a.session.executor
	over := false
	var answer raft.Reply
	var err error
	reply := func(c *commands.Ctx) {
		if over && err == nil {
			answer(c)
		}
	}
	cause := c.Block(commands.Wait{TimedOut: reply, Try: func(c *commands.Ctx) (bool, error) {
		if !over {
			return false, nil
		}
		reply(c)
		return true, err
	}})
	if w := s.Waiter; w != nil {
		ex.host.background(func() {
			is, failed := work()
			ex.Do(func() {
				w.Over(failed)
				if over, answer, err = true, is, failed; s.Waiter == w {
					ex.Waits.Try(w)
				}
			})
		})
	}
	return cause
}

// The users of a raft group: package raft has them in its log, and package acl knows what a change means.

// Shared implements acl.Directory.
func (h usersHost) Shared() bool {
	m := h.executor.Member
	return m != nil && m.SharesUsers()
}

// Agree implements acl.Directory. The client that asks must be allowed to still when the change is made once
// more, because another one came first.
func (h usersHost) Agree(c *commands.Ctx, change func(draft *acl.Users) error, reply func(c *commands.Ctx)) error {
	s, ex := h.session, h.executor
	if err := change(ex.users.Draft()); err != nil {
		return err
	}
	if !ex.Member.Serves() {
		if ex.group != nil {
			if err := ex.group.Redirect(&s.place, &topology.Call{Reads: true}); err != nil {
				return err
			}
		}
		return notLeading(ex)
	}
	if !c.MayBlock {
		return commands.ErrUsersHeld
	}
	row, argv := c.Row, commands.CloneAll(c.Argv)
	return raftAsked{s}.Later(c, func() (raft.Reply, error) {
		err := ex.Member.ChangeUsers(func() ([]string, error) {
			if err := s.permit(row, argv, acl.TopLevel); err != nil {
				return nil, err
			}
			draft := ex.users.Draft()
			if err := change(draft); err != nil {
				return nil, err
			}
			return draft.Lines(), nil
		})
		return reply, err
	})
}

// SetUsers implements raft.MemberServer. The password of the user default stays that of requirepass-file, and
// a password in requirepass that does not count any more is forgotten.
func (h raftHost) SetUsers(lines []string, late bool) {
	ex := h.executor
	before := ex.users.Lines()
	changes, faults := ex.users.Adopt(lines)
	for _, fault := range faults {
		ex.Logger.Error("a user of the raft group is off on this member, which does not know all rules of the user", "cause", fault)
	}
	c := ex.config
	switch {
	case c.RequirePassFile != "":
		ex.users.SetDefaultPassword(c.RequirePass)
	case c.RequirePass != "" && ex.users.HasOtherPassword(c.RequirePass):
		setRequirePass(ex, "")
	}
	if late && (len(c.Users) > 0 || c.RequirePass != "") {
		warnOfOtherUsers(ex, before)
	}
	var moves acl.Directory = usersHost{executor: ex}
	for _, change := range changes {
		moves.Move(change)
	}
}

// OtherUsers implements raft.MemberServer. The password of the user default may be that of requirepass-file.
func (h raftHost) OtherUsers(lines []string) []string {
	names := h.executor.users.Others(lines)
	if h.executor.config.RequirePassFile == "" {
		return names
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == acl.DefaultName })
}

// warnOfOtherUsers logs which users of the configuration do not count, because the group has others.
func warnOfOtherUsers(ex *executor, configured []string) {
	var names []string
	now := ex.users.Lines()
	for _, line := range configured {
		if name, _, _ := strings.Cut(line, " "); !slices.Contains(now, line) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		ex.Logger.Warn("users of the configuration do not count: they are others than those of the raft group", "users", strings.Join(names, " "))
	}
}

// Errors of a server that is in a group.
const (
	errNoLeader topology.Redirection = "CLUSTERDOWN The raft group has no leader that a majority of its members knows"
	// errLeadsNoMore is for who waits: clients of a cluster ask again, and then who leads. UNBLOCKED, as
	// after a REPLICAOF, they give to the program.
	errLeadsNoMore  topology.Redirection = "CLUSTERDOWN This member of the raft group leads no more"
	errGroupDecides commands.Error       = "ERR this server is a member of a raft group, which decides who leads and who has the data"
	errGroupKeeps   commands.Error       = "ERR this server is a member of a raft group, which keeps the data in its own log and snapshots (RAFT SNAPSHOT)"
)

// refusedByGroup says what speaks against a command because of the group that this server is a member of. The
// age of its data was looked at before (redirect).
func (s *session) refusedByGroup(row *commands.Row, flags commands.Flags) error {
	ex, m := s.executor, s.executor.Member
	switch {
	case row.Group == commands.Server && slices.Contains(decidedByGroup, row.Name):
		return errGroupDecides
	case row.Group == commands.Server && slices.Contains(keptInLog, row.Name):
		return errGroupKeeps
	case m.Serves(), flags&keyspace == 0 && (row.Group != commands.Scripting || len(row.Keys()) == 0): // SCRIPT LOAD
		return nil
	case m.Failed() != nil:
		return commands.Error(groupView{ex}.downWord() + " This member of the raft group has stopped, see its log: " + m.Failed().Error())
	case m.Rebuilding():
		return commands.ErrLoading
	case m.Undecided() != nil:
		return commands.Error(groupView{ex}.downWord() + " No member of the raft group serves: " + m.Undecided().Error())
	case s.mayRead(row, flags):
		return nil
	}
	if err := (groupView{ex}).waitsForGroup(); err != nil {
		return err
	}
	return notLeading(ex)
}

// notLeading is the error of a member that does not lead, for a client that is not sent on.
func notLeading(ex *executor) error {
	leader, ok := ex.Member.Leader()
	switch { // or this one was elected and does not serve yet
	case !ok && ex.group.IsSentinel():
		return commands.ErrMasterDown
	case !ok, ex.group.IsCluster():
		return errNoLeader
	}
	return commands.Error("READONLY This member of the raft group does not lead: " + leader.ID + " does, at " + leader.Client)
}

// awaitsLeader reports whether a command that is refused can wait, because in a moment it is known which
// member serves.
func (ex *executor) awaitsLeader(err error) bool {
	return ex.Member != nil && err != nil && !ex.Busy.On && errors.As(err, new(topology.Redirection)) && ex.Member.AwaitsLeader()
}

// downWord begins an error of a group that does not serve.
func (m groupView) downWord() string {
	if m.group.IsSentinel() {
		return "MASTERDOWN"
	}
	return "CLUSTERDOWN"
}

// raftOptions say how the server behaves as a member.
func (ex *executor) raftOptions() raft.MemberOptions {
	o := ex.opts.RaftOptions
	o.Group, o.CertificateEnds = ex.config.Raft.Group, ex.certificateEnds
	o.Slots = groups.Claim(&ex.config.Groups)
	o.OwnUsers = ex.config.ACLFile != "" || ex.config.Raft.Users == "own"
	return o
}

// certificateEnds returns when the first certificate for clients or for members of the raft group ends, or
// zero.
func (ex *executor) certificateEnds() (first time.Time) {
	if ex.config.TLS.Port != 0 {
		first = ex.encryption.Ends()
	}
	if among := ex.opts.RaftOptions.CertificateEnds; among != nil {
		if at := among(); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// decidedByGroup are the commands of replication.
var decidedByGroup = []string{"replicaof", "slaveof", "failover", "psync", "sync"}

// keptInLog are the commands about files that a member does not have.
var keptInLog = []string{"save", "bgsave", "bgrewriteaof"}

// kept are the directives about what a server keeps. A group decides these for itself.
var kept = []string{"appendonly", "appendfsync", "save", "dir", "dbfilename", "min-replicas-ack", "min-replicas-to-write"}

// keptByGroup refuses directives that have no say in a group. The error is a *config.SetError.
func (ex *executor) keptByGroup(names []string) error {
	if name := named(names, kept...); ex.Member != nil && name != "" {
		return &config.SetError{Name: name, Reason: "it has no effect in a raft group: its log has every write on a majority's disks before it is answered"}
	}
	return nil
}

// joinable says what in the configuration keeps the server from being a member of a group, and takes away
// what would have no say.
func joinable(c *config.Config) error {
	switch {
	case c.AppendOnly:
		return fmt.Errorf("raft-id and appendonly yes exclude each other: the group's log takes the place of the append-only file")
	case c.Replication.MasterHost != "":
		return fmt.Errorf("raft-id and replicaof exclude each other: the group decides who leads")
	case c.Replication.MinAck > 0 || c.Replication.MinToWrite > 0:
		return fmt.Errorf("raft-id excludes min-replicas-ack and min-replicas-to-write: the group's majority decides")
	}
	c.Save, c.DBFilename = nil, ""
	return nil
}

// startMember makes the server a member of its group, with the data that the group has.
func (ex *executor) startMember() error {
	if ex.Member == nil {
		return nil
	}
	if in := ex.opts.inCluster; in != nil {
		in.Start()
		ex.host.background(func() { ex.movers.Run(ex.host.ending()) })
	}
	return ex.Member.Start()
}

var _ interface{ Append([]store.Effect) } = (*raft.Member)(nil)
