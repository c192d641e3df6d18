package console

import (
	"cmp"
	"strings"

	"lockserver/internal/call"
)

// problem is shown instead of a page that cannot be shown.
type problem struct{ Title, Text string }

// refusal explains an error of the server.
func refusal(refused call.Error) problem {
	return cmp.Or(notLeading(refused.Error()), problem{"The server says no", refused.Error()})
}

// notLeading explains the error of a member of a raft group that does not lead; empty: it is another error.
func notLeading(text string) problem {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "MOVED":
		_, leader, _ := strings.Cut(rest, " ")
		return problem{"This member does not lead", "Only the leader shows locks and sales. It serves clients at " + leader + ": open the console of that server."}
	case "CLUSTERDOWN", "MASTERDOWN":
		return problem{"The group has no leader", "No member can show locks and sales now. The page of the members says why."}
	}
	return problem{}
}
