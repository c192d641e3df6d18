package hostile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockserver/tests/grammar"
	"lockserver/tests/testkit"
)

// finding is a fault that a scenario has shown.
type finding struct {
	kind kind
	what string
}

// kind classifies a finding. A smaller scenario must show the same kind.
type kind string

const (
	ended    kind = "the process ended"
	panicked kind = "a panic was logged"
	silent   kind = "the server does not answer"
	hung     kind = "a connection hangs"
	mixedUp  kind = "replies are mixed up"
	lost     kind = "the data is not what it was"
	unread   kind = "the data cannot be read"
	dumb     kind = "the server does not start again"
)

// player plays one scenario.
type player struct {
	child   *testkit.Process
	admin   admin
	clients []*client // by number; nil if not connected
	lives   []int
	deaf    []bool // the next connection does not read
	gone    []*client
}

// care says how carefully a scenario is played.
type care struct {
	within  time.Duration // the longest time in which the server may be silent
	restart bool          // the data is compared after a restart
}

// allCare is used until something is found.
var allCare = care{answerWithin, true}

// play plays a scenario in an empty directory. It returns nil if nothing is wrong, and an error if the
// scenario could not be played.
func play(sc scenario, dir string, how care) (*finding, error) {
	o := childOptions{Dir: dir, Loops: sc.loops, Config: sc.config}
	c, err := startChild(o)
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	p := &player{child: c, admin: admin{addr: c.Address(), within: how.within}}
	defer func() { p.child.Kill() }()
	f := p.run(sc)
	if f == nil {
		f = p.quiesce()
	}
	if f == nil && how.restart {
		f = p.restart(o)
	}
	for _, c := range append(p.gone, p.clients...) {
		if c != nil {
			c.hangUp(true)
		}
	}
	p.admin.close()
	if f != nil && f.kind == silent || f != nil && f.kind == hung {
		p.child.Stacks()
	}
	if said := p.logged(f != nil); said != "" {
		switch {
		case f == nil:
			f = &finding{kind: panicked}
		case f.kind != ended && f.kind != silent && f.kind != hung && panicLine.MatchString(said):
			f.kind = panicked
		}
		f.what += "\n  the log says:\n" + said
	}
	return f, nil
}

// checkEvery is the number of steps between two checks that the server answers.
const checkEvery = 50

// run plays the steps.
func (p *player) run(sc scenario) *finding {
	for i, s := range sc.steps {
		for s.client >= len(p.clients) {
			p.clients, p.lives, p.deaf = append(p.clients, nil), append(p.lives, 0), append(p.deaf, false)
		}
		if f := p.step(s, i%2 == 0); f != nil {
			return f
		}
		if p.child.Ended() {
			return &finding{ended, fmt.Sprintf("in step %d", i)}
		}
		if i%checkEvery == checkEvery-1 {
			if _, err := p.admin.do("PING"); err != nil {
				return p.unanswered(err)
			}
		}
	}
	return nil
}

// unanswered returns why the server did not answer the admin.
func (p *player) unanswered(err error) *finding {
	select {
	case <-p.child.Exited():
		return &finding{ended, ""}
	case <-time.After(time.Second): // the end of the connection may be noticed before that of the process
		return &finding{silent, err.Error()}
	}
}

// unreadable is unanswered for a failed reading of the data.
func (p *player) unreadable(err error) *finding {
	if _, silence := p.admin.do("PING"); silence != nil {
		return p.unanswered(err)
	}
	return &finding{unread, err.Error()}
}

