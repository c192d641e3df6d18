package server

import "lockserver/commands"

// pause holds commands until a time, or longer and more of them if that is in force already.
func (ex *executor) pause(untilMS int64, all bool) {
	p := &ex.pausing
	p.untilMS, p.all = max(p.untilMS, untilMS), p.all || all
	p.timer.Of = p
	ex.timers.set(&p.timer, p.untilMS)
}

// fire implements firer: the pause is over.
func (p *pausing) fire(ex *executor) { ex.unpause() }

// unpause lets everyone go on.
func (ex *executor) unpause() {
	p := &ex.pausing
	ex.timers.stop(&p.timer)
	p.untilMS, p.all = 0, false
	for _, s := range p.held {
		s.held = false
		if !s.dead {
			s.info.lastUS = ex.store.NowUS() // it was not idle
			ex.touch(s)
		}
	}
	p.held = nil
}

// holds reports whether the session's next command must wait for the end of the pause. What would be
// refused anyhow need not; row may be nil.
func (ex *executor) holds(s *session, row *commands.Row, argv [][]byte) bool {
	if row == nil {
		var err error
		if row, err = ex.table.Resolve(argv); err != nil {
			return false
		}
	}
	const writing = commands.Write | commands.MayReplicate
	writes := row.Flags&writing != 0 && ex.scripts.MayWrite(row, argv) || row.Flags.Has(commands.RunsQueue) && s.multi != nil && s.multi.flags&writing != 0
	if !s.authenticated || !ex.pausing.all && !writes {
		return false
	}
	if !s.held {
		s.held = true
		ex.pausing.held = append(ex.pausing.held, s)
	}
	return true
}
