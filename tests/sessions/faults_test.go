package sessions

import "lockserver/tests/plant"

// faults are faults with which a client gets no reply, two replies or another client's reply, or holds
// something without a reply.
var faults = []plant.Fault{
	// The behaviour before there was a list: a client that sends too much ends the other session at once,
	// inside of its own command.
	plant.New("a session ends in the middle of a unit", plant.Instead("end-session", `ex.Terminated = append(ex.Terminated, &s.Party)
	for i := 0; i < len(ex.Terminated); i++ {
		if p := ex.Terminated[i]; !p.Dead {
			clientOf(p).leave()
			if w := p.Granted; w != nil {
				p.Granted = nil
				ex.Waits.Undo(w)
			}
			clientOf(p).output.Conn.HangUp()
		}
	}
	ex.Terminated = ex.Terminated[:0]`)),
	plant.New("and a context is filled again while it is used", plant.Instead("end-session", `ex.Terminated = append(ex.Terminated, &s.Party)
	for i := 0; i < len(ex.Terminated); i++ {
		if p := ex.Terminated[i]; !p.Dead {
			clientOf(p).leave()
			if w := p.Granted; w != nil {
				p.Granted = nil
				ex.Waits.Undo(w)
			}
			clientOf(p).output.Conn.HangUp()
		}
	}
	ex.Terminated = ex.Terminated[:0]`),
		plant.Insert("waiter-prepared", `if c != &sh.Ctx {
		sh.Prepare(&sh.Ctx, p, row, argv)
	}`)),
	plant.New("a grant that was not sent is kept", plant.Omit("unsent-grant")),
	plant.New("the terminated go on listening", plant.Omit("leave-channels")),
	plant.New("a waiter's reply is not muted", plant.And("waiter-muted", "false")),
	plant.New("CLIENT REPLY SKIP lasts", plant.Insert("reply-skip", `next |= m.mode & replySkip`)),
	plant.New("HTTP ends what was granted before it untold", plant.Insert("refuse-http", `s.Out.Rollback(0)
	s.Closing = true
	return`)),
	plant.New("a waiter's database is its client's", plant.Insert("waiter-context", `if w.First() != nil {
		c.DB = ws.Store.DB((2*w.DB() + 1) % 3)
	}`)),
}
