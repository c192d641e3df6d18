package server

import "lockserver/commands"

// holdsBudget is how many holds one slice ends: each takes back a whole order, so
// there are fewer than of timers.
const holdsBudget = 128

// endHolds takes back the orders of sales whose time to be confirmed is over, as a unit of its own, and says
// whether there may be more. When the next hold ends, store.NextHoldMS tells the ticker.
func (ex *executor) endHolds() (more bool) {
	if !ex.store.HoldsDue() || ex.failed != nil || ex.loading != nil {
		return false
	}
	// To contain a panic it is the command that does the same for a client.
	_ = ex.contain(ex.table.Lookup([]byte("seckill.cancel")), func() error {
		c := &commands.Ctx{Table: ex.table, DB: ex.store.DB(0), Rand: ex.rand, Host: ex, Settings: &ex.settings}
		more = commands.EndHolds(c, ex.store, holdsBudget)
		return nil
	})
	ex.endUnit()
	return more && ex.failed == nil
}

// RisingSecond implements commands.Host.
func (ex *executor) RisingSecond(nowS int64) int64 {
	ex.idSecond = max(ex.idSecond, nowS)
	return ex.idSecond
}
