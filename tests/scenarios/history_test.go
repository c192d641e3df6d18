//go:build scenarios

package scenarios

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func in(client, key string, token, at int64) Event {
	return Event{Event: In, Client: client, Key: key, Token: token, At: at}
}

func out(client, key string, token, at int64) Event {
	return Event{Event: Out, Client: client, Key: key, Token: token, At: at}
}

func lost(client, key string, token, at int64, reason string) Event {
	return Event{Event: Lost, Client: client, Key: key, Token: token, At: at, Reason: reason}
}

func all(Event) bool { return true }

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		h      History
		faults []string
	}{
		{name: "in turn", h: History{Events: []Event{in("go", "k", 1, 10), out("go", "k", 1, 20), in("node", "k", 2, 20), out("node", "k", 2, 30)}}},
		{name: "lines in another order", h: History{Events: []Event{in("node", "k", 2, 20), out("node", "k", 2, 30), in("go", "k", 1, 10), out("go", "k", 1, 20)}}},
		{name: "other keys", h: History{Events: []Event{in("go", "k", 1, 10), in("node", "j", 2, 11)}}},
		{name: "twice", h: History{Events: []Event{in("go", "k", 1, 10), in("node", "k", 2, 19), out("go", "k", 1, 20)}},
			faults: []string{"k: node (token 2) has it while go (token 1) has not heard of its end"}},
		{name: "never ended", h: History{Events: []Event{in("go", "k", 1, 10), in("node", "k", 2, 19)}},
			faults: []string{"k: node (token 2) has it while go (token 1) has not heard of its end"}},
		{name: "heard before", h: History{Events: []Event{in("go", "k", 1, 10), lost("go", "k", 1, 15, "unreachable"), in("node", "k", 2, 19)}, MayLose: all}},
		{name: "heard too late", h: History{Events: []Event{in("go", "k", 1, 10), lost("go", "k", 1, 20, "unreachable"), in("node", "k", 2, 19)}, MayLose: all},
			faults: []string{"k: node (token 2) has it while go (token 1) has not heard of its end"}},
		{name: "taken by an operator", h: History{Events: []Event{in("go", "k", 1, 10), lost("go", "k", 1, 20, "forced"), in("node", "k", 2, 19)}, MayLose: all,
			Taken: func(key string) bool { return key == "k" }}},
		{name: "no loss", h: History{Events: []Event{in("go", "k", 1, 10), lost("go", "k", 1, 20, "stale")}},
			faults: []string{"go: k (token 1) is lost (stale) while its owner and the server live"}},
		{name: "lost twice", h: History{Events: []Event{in("go", "k", 1, 10), lost("go", "k", 1, 20, "stale"), lost("go", "k", 1, 21, "stale")}, MayLose: all},
			faults: []string{"go: the loss of k (token 1) is reported twice"}},
		{name: "token falls", h: History{Events: []Event{in("go", "k", 2, 10), out("go", "k", 2, 11), in("node", "k", 1, 12)}},
			faults: []string{"k: token 1 of node comes after 2 of go"}},
		{name: "one token for two", h: History{Events: []Event{in("go", "k", 1, 10), out("go", "k", 1, 11), in("node", "k", 1, 12)}},
			faults: []string{"k: token 1 of node comes after 1 of go", "token 1 of k was granted to go and to node"}},
		{name: "stopped", h: History{Events: []Event{in("go", "k", 1, 10), in("node", "k", 2, 30), lost("go", "k", 1, 41, "expired")}, MayLose: all,
			Pauses: []Pause{{"go", 20, 40}}}},
		{name: "another one was stopped", h: History{Events: []Event{in("go", "k", 1, 10), in("node", "k", 2, 30), lost("go", "k", 1, 41, "expired")}, MayLose: all,
			Pauses: []Pause{{"java", 20, 40}}},
			faults: []string{"k: node (token 2) has it while go (token 1) has not heard of its end"}},
		{name: "an agent says so", h: History{Events: []Event{{Event: Failed, Client: "go", Reason: "a guard wrote"}}}, faults: []string{"go: a guard wrote"}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.faults, c.h.Check()) })
	}
}

func TestSections(t *testing.T) {
	h := History{Events: []Event{in("go", "k", 1, 10), out("go", "k", 1, 11), in("node", "k", 2, 12)}}
	require.Equal(t, 1, h.Sections("go"))
	require.Equal(t, 0, h.Sections("java"))
}