// step plays a step. calmly means to wait a little for the replies.
func (p *player) step(s step, calmly bool) *finding {
	c := p.clients[s.client]
	switch s.do {
	case hangup, reset, deafen:
		p.drop(s.client, s.do == reset)
		p.deaf[s.client] = s.do == deafen
		return nil
	case half:
		if c != nil {
			c.half = true
			_ = c.closeWrite()
			p.clients[s.client] = nil
			p.gone = append(p.gone, c)
		}
		return nil
	case rest:
		time.Sleep(1100 * time.Millisecond)
		return nil
	}
	if c == nil {
		var err error
		p.lives[s.client]++
		if c, err = dial(p.child.Address(), fmt.Sprintf("%d.%d", s.client, p.lives[s.client]), p.deaf[s.client]); err != nil {
			return p.unanswered(err)
		}
		p.clients[s.client], p.deaf[s.client] = c, false
	}
	var err error
	switch s.do {
	case raw:
		c.loosen()
		for _, words := range s.commands {
			err = c.write([]byte(strings.Join(words, "")))
		}
	case cut:
		if err = c.send(s.commands, 5); err == nil {
			p.drop(s.client, false)
		}
		return nil
	default:
		err = c.send(s.commands, 0)
	}
	if err != nil { // the server has closed it, or no longer reads from it
		p.drop(s.client, true)
		return nil
	}
	for end := time.Now().Add(3 * time.Millisecond); calmly && !c.deaf && !c.caughtUp() && time.Now().Before(end); {
		time.Sleep(100 * time.Microsecond)
	}
	return nil
}

// drop closes a client's connection.
func (p *player) drop(number int, rst bool) {
	if c := p.clients[number]; c != nil {
		c.hangUp(rst)
		p.clients[number] = nil
		p.gone = append(p.gone, c)
	}
}

// calm holds the settings after all steps. With them all clients get answers, nothing changes by itself, and
// the reader of the data is not disconnected.
var calm = [][]string{
	{"CLIENT", "UNPAUSE"}, {"CONFIG", "SET", "timeout", "0", "maxmemory", "0", "client-query-buffer-limit", "1gb", "lock-watchdog-timeout", "30000",
		"client-output-buffer-limit", "normal 0 0 0 pubsub 0 0 0"},
	{"DEBUG", "SET-ACTIVE-EXPIRE", "1"},
}

func (p *player) calmDown() error {
	for _, command := range calm {
		if err := p.admin.mustDo(command...); err != nil {
			return err
		}
	}
	return nil
}

// concludeAgain is the time after which another last mark is sent.
const concludeAgain = 500 * time.Millisecond

