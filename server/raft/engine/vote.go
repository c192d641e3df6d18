package engine

import hraft "github.com/hashicorp/raft"

// A member that is behind may not have heard yet that another was added. When that one asks for its vote,
// the library refuses: it knows no such member. Raft says that the vote is given to whoever has the newer
// log, since the group may need just that: of a, b and the new c, which b has not heard of, a dies. b cannot
// lead, for it is behind, and c could not without b's vote; so nobody ever would, with two of three there.
// Nor does who was removed get in by that: the others have heard of a leader, or their logs are newer.

// asVoter is whose request for a vote the library is to believe it is: the one that asks, or, where that one
// is not known here, any voter. Whom the vote is for stands elsewhere in the request.
func asVoter(id []byte, all []hraft.Server) []byte {
	known := id
	for _, m := range all {
		if m.Suffrage != hraft.Voter {
			continue
		}
		if string(m.ID) == string(id) {
			return id
		}
		known = []byte(m.ID)
	}
	return known
}

// believed are requests for a vote as asVoter says.
func believed(command any, all []hraft.Server) any {
	switch c := command.(type) {
	case *hraft.RequestVoteRequest:
		q := *c
		q.ID = asVoter(c.ID, all)
		return &q
	case *hraft.RequestPreVoteRequest:
		q := *c
		q.ID = asVoter(c.ID, all)
		return &q
	}
	return command
}
