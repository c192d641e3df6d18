package linearizability

// fault is a mistake that is planted in the server's sources. Its patches put it behind a switch that only the patched
// copy has, so that one build has all of them.
type fault struct {
	name    string
	patches []patch
}

// patch replaces a text that occurs once in a file by another.
type patch struct{ file, old, new string }

// The switch stands in a file that is added to each of these packages. It is read once: a process has one fault.
var switchFiles = map[string]string{"commands/planted.go": "package commands\n", "server/planted.go": "package server\n"}

const switchText = `
import "os"

var plantedFault = os.Getenv("` + faultVariable + `")

func planted(name string) bool { return plantedFault == name }
`

// before inserts text before a place, after behind it.
func before(file, place, text string) patch { return patch{file, place, text + place} }
func after(file, place, text string) patch  { return patch{file, place, place + text} }

// faults are all that are tried. Each must break the lock only now and then, or only for one of its promises, so that
// it says something that it is found.
var faults = []fault{
	{"UNLOCK skips the owner check", []patch{before("commands/lock_release.go",
		"\tif held.holds == 0 || token != 0 && token != held.token {\n\t\tc.Out.Null()", `
	if planted("UNLOCK skips the owner check") && held.taken && held.holds == 0 {
		remove(c, key, edit)
		c.Out.Int(1)
		return nil
	}
`)}},
	{"UNLOCK ignores TOKEN", []patch{after("commands/lock_release.go", "\ttoken := readToken(a)\n", `
	if planted("UNLOCK ignores TOKEN") {
		token = 0
	}
`)}},
	{"UNLOCK forgets re-entry", []patch{{"commands/lock_release.go", "if held.holds > 1 {",
		`if held.holds > 1 && !planted("UNLOCK forgets re-entry") {`}}},
	{"LOCK.FORCE does nothing", []patch{{"commands/lock_release.go", "\tremove(c, key, edit)\n\tc.Out.Int(1)\n\treturn nil\n}\n", `
	if !planted("LOCK.FORCE does nothing") {
		remove(c, key, edit)
	}
	c.Out.Int(1)
	return nil
}
`}}},
	{"two waiters are woken", []patch{after("server/parked.go",
		"\t\tif (head == nil || !w.wait.Queue) && !ex.try(w) && w.wait.Queue {\n\t\t\thead = w\n\t\t}\n", `
		if head == nil && next != nil && next.waiter.row.Name == "lock" && planted("two waiters are woken") {
			second := next.waiter
			next = next.next
			ex.answer(second, func(c *commands.Ctx) error {
				c.Out.Int(c.Host.NextToken(0))
				return nil
			})
		}
`)}},
	{"a release wakes nobody", []patch{{"server/parked.go", "\tif q := p.queues[db][string(key)]; q != nil {\n\t\tp.makeReady(q)", `
	if q := p.queues[db][string(key)]; q != nil && !planted("a release wakes nobody") {
		p.makeReady(q)`}}},
	{"a waiter is told nil and has the lock", []patch{{"commands/lock.go", "\tl.tokens = []int64{token}\n\tc.Out.Int(token)\n", `
	if l.tokens = []int64{token}; token%3 == 0 && planted("a waiter is told nil and has the lock") {
		c.Out.Null()
		return true, nil
	}
	c.Out.Int(token)
`}}},
	{"a token is given twice", []patch{{"server/tokens.go", "\tt.last = max(t.last+1, floor+1, nowUS)\n", `
	before := t.last
	t.last = max(t.last+1, floor+1, nowUS)
	if before > floor && t.last%3 == 0 && planted("a token is given twice") {
		t.last = before
	}
`}}},
	{"a re-entry gets a new token", []patch{{"commands/lock.go", "\tif held.holds == 0 || token == 0 {",
		"\tif held.holds == 0 || token == 0 || planted(\"a re-entry gets a new token\") {"}}},
	{"a dead connection is granted a lock", []patch{
		{"server/client.go", "\tif s.waiter != nil {\n\t\tex.unpark(s.waiter)",
			"\tif s.waiter != nil && !planted(\"a dead connection is granted a lock\") {\n\t\tex.unpark(s.waiter)"},
		{"server/client.go", "\tif s.waiter != nil {\n\t\ts.server.unpark(s.waiter)",
			"\tif s.waiter != nil && !planted(\"a dead connection is granted a lock\") {\n\t\ts.server.unpark(s.waiter)"},
		{"server/grant.go", "\tgone := s.transport.peerGone()\n",
			"\tgone := s.transport.peerGone() && !planted(\"a dead connection is granted a lock\")\n"},
		{"server/parked.go", "func (ex *executor) undo(w *waiter) {\n",
			"func (ex *executor) undo(w *waiter) {\n\tif planted(\"a dead connection is granted a lock\") {\n\t\treturn\n\t}\n"},
	}},
	{"a lease ends 2 ms early", []patch{before("commands/lock_state.go", "\treturn c.NowMS() + l.ms, nil\n", `
	if planted("a lease ends 2 ms early") && l.ms > 2 {
		return c.NowMS() + l.ms - 2, nil
	}
`)}},
	{"a lease ends 2 ms late", []patch{before("commands/lock_state.go", "\treturn c.NowMS() + l.ms, nil\n", `
	if planted("a lease ends 2 ms late") {
		return c.NowMS() + l.ms + 2, nil
	}
`)}},
	{"the watchdog outlives its connection", []patch{{"server/client.go", "\tex.watchdog.forget(s)\n", `
	if !planted("the watchdog outlives its connection") {
		ex.watchdog.forget(s)
	}
`}}},
	{"the watchdog sleeps", []patch{{"server/watchdog.go", "\tif !commands.ExtendLock(",
		"\tif planted(\"the watchdog sleeps\") || !commands.ExtendLock("}}},
	{"RENEW with a time keeps the watchdog", []patch{{"commands/lock_renew.go", "\tif l.unit != \"\" {\n",
		"\tif l.unit != \"\" && !planted(\"RENEW with a time keeps the watchdog\") {\n"}}},
	{"RENEW brings back an expired lock", []patch{before("commands/lock_renew.go",
		"\tif held.holds == 0 || token != 0 && token != held.token {\n", `
	if planted("RENEW brings back an expired lock") && !held.taken {
		edit.SetInt(owner, 1)
		edit.SetInt(tokenField, c.Host.NextToken(0))
		held.holds, token = 1, 0
	}
`)}},
	{"RENEW skips the owner check", []patch{before("commands/lock_renew.go",
		"\tif held.holds == 0 || token != 0 && token != held.token {\n", `
	if planted("RENEW skips the owner check") && held.taken {
		held.holds, token = 1, 0
	}
`)}},
	{"MLOCK keeps what it can get", []patch{before("commands/lock_many.go", "\tif !all {\n", `
	for _, key := range l.keys {
		held, edit, err := openLock(c.DB, key, l.owner)
		if err != nil || all || !planted("MLOCK keeps what it can get") {
			break
		}
		if ok, _ := l.admits(c, key, held); ok {
			l.take(c, key, held, edit)
		}
	}
`)}},
	{"MUNLOCK gives back only the first", []patch{{"commands/lock_release.go", "\tfor _, key := range keys {\n\t\theld, edit, _ := openLock(c.DB, key, owner)\n", `
	for i, key := range keys {
		held, edit, _ := openLock(c.DB, key, owner)
		if held.holds > 0 && i > 0 && planted("MUNLOCK gives back only the first") {
			c.Out.Int(1)
			continue
		}
`}}},
}
