package engine

import (
	"cmp"
	"errors"
	"math"
	"time"

	hraft "github.com/hashicorp/raft"
	"lockserver/server/raft"
)

// config is how the library is set. Snapshots are made when the member says so.
func (e *Engine) config(notify chan bool) *hraft.Config {
	election := time.Duration(e.options.ElectionMS) * time.Millisecond
	c := hraft.DefaultConfig()
	c.LocalID = hraft.ServerID(e.options.ID)
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = election, election, election/2
	c.CommitTimeout = commitEvery
	c.TrailingLogs = cmp.Or(e.options.Trailing, trailingEntries)
	c.SnapshotInterval, c.SnapshotThreshold = time.Hour, math.MaxUint64
	c.NotifyCh = notify
	c.ShutdownOnRemove = false
	c.NoLegacyTelemetry = true
	c.Logger = newLogger(e.options.Log)
	return c
}

// Open implements raft.Engine.
func (e *Engine) Open(m raft.Machine) error {
	if err := e.damage(); err != nil {
		return err
	}
	if e.options.Identity == nil {
		if err := e.options.Identify(); err != nil {
			return err
		}
	}
	transport, err := e.options.Transport()
	if err != nil {
		return err
	}
	over := newInterrupts()
	w, err := newAckTransport(transport, over)
	if err != nil {
		return errors.Join(err, closeTransport(transport))
	}
	w.times = &e.times
	r := &running{of: e, self: hraft.ServerID(e.options.ID), ackTransport: w, notify: make(chan bool, 16), lost: make(chan struct{}, 1), ended: make(chan struct{}),
		interrupts: over, fsm: newFSM(m), startedMS: e.startedMS}
	log := &storage{LogStore: &reportingLog{LogStore: e.options.Logs, log: e.options.Log, fault: &r.logFault, damaged: r.distrust}, SnapshotStore: &verifying{e.options.Snapshots, r.verifySnapshots}, onLost: r.lost}
	if r.raft, err = e.start(r, log); err != nil {
		return errors.Join(err, closeTransport(transport))
	}
	log.raft.Store(r.raft)
	r.entries = log.LogStore
	w.standing = r.stands
	r.watching.Go(func() { w.receive(log, r.members, r.ended) })
	r.watching.Go(r.watch)
	seen := make(chan hraft.Observation, 16)
	r.raft.RegisterObserver(hraft.NewObserver(seen, false, func(o *hraft.Observation) bool {
		switch data := o.Data.(type) {
		case hraft.LeaderObservation:
			return true
		case hraft.PeerObservation:
			if data.Removed {
				r.interrupts.tell()
			}
			return true
		}
		return false
	}))
	r.watching.Go(func() {
		for {
			select {
			case <-seen:
				r.fsm.machine().Changed()
			case <-r.ended:
				return
			}
		}
	})
	e.mu.Lock()
	e.running = r
	e.mu.Unlock()
	e.options.Identity.reports(r.report)
	r.watching.Go(r.tend)
	r.watching.Go(r.survey)
	r.watching.Go(r.lookAtClientAddresses)
	r.watching.Go(r.compare)
	return nil
}

// start starts the library.
func (e *Engine) start(r *running, log *storage) (is *hraft.Raft, err error) {
	defer func() { // the library panics where it cannot read an entry
		if bad := recover(); bad != nil {
			if err = e.damage(); err == nil {
				panic(bad)
			}
		}
	}()
	o := &e.options
	if e.opened { // at the first time the whole disk was verified a moment ago
		if err := r.verifySnapshots(); err != nil {
			return nil, err
		}
	}
	e.opened = true
	stable := &retrying{o.Stable, o.Log, r.ended, &r.stableFault}
	last, err := o.Logs.LastIndex()
	if err != nil {
		return nil, err
	}
	r.fsm.last, r.fsm.damage = last, e.damage
	is, err = hraft.NewRaft(e.config(r.notify), r.fsm, log, stable, log, r.ackTransport)
	r.started.Store(true)
	if err != nil {
		err = cmp.Or(e.damage(), err)
	}
	return is, err
}

// watch tells the machine which member leads.
func (r *running) watch() {
	for {
		select {
		case on := <-r.notify:
			if !on {
				r.ackTransport.pipelines.breakOff(false)
				r.interrupts.tell()
			}
			r.learn(on)
			r.fsm.machine().Leads(on)
		case <-r.lost:
			r.fsm.machine().Anew()
		case <-r.ended:
			return
		}
	}
}

// Close implements raft.Engine.
func (e *Engine) Close() error {
	e.mu.Lock()
	r := e.running
	e.running = nil
	e.mu.Unlock()
	if r == nil {
		return nil
	}
	e.options.Identity.reports(nil)
	ended := r.raft.Shutdown()
	close(r.ended) // waits for proposed entries are over
	r.interrupts.end()
	r.ackTransport.hangUp()
	err := ended.Error()
	r.watching.Wait()
	return err
}

// Release releases the stores, for good.
func (e *Engine) Release() error {
	if e.options.Release == nil {
		return nil
	}
	return e.options.Release()
}
