package server

import "lockserver/commands"

// Nested implements commands.Host.
func (ex *executor) Nested(c *commands.Ctx, row *commands.Row, argv [][]byte) error {
	s := c.Session.(*session)
	if err := s.admit(row); err != nil {
		return err
	}
	ex.calls[row.Index()]++
	inner := *c
	inner.Row, inner.Argv, inner.MayBlock = row, argv, false
	return ex.contain(row, func() error { return row.Run(&inner) })
}
