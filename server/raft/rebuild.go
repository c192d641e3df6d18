package raft

import "fmt"

// A leader that is deposed, and cannot take back what is not committed, throws its data away and builds it
// again from the newest snapshot and the log. It goes on voting and taking entries meanwhile, so the group
// needs no other member for that. If it is elected before its data is there, it hands the lead on to a member
// that can serve.

// rebuild throws the data away and builds it again. From now on the calls to the old machine are ignored.
func (m *Member) rebuild() {
	m.buildAnew(func() error {
		_, _, err := m.host.Replace(nil)
		if err == nil && !m.ending() {
			err = m.engine.Replay(m.machine())
		}
		return err
	})
	m.host.Background(m.passOn)
}

// reopen is rebuild for a member that also closes the engine and opens it again.
func (m *Member) reopen() {
	m.buildAnew(func() error {
		err := m.engine.Close()
		if err == nil && !m.ending() {
			_, _, err = m.host.Replace(nil)
		}
		if err == nil && !m.ending() {
			err = m.open()
		}
		return err
	})
}

// buildAnew builds the data in the background. A later call replaces a call that has not begun.
func (m *Member) buildAnew(build func() error) {
	m.host.Undo().End()
	m.distance = newDistance()
	m.become(rebuilding)
	m.run++
	m.counts.rebuilds++
	m.anew.begun++
	m.anew.under = true
	number := m.anew.begun
	m.host.Background(func() {
		m.anew.doing.Lock()
		defer m.anew.doing.Unlock()
		is := false
		m.host.Locked(func() { is = m.anew.begun == number && m.state != stopped })
		if is && !m.ending() {
			m.built(number, build())
		}
	})
}

// built is called when the data is complete, or could not be built.
func (m *Member) built(number int, err error) {
	run, is := 0, false
	m.host.Slice(func() {
		if m.anew.begun != number || m.ending() {
			return
		}
		switch m.anew.under = false; {
		case err != nil:
			m.stop(fmt.Errorf("the data could not be built anew: %w", err))
		case m.state == rebuilding:
			m.become(following)
			run, is = m.run, true
		}
		m.host.EndUnit()
	})
	if is && m.engine.Leads() { // it was elected meanwhile, and perhaps the machine before heard of it
		m.host.Background(func() { m.lead(run) })
	}
}

// underBuilding reports whether the data is not complete yet. Without the lock.
func (m *Member) underBuilding() (is bool) {
	m.host.Locked(func() { is = m.anew.under })
	return is
}

// passOn hands the lead to another member, if this one was elected while it builds its data. Without the
// lock.
func (m *Member) passOn() {
	if !m.underBuilding() || !m.engine.Leads() {
		return
	}
	next, err := m.engine.Successor("")
	if err == nil && m.underBuilding() {
		err = m.engine.Transfer(next)
	}
	if err != nil {
		m.host.Log().Info("raft: this member was elected while it builds its data anew, and no other one can lead yet", "cause", err)
		return
	}
	m.host.Log().Info("raft: this member was elected while it builds its data anew: the lead was handed on", "to", next)
}
