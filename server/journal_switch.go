package server

import (
	"context"
	"errors"

	"lockserver/internal/config"
	"lockserver/persistence/aof"
)

// switchLog obeys what a new configuration says of the log, when CONFIG SET has changed it; it is the last
// thing that may refuse the change. The error is a *config.SetError. Under the executor.
func (ex *executor) switchLog(next *config.Config) error {
	j := ex.aof
	switch {
	case next.AppendOnly && j == nil:
		return ex.switchOn(next)
	case !next.AppendOnly && j != nil:
		ex.switchOff()
	case j != nil:
		j.always = next.AppendFsync == "always"
		ex.followPolicy(next)
		j.log.SetTimestamps(next.AOFTimestampEnabled)
	}
	return nil
}

// followPolicy lets the log be synced as the directives say: as appendfsync has it, or, with
// no-appendfsync-on-rewrite and while a file is written in the background, not at all. Under the executor.
func (ex *executor) followPolicy(c *config.Config) {
	if ex.aof == nil {
		return
	}
	policy := policyOf(c.AppendFsync)
	if c.NoAppendFsyncOnRewrite && (ex.rewrites.running || ex.snapshots.running) {
		policy = aof.No
	}
	if policy != ex.aof.log.Policy() {
		ex.aof.log.SetPolicy(policy)
	}
}

// switchOn begins a log of data that is in memory already. It is in effect when the rewrite that begins now
// has succeeded; until then replies wait for nothing, and a crash leaves what was on disk before.
func (ex *executor) switchOn(next *config.Config) error {
	refused := &config.SetError{Name: "appendonly", Reason: "Unable to turn on AOF. Check server logs."}
	if ex.loading != nil || ex.rewrites.running {
		ex.log.Error("appendonly cannot be switched on while the data is loaded, or a rewrite runs")
		return refused
	}
	before := ex.config
	ex.config = next // which the log is opened by
	defer func() { ex.config = before }()
	dir, err := ex.openLogDir()
	if err != nil {
		ex.log.Error("appendonly cannot be switched on", "cause", err)
		return refused
	}
	ex.handOn()
	j, options := ex.newJournal()
	log, err := dir.Replace(options)
	if err != nil {
		ex.log.Error("appendonly cannot be switched on", "cause", errors.Join(err, dir.Close()))
		return refused
	}
	ex.attach(j, log)
	if ex.snapshots.running {
		ex.rewrites.scheduled = true
		return nil
	}
	if err := ex.startRewrite(); err != nil {
		ex.log.Error("appendonly cannot be switched on", "cause", err)
		ex.switchOff()
		return refused
	}
	return nil
}

// switchOff ends the log; its files stay.
func (ex *executor) switchOff() {
	if ex.rewrites.running {
		ex.rewrites.background.off.Store(true)
	}
	ex.rewrites.scheduled = false
	ex.handOn()
	j := ex.aof
	if err := j.log.Close(); err != nil {
		ex.log.Error("the append-only file could not be closed", "cause", err)
		if j.broken == nil {
			j.breakDown(err)
		}
	}
	ex.detach()
	ex.gate.open(ex.gate.end()) // or it is on disk
}

// errNotActive says that the log does not hold the data yet.
var errNotActive = errors.New("server: the append-only file is being written for the first time")

// syncLog returns when the log is on disk to its end, or with what prevents it; before the server ends.
func (ex *executor) syncLog() error {
	ex.handOn()
	log := ex.aof.log
	err := log.Sync(context.Background())
	if err == nil && !log.Active() { // switched on, and the first rewrite is not over
		err = errNotActive
	}
	if err != nil {
		ex.log.Error("the append-only file could not be synced", "cause", err)
	}
	return err
}
