package sessions

import "lockserver/internal/plant"

// faults are mistakes with which a client is not answered, answered twice or in another's place,
// or holds what it was not told of.
var faults = []plant.Fault{
	// How it was before there was a list: whoever sends too much ends the other session there and
	// then, inside of its own command.
	plant.New("a session ends in the middle of a unit",
		plant.After("server/executor.go", "	ex.condemned = append(ex.condemned, s)\n",
			"	if planted(\"a session ends in the middle of a unit\") {\n\t\tex.endCondemned()\n\t}\n")),
	plant.New("and a context is filled again while it is used",
		plant.After("server/executor.go", "	ex.condemned = append(ex.condemned, s)\n",
			"	if planted(\"and a context is filled again while it is used\") {\n\t\tex.endCondemned()\n\t}\n"),
		plant.After("server/parked.go", "	ex.prepare(&c.Ctx, w.session, w.row, c.words)\n",
			"	if planted(\"and a context is filled again while it is used\") {\n\t\tex.prepare(&ex.ctx, w.session, w.row, c.words)\n\t}\n")),
	plant.New("a grant that was not sent is kept",
		plant.Instead("server/client.go", "				ex.undo(w)\n",
			"				if !planted(\"a grant that was not sent is kept\") {\n					ex.undo(w)\n				}\n")),
	plant.New("the condemned go on listening",
		plant.Instead("server/client.go", "	s.unsubscribeAll()\n", "	if !planted(\"the condemned go on listening\") {\n\t\ts.unsubscribeAll()\n\t}\n")),
	plant.New("a waiter's reply is not muted",
		plant.Instead("server/parked.go", "	if w.muted {\n", "	if w.muted && !planted(\"a waiter's reply is not muted\") {\n")),
	plant.New("CLIENT REPLY SKIP lasts",
		plant.After("server/flow.go", "	next := s.replies & replyOff\n",
			"	if planted(\"CLIENT REPLY SKIP lasts\") {\n\t\tnext |= s.replies & replySkip\n\t}\n")),
	plant.New("HTTP ends what was granted before it untold",
		plant.Instead("server/client.go", "	s.executor.condemn(s)\n",
			"	if planted(\"HTTP ends what was granted before it untold\") {\n\t\ts.out.Rollback(0)\n\t\ts.closing = true\n\t\treturn\n\t}\n	s.executor.condemn(s)\n")),
	plant.New("a waiter's database is its client's",
		plant.After("server/parked.go", "	c.DB, c.MayBlock = w.db, false\n",
			"	if q := w.place.queue; q != nil && planted(\"a waiter's database is its client's\") {\n\t\tc.DB = ex.store.DB((w.db.ID() + q.db().ID() + 1) % 3)\n\t}\n")),
}
