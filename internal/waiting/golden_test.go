package waiting

import (
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestGolden runs the scripts in testdata. They show the protocol:
//
//	lock KEY... by=OWNER [shared] [wait=NAME]      take locks; with a name wait for them
//	acquire KEY permits=N by=OWNER [limit=N] [once] [wait=NAME]
//	resize KEY limit=N                             the semaphore has another limit
//	pop KEY... [wait=NAME]                         take an element of a list
//	unlock KEY by=OWNER [shared] [permits=N]
//	push KEY [n=N]
//	give KEY to=OWNER                              the lock has another holder, whatever the queue says
//	leave NAME                                     a wait ends: its time is up, or its client is gone
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
		if len(a.Vals) == 0 && a.Key != "shared" && a.Key != "once" {
			bare = append(bare, a.Key)
			continue
		}
		switch a.Key {
		case "permits", "limit", "n":
			var n int
			d.ScanArgs(tt, a.Key, &n)
			number[a.Key] = int32(n)
		case "shared", "once":
		default:
			text[a.Key] = a.Vals[0]
		}
	}
	c := &call{name: text["wait"], keys: bare, owner: text["by"], shared: d.HasArg("shared"), once: d.HasArg("once"), permits: number["permits"]}
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
	case "show":
		return t.String()
	default:
		d.Fatalf(tt, "what is %s?", d.Cmd)
	}
	return ""
}
