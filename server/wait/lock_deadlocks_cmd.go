package wait

import (
	"lockserver/commands"
	"lockserver/server/acl"
)

// lockDeadlocks shows the cycles of locks that the client may read.
func lockDeadlocks(c *commands.Ctx) error {
	most, err := countOption(c.Args())
	if err != nil {
		return err
	}
	refused, user := &partyOf(c).Waits.Refused, partyOf(c).User
	var found []*refusal
	for i := range min(refused.Total, refusalsKept) {
		r := &refused.last[(refused.Total-1-i)%refusalsKept]
		if len(found) < commands.PieceOf(most) && r.readable(user) {
			found = append(found, r)
		}
	}
	out := c.Out
	out.Array(len(found))
	for _, r := range found {
		out.Map(5)
		writeKnown(out, "time", r.atMS)
		out.BulkString("db")
		out.Int(int64(r.db))
		out.BulkString("client")
		writeClientInfo(out, r.id, &r.client)
		out.BulkString("cut")
		out.Bool(r.cut)
		out.BulkString("cycle")
		out.Array(len(r.words))
		for _, word := range r.words {
			out.BulkString(word)
		}
	}
	return nil
}

// readable reports whether a user may read all locks of a cycle. For a cycle that is cut this is not known.
func (r *refusal) readable(u *acl.User) bool {
	if u.Unrestricted {
		return true
	}
	for i := 1; i < len(r.words); i += 2 {
		if !u.MayRead(r.db, []byte(r.words[i])) {
			return false
		}
	}
	return !r.cut
}
