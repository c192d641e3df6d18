package server

import (
	"fmt"

	"lockserver/commands"
	"lockserver/internal/lockhistory"
	"lockserver/persistence/disk"
	"lockserver/server/replication"
	"lockserver/server/shard"
	"lockserver/server/wait"
	"lockserver/store"
)

// The role of the server, master or replica, and the effects of a change of role on clients and leases. The
// messages between the two are in package replication.

// role returns the role of the server, as HELLO says it to the session.
func (s *session) role() string {
	ex := s.executor
	if ex.group.IsMember() {
		return ex.group.Role(&s.place)
	}
	if ex.Follows {
		return "replica"
	}
	return "master"
}

// tellRole tells the program around the server which role that has.
func tellRole(ex *executor) {
	if ex.opts.RoleChanged == nil {
		return
	}
	role := "primary"
	switch {
	case ex.Member != nil && ex.Follows:
		role = "follower"
	case ex.Member != nil:
		role = "leader"
	case ex.Follows:
		role = "replica"
	}
	ex.opts.RoleChanged(role)
}

// replicate begins to follow the master of the configuration, at the place of the loaded data in its history.
func (ex *executor) replicate() {
	at := ex.config.Replication
	if at.MasterHost != "" {
		ex.Replication.Follow(at.MasterHost, at.MasterPort)
	}
	ex.Durable.TellPlace()
}

// Scratch implements replication.NodeServer.
func (h replicationHost) Scratch() (files disk.FS, path string, keeps bool) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	files, path = h.Durable.Scratch(h.NewID())
	return files, path, h.Durable.KeepsReceived()
}

// Has implements replication.NodeServer.
func (h replicationHost) Has(of replication.Features) (f replication.Features) {
	for id := range h.Store.Len() {
		if db := h.Store.DB(id); db.Keys().TimedHashes() > 0 {
			f |= replication.FieldDeadlines
		}
		if h.Store.DB(id).Keys().Blooms() > 0 {
			f |= replication.BloomFilters
		}
		if of&replication.RecurringEntries != 0 && commands.Recurs(h.Store.DB(id)) {
			f |= replication.RecurringEntries
		}
	}
	return f & of
}

// RecursAt implements replication.NodeServer.
func (h replicationHost) RecursAt(db int, key []byte) bool { return raftHost(h).RecursAt(db, key) }

// Ends implements replication.NodeServer.
func (h replicationHost) Ends() bool { return h.shutdown.waits }

// ofMaster returns the applier that runs the commands of the master's history.
func (ex *executor) ofMaster() applier {
	if ex.applier == nil {
		ex.applier = ex.newReplayer()
	}
	return ex.applier
}

// client implements applier.
func (r *replayer) client() *session { return r.session }

// apply implements applier.
func (r *replayer) apply(db int, argv [][]byte) error {
	ex := r.executor
	if r.session.DB = ex.Store.DB(db); r.session.DB == nil {
		return fmt.Errorf("there is no database %d here", db)
	}
	r.settings.Events = ex.Settings.Events
	ex.Store.SetFrozenTime(true)
	defer ex.Store.SetFrozenTime(false)
	row, err := r.resolve(argv)
	if err == nil && row == nil { // no master sends it
		err = fmt.Errorf("%.40q changes no data and has no place in a history", argv[0])
	}
	if err == nil {
		r.session.lastRow = row
		err = ex.CountNested(row, func() error { return r.run(row, argv) })
	}
	if err != nil {
		return err
	}
	if len(ex.monitors) > 0 && ex.masterClient() != nil {
		ex.show(r.session, row, db, argv)
	}
	return nil
}

// applyTo implements applier.
func (r *replayer) applyTo(db *store.DB, argv [][]byte) error {
	r.session.DB = db
	r.settings.Events = 0
	row, err := r.resolve(argv)
	if err == nil && row == nil {
		err = fmt.Errorf("%.40q changes no data and has no place in a stream of slots", argv[0])
	}
	if err != nil {
		return err
	}
	return r.run(row, argv)
}

// masterClient returns the link to the master, as one of the clients, or nil.
func (ex *executor) masterClient() *session {
	conn, sinceMS, silentMS := ex.Replication.MasterConn()
	if conn == nil {
		return nil
	}
	s := ex.ofMaster().client()
	if local := addrText(conn.LocalAddr()); !s.isMaster || s.Info.LocalAddr != local || s.Info.CreatedUS != sinceMS*1000 {
		ex.lastID++
		s.Number, s.isMaster = ex.lastID, true
		s.Info = wait.ClientInfo{Addr: addrText(conn.RemoteAddr()), LocalAddr: local, FD: -1, CreatedUS: sinceMS * 1000}
	}
	s.Info.LastUS = ex.Store.NowUS() - silentMS*1000
	return s
}

// openAcks connects the acknowledgements of replicas with the server.
func (ex *executor) openAcks() {
	ex.Acks.Open(shard.AcksDoor{
		Gate:   &ex.Gates.Copied,
		Offset: ex.Replication.Offset,
		Acked: func() (offset int64, all bool) {
			n := ex.config.Replication.MinAck
			if n <= 0 {
				return 0, true
			}
			return ex.Replication.AckedBy(n), false
		},
		Apart: func() bool { return ex.Follows || ex.Member != nil },
	})
}

// copiesDue is the position of the history that other servers must have before the output of a slice leaves;
// 0: it need not wait for them.
func (ex *executor) copiesDue(s *session) int64 {
	switch {
	case ex.Member != nil:
		return ex.Member.Due()
	case s.link.replica != nil:
		return 0
	}
	return ex.Acks.Due()
}

// acknowledged is called when a replica has acknowledged more.
func (ex *executor) acknowledged() {
	ex.Waits.AnswerWaits()
	ex.Acks.Release()
	ex.shutdown.resume()
}

// demoted makes the server a replica: nothing is done by itself any more.
func (ex *executor) demoted() {
	if ex.Follows {
		return
	}
	ex.Acks.Lose()
	ex.Follows, ex.Waits.Follows = true, true
	ex.Store.SetFollows(true)
	ex.applyConfig()
	ex.unblockAll()
	ex.Waits.Demoted()
	tellRole(ex)
}

// unblockAll ends all waits for data, and, as in Redis, the connections of the waiters, which are to look for
// the leader. Members of a group say that themselves.
func (ex *executor) unblockAll() {
	cause := error(commands.ErrDemoted)
	if ex.group.IsCluster() {
		cause = errLeadsNoMore
	}
	for _, s := range ex.clients {
		if s.Waiter != nil && s.Waiter.Row.Group != commands.Server { // RAFT TRANSFER waits for just that
			s.Closing = s.Closing || ex.group == nil && ex.Member == nil
			ex.Waits.RefuseFor(lockhistory.Failover)
			ex.Waits.Answer(s.Waiter, func(*commands.Ctx) error { return cause })
		}
	}
}

// promoted makes the server a master. Events that have fallen due meanwhile happen now, except the ends of
// renewed leases: each such lease begins again, so that its holder can come back.
func (ex *executor) promoted() {
	if !ex.Follows {
		return
	}
	ex.Follows, ex.Waits.Follows = false, false
	ex.Counts.Delayed.SinceMS = ex.Store.NowMS()
	ex.Waits.LockEvents.Restart(ex.Store.NowUS(), "failover")
	tellRole(ex)
	ex.Acks.Raise()
	ex.Store.SetFollows(!ex.EndsThings())
	ex.applyConfig()
	ex.Waits.BeginLeasesAnew()
}
