package engine

import hraft "github.com/hashicorp/raft"

// A member that is behind may not have heard yet that another member was added. When that one asks for its
// vote, the library refuses: it knows no such member. Raft gives the vote to the candidate with the newer
// log, because the group may need just that. For example, of a, b and the new c, which b has not heard of, a
// dies. b cannot lead, because it is behind, and c could not without b's vote. So no member ever would, with
// two of three there. A removed member does not get in this way: the others have heard of a leader, or their
// logs are newer.

// asVoter returns the candidate ID that is reported to the library for a request for a vote. It is the ID of
// the sender or, if that is not known here, of any voter. The candidate that gets the vote is in another
// field of the request.
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
