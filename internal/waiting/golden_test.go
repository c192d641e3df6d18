package waiting

import (
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestGolden runs the scripts in testdata. They show the protocol:
//
//	lock KEY... by=OWNER [shared] [wait=NAME [notify]]
//	                                               take locks; with a name wait for them
//	acquire KEY permits=N by=OWNER [limit=N] [once] [wait=NAME]
//	resize KEY limit=N                             the semaphore has another limit
//	pop KEY... [wait=NAME]                         take an element of a list
//	unlock KEY by=OWNER [shared] [permits=N]
//	push KEY [n=N]
//	give KEY to=OWNER                              the lock has another holder, whatever the queue says
//	leave NAME                                     a wait ends: its time is up, or its client is gone
//	confirm KEY by=OWNER                           an owner confirms the grants of waits with notify
//	overdue NAME                                   the time to confirm a grant is over
//	cancel KEY by=OWNER                            the oldest wait of an owner at a key ends
//	show                                           who holds what, and who waits
//
// Several commands in one block are one unit: the waiters are served behind the last. -rewrite writes the
// results anew.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		table := newTable()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			say := func(text string) {
				if text != "" {
					out.WriteString(strings.TrimSuffix(text, "\n") + "\n")
				}
			}
			var lines []string
			if d.Cmd == "unit" {
				lines = strings.Split(d.Input, "\n")
				for _, line := range lines {
					cmd, args, err := datadriven.ParseLine(line)
					if err != nil {
						d.Fatalf(t, "%v", err)
					}
					say(table.run(t, &datadriven.TestData{Pos: d.Pos, Cmd: cmd, CmdArgs: args}))
				}
			} else {
				say(table.run(t, d))
			}
			say(strings.Join(table.endUnit(), "\n"))
			table.check(t.Fatalf)
			return out.String()
		})
	})
}

// run runs one command of a script.
func (t *table) run(tt *testing.T, d *datadriven.TestData) string {
	tt.Helper()
	var bare []string
	text := map[string]string{}
	number := map[string]int32{"n": 1}
	for _, a := range d.CmdArgs {
		if len(a.Vals) == 0 && a.Key != "shared" && a.Key != "once" && a.Key != "notify" {
			bare = append(bare, a.Key)
			continue
		}
		switch a.Key {
		case "permits", "limit", "n":
			var n int
			d.ScanArgs(tt, a.Key, &n)
			number[a.Key] = int32(n)
		case "shared", "once", "notify":
		default:
			text[a.Key] = a.Vals[0]
		}
	}
	c := &call{name: text["wait"], keys: bare, owner: text["by"], shared: d.HasArg("shared"), once: d.HasArg("once"), notify: d.HasArg("notify"), permits: number["permits"]}
	switch d.Cmd {
	case "lock", "pop":
		return t.begin(c)
	case "acquire":
		if number["limit"] > 0 {
			t.at(bare[0]).limit = number["limit"]
		}
		return t.begin(c)
	case "resize":
		t.at(bare[0]).limit = number["limit"]
		t.qs.Changed(0, []byte(bare[0]))
	case "unlock":
		if !t.release(bare[0], c.owner, c.shared, c.permits) {
			return "not held"
		}
	case "push":
		t.at(bare[0]).elements += int(number["n"])
		t.qs.Changed(0, []byte(bare[0]))
	case "give":
		t.at(bare[0]).holds = map[string]*hold{text["to"]: {exclusive: 1}}
		t.qs.Changed(0, []byte(bare[0]))
	case "leave":
		i := slices.IndexFunc(t.calls, func(c *call) bool { return c.name == bare[0] })
		if i < 0 {
			return "does not wait"
		}
		t.calls[i].end(false)
	case "confirm":
		names := t.confirm(bare[0], c.owner)
		if names == nil {
			return "nothing to confirm"
		}
		return strings.Join(names, " ") + " confirmed"
	case "overdue":
		var found *Grant
		t.grants.Each(func(g *Grant) bool {
			if g.Waiter.Call().(*call).name == bare[0] {
				found = g
			}
			return found == nil
		})
		if found == nil {
			return "nothing is overdue"
		}
		t.passOn(found)
	case "cancel":
		w := t.qs.Find(0, []byte(bare[0]), []byte(c.owner), nil)
		if w == nil {
			return "does not wait"
		}
		w.Call().(*call).end(false)
		return w.Call().(*call).name + " ends"
	case "show":
		return t.String()
	default:
		d.Fatalf(tt, "what is %s?", d.Cmd)
	}
	return ""
}
