package server

import (
	"slices"

	"lockserver/commands"
	"lockserver/persistence"
)

// How a server ends on request: it waits for its replicas (shutdown-timeout) while writes are held, saves
// what there is to save, and ends. If it cannot save it goes on.

// shutdown is one that waits for replicas. It is only touched under the executor.
type shutdown struct {
	waits   bool
	options ShutdownOptions
	endMS   int64 // when the replicas have had their time
	timer   timer
	// These functions get the result, for the callers that asked for the shutdown; nil: the server ends.
	callbacks []func(err error)
	// refused counts the shutdowns that failed or were called off. Clients that have waited since before get
	// an answer.
	refused int
}

func shutdownCmd(c *commands.Ctx) error {
	a := c.Args()
	var o ShutdownOptions
	abort, words := false, 0
	for ; a.More(); words++ {
		switch a.Option() {
		case "SAVE":
			o.Save = true
		case "NOSAVE":
			o.NoSave = true
		case "NOW":
			o.Now = true
		case "FORCE":
			o.Force = true
		case "ABORT":
			abort = true
		}
	}
	if o.Save && o.NoSave || abort && words > 1 {
		a.Syntax()
	}
	if err := a.Err(); err != nil {
		return err
	}
	s := sessionOf(c)
	ex := s.executor
	switch {
	case abort && !ex.shutdown.waits:
		return commands.ErrNoShutdown
	case abort:
		ex.log.Info("Shutdown manually aborted.")
		ex.stay(errAborted)
		c.Out.OK()
		return nil
	case ex.busy.on && !o.NoSave:
		return ex.scripts.BusyError()
	}
	if waits, err := ex.shutDown(o, nil); err != nil {
		return commands.ErrShutdown
	} else if waits {
		return s.awaitShutdown(c)
	}
	s.closing = true
	return nil
}

// awaitShutdown lets a client wait for a shutdown that waits for replicas. The client gets a reply only if
// that fails.
func (s *session) awaitShutdown(c *commands.Ctx) error {
	sd := &s.executor.shutdown
	before := sd.refused
	refuse := func(c *commands.Ctx) { c.Out.Error(commands.ErrShutdown.Error()) }
	err := c.Block(commands.Wait{TimedOut: refuse, Try: func(*commands.Ctx) (bool, error) {
		if sd.refused == before {
			return false, nil
		}
		return true, commands.ErrShutdown
	}})
	if s.waiter != nil {
		s.executor.syncing.enter(s.waiter)
	}
	return err
}

// shutDown ends the server, or begins to. If it waits for replicas, tell is called with the result; nil: it
// is not called.
func (ex *executor) shutDown(o ShutdownOptions, tell func(err error)) (waits bool, err error) {
	sd := &ex.shutdown
	if ex.failed != nil {
		ex.host.requestStop(0)
		return false, nil
	}
	if !sd.waits {
		ex.log.Info("User requested shutdown...")
		ex.enter(PhaseEnding)
		ex.handOn() // what this slice has done so far, replicas are to have, too
		leads := ex.member != nil && ex.member.Serves()
		if o.Now || ex.config.ShutdownTimeoutMS == 0 || ex.busy.on || ex.replication.InStep() && !leads {
			return false, ex.saveAndEnd(o)
		}
		if leads {
			ex.log.Info("Handing the lead of the raft group on before shutting down.")
		} else {
			ex.log.Info("Waiting for replicas before shutting down.")
		}
		*sd = shutdown{waits: true, options: o, endMS: ex.store.NowMS() + ex.config.ShutdownTimeoutMS, refused: sd.refused}
		sd.timer.Of = sd
		ex.timers.set(&sd.timer, sd.endMS)
		if leads {
			ex.handOver()
		} else {
			ex.replication.AskAcks()
			ex.holdForShutdown(true)
		}
	}
	if tell != nil {
		sd.callbacks = append(sd.callbacks, tell)
	}
	return true, nil
}

// handOver makes another member of the group the leader, so that a planned end costs clients no election.
// Then it goes on with the shutdown, unless that was called off. If no member can lead, the others elect one
// when this server is gone.
func (ex *executor) handOver() {
	before := ex.shutdown.refused
	ex.host.background(func() {
		if err := ex.member.HandOver(); err != nil {
			ex.log.Warn("raft: the lead could not be handed on", "cause", err)
		}
		ex.do(func() {
			if sd := &ex.shutdown; sd.waits && sd.refused == before {
				ex.endWaiting()
			}
		})
	})
}

// fire implements firer: the replicas have had their time.
func (sd *shutdown) fire(ex *executor) { ex.endWaiting() }

// goOnShuttingDown ends a server that waits for replicas, if they have everything.
func (ex *executor) goOnShuttingDown() {
	if ex.shutdown.waits && ex.replication.InStep() {
		ex.endWaiting()
	}
}

// endWaiting ends a server that has waited for its replicas.
func (ex *executor) endWaiting() {
	sd := &ex.shutdown
	if err := ex.saveAndEnd(sd.options); err != nil {
		ex.stay(err)
		return
	}
	ex.timers.stop(&sd.timer)
	callbacks := sd.callbacks
	sd.waits, sd.callbacks = false, nil
	for _, tell := range callbacks {
		tell(nil)
	}
}

// stay calls a shutdown off that has waited for replicas.
func (ex *executor) stay(err error) {
	sd := &ex.shutdown
	ex.timers.stop(&sd.timer)
	callbacks := slices.Clone(sd.callbacks)
	*sd = shutdown{refused: sd.refused + 1}
	ex.enter(PhaseStaying)
	ex.holdForShutdown(false)
	ex.answerWaits()
	for _, tell := range callbacks {
		tell(err)
	}
}

// saveAndEnd saves if it is called for, and ends the server. When it returns nil, nothing runs any more.
func (ex *executor) saveAndEnd(o ShutdownOptions) error {
	ex.replication.LogLag()
	if err := ex.keepAll(o); err != nil {
		ex.log.Error("Errors trying to shut down the server. Check the logs for more information.")
		ex.enter(PhaseStaying)
		return err
	}
	ex.failed = errClosed
	ex.host.requestStop(0)
	return nil
}

// keepAll syncs and saves what a shutdown has to. The error is why that cannot be, unless it is to end all
// the same.
func (ex *executor) keepAll(o ShutdownOptions) error {
	if ex.durable.Log() != nil {
		ex.log.Info("Calling fsync() on the AOF file.")
		if at := ex.replication.Place(); at.ID != "" {
			ex.durable.RecordPlace(persistence.History(at)) // so that replicas can go on after the next start
		}
	}
	if err := ex.durable.SyncLog(); err != nil && !o.Force && !o.NoSave {
		return err
	}
	if !(o.Save || len(ex.config.Save) > 0) || o.NoSave || ex.config.DBFilename == "" || ex.durable.Loading() {
		return nil
	}
	ex.log.Info("Saving the final RDB snapshot before exiting.")
	ex.enter(PhaseSaving)
	err := ex.durable.SaveLast()
	switch {
	case err == nil:
		return nil
	case o.Force:
		ex.log.Warn("Error trying to save the DB. Exit anyway.")
		return nil
	}
	ex.log.Warn("Error trying to save the DB, can't exit.")
	return err
}
