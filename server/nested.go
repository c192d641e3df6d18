package server

import "lockserver/commands"

// Nested implements commands.Host.
func (ex *executor) Nested(c *commands.Ctx, row *commands.Row, argv [][]byte) error {
	s := c.Session.(*session)
	if c.FromScript {
		if err := ex.scripts.run.admit(row); err != nil {
			return err
		}
	} else {
		if row.Flags.Has(commands.DenyOOM) && ex.store.Full() && !ex.evicting { // room has been made already, if that was possible
			return commands.ErrOutOfMemory
		}
		if err := s.admitHere(row, row.Flags); err != nil {
			return err
		}
	}
	ex.calls[row.Index()]++
	inner := *c
	inner.Row, inner.Argv, inner.MayBlock = row, argv, false
	return ex.contain(row, func() error {
		if len(ex.tracking.trackers) > 0 {
			return ex.runTracked(&inner, s)
		}
		return row.Run(&inner)
	})
}