// quiesce waits until every client has its replies, and checks their order. Waiters are unblocked.
func (p *player) quiesce() *finding {
	if err := p.calmDown(); err != nil {
		return p.unanswered(err)
	}
	for _, c := range p.clients {
		if c != nil {
			c.conclude()
		}
	}
	end, received := time.Now().Add(p.admin.within), int64(0)
	again := time.Now().Add(concludeAgain)
	for {
		left, bytes := "", int64(0)
		for _, c := range append(p.gone, p.clients...) {
			if c == nil {
				continue
			}
			wrong, quiet := c.state()
			if wrong != "" {
				return &finding{mixedUp, wrong}
			}
			bytes += c.received.Load()
			if !quiet && !c.half && p.connected(c) {
				if time.Now().After(again) {
					c.conclude()
				}
				left = c.name + ", which has sent at last\n      " + strings.Join(c.sent[max(0, len(c.sent)-grammar.MostPerPipeline):], "\n      ")
			}
		}
		if left == "" {
			return nil
		}
		if time.Now().After(again) {
			again = time.Now().Add(concludeAgain)
		}
		if bytes > received { // a client still gets data
			end, received = time.Now().Add(p.admin.within), bytes
		}
		list, err := p.admin.do("CLIENT", "LIST")
		if err != nil {
			return p.unanswered(err)
		}
		if time.Now().After(end) {
			return &finding{hung, left + "\n    the clients are\n" + list.Str}
		}
		for _, m := range waits.FindAllStringSubmatch(list.Str, -1) {
			if _, err := p.admin.do("CLIENT", "UNBLOCK", m[1], "ERROR"); err != nil {
				return p.unanswered(err)
			}
		}
		if _, err := p.admin.do("CLIENT", "UNPAUSE"); err != nil { // a new pause may have begun since
			return p.unanswered(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// waits matches the clients in CLIENT LIST that wait in a command.
var waits = regexp.MustCompile(`(?m)^id=(\d+) .* flags=[a-zA-Z]*b`)

// connected reports whether the client should still get answers.
func (p *player) connected(c *client) bool {
	for _, other := range p.clients {
		if other == c {
			return true
		}
	}
	return false
}

// disturbing lists directives that the restarted server does not get, so that it evicts nothing and
// disconnects no reader.
var disturbing = []string{"maxmemory", "client-output-buffer-limit", "timeout"}

// restart closes the connections, kills the server, starts it again and compares the data.
func (p *player) restart(o childOptions) *finding {
	for i := range p.clients {
		p.drop(i, false)
	}
	before, f := p.stable()
	if f != nil {
		return f
	}
	p.admin.close()
	p.child.Kill()
	o.Config = slices.DeleteFunc(slices.Clone(o.Config), func(d []string) bool { return slices.Contains(disturbing, d[0]) })
	if err := startAgain(p.child, o); err != nil {
		return &finding{dumb, err.Error()}
	}
	p.admin.addr = p.child.Address()
	after, err := readEverything(p.admin.addr)
	if err != nil {
		return p.unreadable(err)
	}
	if lines := before.diff(after); len(lines) > 0 {
		return &finding{lost, "before | after\n    " + strings.Join(lines, "\n    ")}
	}
	return nil
}

// stable reads everything until nothing changes any more: no client is connected, and two readings are equal.
func (p *player) stable() (last everything, _ *finding) {
	read, changed := false, time.Now()
	for end := time.Now().Add(2 * p.admin.within); ; time.Sleep(5 * time.Millisecond) {
		v, err := p.admin.do("CLIENT", "LIST")
		if err != nil {
			return last, p.unanswered(err)
		}
		late := time.Now().After(end)
		if alone := strings.Count(v.Str, "\n") == 1; !alone {
			if late {
				return last, &finding{hung, "all clients have hung up, but for the server they are here:\n" + v.Str}
			}
			continue
		}
		if err := p.calmDown(); err != nil { // the last commands may have changed the settings again
			return last, p.unanswered(err)
		}
		now, err := readEverything(p.child.Address())
		if err != nil {
			return last, p.unreadable(err)
		}
		var lines []string
		if read {
			if lines = last.diff(now); len(lines) == 0 && !now.restless && (!now.overdue || time.Since(changed) > triedAgain) {
				return now, nil
			}
		}
		if !read || len(lines) > 0 {
			changed = time.Now()
		}
		if read, last = true, now; late {
			return last, &finding{lost, "the data changes though nobody changes it\n    " + strings.Join(lines, "\n    ")}
		}
	}
}

var (
	panicLine  = regexp.MustCompile(`(?i)panic|goroutine \d+ \[|DATA RACE|fatal error|internal error|SIGQUIT`)
	mostLog    = 60 // lines of the log in a report
	mostStacks = 1500
)

// logged returns panics in the log. With anyhow it returns the end of the log if there are none.
func (p *player) logged(anyhow bool) string {
	lines := strings.Split(strings.TrimSpace(p.child.Stderr.String()), "\n")
	for i, line := range lines {
		if panicLine.MatchString(line) {
			most := mostLog
			if strings.HasPrefix(line, "SIGQUIT") {
				most = mostStacks
			}
			return indent(lines[max(0, i-3):min(len(lines), i+most)])
		}
	}
	if anyhow {
		return indent(lines[max(0, len(lines)-10):])
	}
	return ""
}

func indent(lines []string) string {
	for i, line := range lines {
		if len(line) > 3000 {
			line = line[:3000] + "..."
		}
		lines[i] = "    " + strings.NewReplacer(`\n`, "\n      ", `\t`, "  ").Replace(line)
	}
	return strings.Join(lines, "\n")
}
