package server

import (
	"errors"
	"slices"

	"lockserver/commands"
	"lockserver/persistence"
	"lockserver/server/shard"
)

// How a server ends on request: it waits for its replicas (shutdown-timeout) while writes are held, saves
// what there is to save, and ends. If it cannot save it goes on.

func shutdownRows() []commands.Row {
	return []commands.Row{
		{Name: "shutdown", Group: commands.Server, Since: "1.0.0", Flags: commands.Admin | whenever | commands.NoMulti | commands.AllowBusy, Run: shutdownCmd,
			Summary: "Saves, if save points are set, and ends the server.", Complexity: "O(N) where N is the number of keys when saving, otherwise O(1)",
			Args: []commands.Arg{
				commands.Opt(commands.OneOf("save-selector", commands.Flag("NOSAVE"), commands.Flag("SAVE"))),
				commands.Opt(commands.Flag("NOW").From("7.0.0")), commands.Opt(commands.Flag("FORCE").From("7.0.0")),
				commands.Opt(commands.Flag("ABORT").From("7.0.0"))}},
	}
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
		ex.Logger.Info("Shutdown manually aborted.")
		ex.shutdown.stay(errAborted)
		c.Out.OK()
		return nil
	case ex.Busy.On && !o.NoSave:
		return ex.scripts.BusyError()
	}
	if waits, err := ex.shutdown.begin(o, nil); err != nil {
		return commands.ErrShutdown
	} else if waits {
		return ex.shutdown.await(c, s)
	}
	s.Closing = true
	return nil
}

// await lets a client wait for a shutdown that waits for replicas. The client gets a reply only if
// that fails.
func (sd *shutdown) await(c *commands.Ctx, s *session) error {
	before := sd.refused
	refuse := func(c *commands.Ctx) { c.Out.Error(commands.ErrShutdown.Error()) }
	err := c.Block(commands.Wait{TimedOut: refuse, Try: func(*commands.Ctx) (bool, error) {
		if sd.refused == before {
			return false, nil
		}
		return true, commands.ErrShutdown
	}})
	if s.Waiter != nil {
		s.executor.Waits.Syncing.Enter(s.Waiter)
	}
	return err
}

// begin ends the server, or begins to. If it waits for replicas, tell is called with the result; nil: it
// is not called.
func (sd *shutdown) begin(o ShutdownOptions, tell func(err error)) (waits bool, err error) {
	ex := sd.executor
	if ex.Failed != nil {
		ex.host.requestStop(0)
		return false, nil
	}
	if p := ex.opts.peers; p != nil {
		p.ending(o)
	}
	if !sd.waits {
		ex.Logger.Info("User requested shutdown...")
		sd.enter(PhaseEnding)
		ex.HandOn() // replicas are to have the effects of this slice, too
		leads := ex.Member != nil && ex.Member.Serves()
		if o.Now || ex.config.ShutdownTimeoutMS == 0 || ex.Busy.On || ex.Replication.InStep() && !leads {
			return false, sd.saveAndEnd(o)
		}
		if leads {
			ex.Logger.Info("Handing the lead of the raft group on before shutting down.")
		} else {
			ex.Logger.Info("Waiting for replicas before shutting down.")
		}
		sd.waits, sd.options, sd.endMS, sd.callbacks = true, o, ex.Store.NowMS()+ex.config.ShutdownTimeoutMS, nil
		sd.timer.Of = sd
		ex.Timers.Set(&sd.timer, sd.endMS)
		if leads {
			sd.handOver()
		} else {
			ex.Replication.AskAcks()
			ex.Pausing.Hold(shard.ForShutdown, true)
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
func (sd *shutdown) handOver() {
	ex, before := sd.executor, sd.refused
	ex.host.background(func() {
		if err := ex.Member.HandOver(); err != nil {
			ex.Logger.Warn("raft: the lead could not be handed on", "cause", err)
		}
		ex.Do(func() {
			if sd.waits && sd.refused == before {
				sd.endWaiting()
			}
		})
	})
}

// Fire implements due.Firer: the replicas have had their time.
func (sd *shutdown) Fire() { sd.endWaiting() }

// resume ends a server that waits for replicas, if they have everything.
func (sd *shutdown) resume() {
	if sd.waits && sd.executor.Replication.InStep() {
		sd.endWaiting()
	}
}

// endWaiting ends a server that has waited for its replicas.
func (sd *shutdown) endWaiting() {
	if err := sd.saveAndEnd(sd.options); err != nil {
		sd.stay(err)
		return
	}
	sd.executor.Timers.Remove(&sd.timer)
	callbacks := sd.callbacks
	sd.waits, sd.callbacks = false, nil
	for _, tell := range callbacks {
		tell(nil)
	}
}

// stay calls a shutdown off that has waited for replicas.
func (sd *shutdown) stay(err error) {
	ex := sd.executor
	ex.Timers.Remove(&sd.timer)
	callbacks := slices.Clone(sd.callbacks)
	sd.waits, sd.options, sd.endMS, sd.callbacks = false, ShutdownOptions{}, 0, nil
	sd.refused++
	sd.enter(PhaseStaying)
	ex.Pausing.Hold(shard.ForShutdown, false)
	ex.Waits.AnswerWaits()
	for _, tell := range callbacks {
		tell(err)
	}
}

// saveAndEnd saves if it is called for, and ends the server. When it returns nil, nothing runs any more.
func (sd *shutdown) saveAndEnd(o ShutdownOptions) error {
	ex := sd.executor
	ex.Replication.LogLag()
	if err := sd.keepAll(o); err != nil {
		ex.Logger.Error("Errors trying to shut down the server. Check the logs for more information.")
		sd.enter(PhaseStaying)
		return err
	}
	ex.Failed = errClosed
	ex.host.requestStop(0)
	return nil
}

// keepAll syncs and saves what a shutdown has to. The error is why that cannot be, unless it is to end all
// the same.
func (sd *shutdown) keepAll(o ShutdownOptions) error {
	ex := sd.executor
	if ex.Durable.Log() != nil {
		ex.Logger.Info("Calling fsync() on the AOF file.")
		if at := ex.Replication.Place(); at.ID != "" {
			ex.Durable.RecordPlace(persistence.History(at)) // so that replicas can go on after the next start
		}
	}
	if err := ex.Durable.SyncLog(); err != nil && !o.Force && !o.NoSave {
		return err
	}
	if !(o.Save || len(ex.config.Save) > 0) || o.NoSave || ex.config.DBFilename == "" || ex.Durable.Loading() {
		return nil
	}
	ex.Logger.Info("Saving the final RDB snapshot before exiting.")
	sd.enter(PhaseSaving)
	err := ex.Durable.SaveLast()
	switch {
	case err == nil:
		return nil
	case o.Force:
		ex.Logger.Warn("Error trying to save the DB. Exit anyway.")
		return nil
	}
	ex.Logger.Warn("Error trying to save the DB, can't exit.")
	return err
}

// ended reports whether the server ends on request: no command runs any more, and no client gets an error for
// that. If the server stops because of a fault (executor.fail), clients get one.
func (sd *shutdown) ended() bool {
	return sd.executor.Ending || errors.Is(sd.executor.Failed, errClosed)
}

// enter tells of a step in the life of the server.
func (sd *shutdown) enter(p Phase) {
	sd.stopping.Store(p == PhaseEnding || p == PhaseSaving)
	if f := sd.executor.opts.Phase; f != nil {
		f(p)
	}
}
