package server

import (
	"context"
	"errors"

	"lockserver/internal/config"
	"lockserver/persistence/aof"
)

// switchLog obeys what a new configuration says of the log, when CONFIG SET has changed it; it is the last
// thing that may refuse the change. The error is a *config.SetError. Under the executor.
func (srv *Server) switchLog(next *config.Config) error {
	j := srv.aof
	switch {
	case next.AppendOnly && j == nil:
		return srv.switchOn(next)
	case !next.AppendOnly && j != nil:
		srv.switchOff()
	case j != nil:
		j.always = next.AppendFsync == "always"
		srv.followPolicy(next)
		j.log.SetTimestamps(next.AOFTimestampEnabled)
	}
	return nil
}

// followPolicy lets the log be synced as the directives say: as appendfsync has it, or, with
// no-appendfsync-on-rewrite and while a file is written in the background, not at all. Under the executor.
func (srv *Server) followPolicy(c *config.Config) {
	if srv.aof == nil {
		return
	}
	policy := policyOf(c.AppendFsync)
	if c.NoAppendFsyncOnRewrite && (srv.rewrites.running || srv.snapshots.running) {
		policy = aof.No
	}
	if policy != srv.aof.log.Policy() {
		srv.aof.log.SetPolicy(policy)
	}
}

// switchOn begins a log of data that is in memory already. It is in effect when the rewrite that begins now
// has succeeded; until then replies wait for nothing, and a crash leaves what was on disk before.
func (srv *Server) switchOn(next *config.Config) error {
	refused := &config.SetError{Name: "appendonly", Reason: "Unable to turn on AOF. Check server logs."}
	if srv.loading != nil || srv.rewrites.running {
		srv.log.Error("appendonly cannot be switched on while the data is loaded, or a rewrite runs")
		return refused
	}
	before := srv.config
	srv.config = next // which the log is opened by
	defer func() { srv.config = before }()
	dir, err := srv.openLogDir()
	if err != nil {
		srv.log.Error("appendonly cannot be switched on", "cause", err)
		return refused
	}
	srv.handOn()
	j, options := srv.newJournal()
	log, err := dir.Replace(options)
	if err != nil {
		srv.log.Error("appendonly cannot be switched on", "cause", errors.Join(err, dir.Close()))
		return refused
	}
	srv.attach(j, log)
	if srv.snapshots.running {
		srv.rewrites.scheduled = true
		return nil
	}
	if err := srv.startRewrite(); err != nil {
		srv.log.Error("appendonly cannot be switched on", "cause", err)
		srv.switchOff()
		return refused
	}
	return nil
}

// switchOff ends the log; its files stay.
func (srv *Server) switchOff() {
	if srv.rewrites.running {
		srv.rewrites.background.off.Store(true)
	}
	srv.rewrites.scheduled = false
	srv.handOn()
	j := srv.aof
	if err := j.log.Close(); err != nil {
		srv.log.Error("the append-only file could not be closed", "cause", err)
		if j.broken == nil {
			j.breakDown(err)
		}
	}
	srv.detach()
	srv.gate.open(srv.gate.end()) // or it is on disk
}

// errNotActive says that the log does not hold the data yet.
var errNotActive = errors.New("server: the append-only file is being written for the first time")

// syncLog returns when the log is on disk to its end, or with what prevents it; before the server ends.
func (srv *Server) syncLog() error {
	srv.handOn()
	log := srv.aof.log
	err := log.Sync(context.Background())
	if err == nil && !log.Active() { // switched on, and the first rewrite is not over
		err = errNotActive
	}
	if err != nil {
		srv.log.Error("the append-only file could not be synced", "cause", err)
	}
	return err
}
