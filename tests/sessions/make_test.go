package sessions

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"lockserver/internal/resp"
)

// mostOutput is the limit of pending output for a subscriber or a tracker, in bytes. An event of a large key
// is longer.
const mostOutput = 8_000

// The keys. Each kind has one with events that are too large. All databases have them.
var (
	large   = strings.Repeat("L", mostOutput+1000)
	locks   = []string{"a", "b", "lock:" + large}
	lists   = []string{"q", "list:" + large}
	strs    = []string{"s", "string:" + large}
	dbCount = 2
)

// maker makes the commands of one write. It knows the state in which its client will be when they run.
type maker struct {
	*client
	random *rand.Rand
	made   []*command
}

// choice is one of the kinds of commands that a client may send, with its frequency.
type choice struct {
	share int
	make  func(*maker)
}

// kinds lists all of them; inTransaction lists those that may be queued.
var kinds = []choice{
	{14, (*maker).lock}, {12, (*maker).unlock}, {5, (*maker).lockMany}, {6, (*maker).unlockMany}, {8, (*maker).pop}, {8, (*maker).push},
	{8, (*maker).set}, {5, (*maker).publish}, {8, (*maker).subscribe}, {2, (*maker).unsubscribe}, {2, (*maker).track}, {5, (*maker).selectDB},
	{4, (*maker).replyMode}, {6, (*maker).transaction}, {5, (*maker).script}, {2, (*maker).kill}, {2, (*maker).unblock}, {1, (*maker).http},
	{10, (*maker).listenAndWait}, {8, (*maker).releaseAndFlood},
}

var inTransaction = []choice{
	{6, (*maker).lock}, {6, (*maker).unlock}, {3, (*maker).lockMany}, {6, (*maker).unlockMany}, {3, (*maker).pop}, {4, (*maker).push},
	{4, (*maker).set}, {4, (*maker).publish}, {2, (*maker).selectDB}, {2, (*maker).kill}, {1, (*maker).unblock}, {4, (*maker).echo},
	{3, (*maker).script},
}

// write makes the commands of one write. Some of them are followed by a question with a known answer.
func (m *maker) write() []*command {
	for range 1 + m.random.IntN(4) {
		m.some(kinds)
		if m.random.IntN(2) == 0 {
			m.echo()
		}
	}
	return m.made
}

func (m *maker) some(of []choice) {
	all := 0
	for _, k := range of {
		all += k.share
	}
	at := m.random.IntN(all)
	for _, k := range of {
		if at -= k.share; at < 0 {
			k.make(m)
			return
		}
	}
}

// add adds a command, which may be muted by CLIENT REPLY.
func (m *maker) add(c *command) {
	c.muted = c.muted || m.mute != replyOn
	if m.mute == replySkip {
		m.mute = replyOn
	}
	m.made = append(m.made, c)
}

func (m *maker) place(of []string) place { return place{m.db, of[m.random.IntN(len(of))]} }

// unique returns a word that no other command has.
func (m *maker) unique() string {
	m.words++
	return fmt.Sprintf("%s.%d", m.book.owner, m.words)
}

func (m *maker) echo() {
	word := m.unique()
	m.add(&command{words: []string{"ECHO", word}, accepts: says(strconv.Quote(word))})
}

// waiting adds how long a command may wait: not at all, for a moment, or without limit.
func (m *maker) waiting(c *command, at place) {
	switch m.random.IntN(4) {
	case 0:
	case 1:
		c.words = append(c.words, "WAIT", "3")
		c.key = at
	default:
		c.words = append(c.words, "WAIT", "0")
		c.key = at
	}
}

func (m *maker) lease() []string {
	if m.random.IntN(3) == 0 {
		return nil // no lease: the server renews it
	}
	return []string{"PX", "600000"}
}

func acceptsLock(p place) accept {
	return func(b *book, v resp.Value, answered bool) bool {
		switch {
		case !answered:
			b.hold(p).unsure = true
			return true
		case v.Kind == resp.Integer:
			return v.Int > 0 && b.took(p, v.Int)
		}
		return v.IsNull() || isRefusedWait(v)
	}
}

// isRefusedWait reports whether a wait ended with an allowed error.
func isRefusedWait(v resp.Value) bool {
	return v.IsError() && (strings.HasPrefix(v.Str, "DEADLOCK ") || strings.HasPrefix(v.Str, "UNBLOCKED "))
}

func (m *maker) lock() {
	p := m.place(locks)
	c := &command{words: append([]string{"LOCK", p.key, m.book.owner}, m.lease()...), accepts: acceptsLock(p)}
	m.waiting(c, p)
	m.add(c)
}

func acceptsUnlock(p place) accept {
	return func(b *book, v resp.Value, answered bool) bool {
		if !answered {
			b.hold(p).unsure = true
			return true
		}
		return (v.Kind == resp.Integer || v.IsNull()) && b.released(p, !v.IsNull())
	}
}

func (m *maker) unlock() {
	p := m.place(locks)
	m.add(&command{words: []string{"UNLOCK", p.key, m.book.owner}, accepts: acceptsUnlock(p)})
}

// several returns different locks of the database.
func (m *maker) several() (keys []string) {
	for _, i := range m.random.Perm(len(locks))[:2+m.random.IntN(len(locks)-1)] {
		keys = append(keys, locks[i])
	}
	return keys
}

// each accepts an array of the replies that are possible for each key, or a common reply of refusal.
func each(db int, keys []string, accepts func(place) accept, refused func(resp.Value) bool) accept {
	return func(b *book, v resp.Value, answered bool) bool {
		if answered && refused(v) {
			return true
		}
		if answered && (v.Kind != resp.Array || len(v.Elems) != len(keys)) {
			return false
		}
		for i, key := range keys {
			var of resp.Value
			if answered {
				of = v.Elems[i]
			}
			if !accepts(place{db, key})(b, of, answered) {
				return false
			}
		}
		return true
	}
}

func (m *maker) lockMany() {
	keys := m.several()
	c := &command{words: append([]string{"MLOCK", strconv.Itoa(len(keys))}, keys...),
		accepts: each(m.db, keys, acceptsLock, func(v resp.Value) bool { return v.IsNull() || isRefusedWait(v) })}
	c.words = append(append(c.words, m.book.owner), m.lease()...)
	m.waiting(c, place{m.db, keys[0]})
	m.add(c)
}

func (m *maker) unlockMany() {
	keys := m.several()
	m.add(&command{words: append(append([]string{"MUNLOCK", strconv.Itoa(len(keys))}, keys...), m.book.owner),
		accepts: each(m.db, keys, acceptsUnlock, func(resp.Value) bool { return false })})
}

func (m *maker) pop() {
	p := m.place(lists)
	wait := "0"
	if m.random.IntN(2) == 0 {
		wait = "0.003"
	}
	m.popAt(p, wait)
}

func (m *maker) popAt(p place, wait string) {
	m.add(&command{words: []string{"BLPOP", p.key, wait}, key: p, accepts: func(b *book, v resp.Value, answered bool) bool {
		switch {
		case !answered:
			b.lost++
			return true
		case v.Kind == resp.Array && len(v.Elems) == 2 && v.Elems[0].Str == p.key:
			b.popped = append(b.popped, v.Elems[1].Str)
			return true
		}
		return v.IsNull() || isRefusedWait(v)
	}})
}

func (m *maker) push() {
	p := m.place(lists)
	c := &command{words: []string{"RPUSH", p.key, m.unique(), m.unique()}}
	c.accepts = func(b *book, v resp.Value, answered bool) bool {
		if answered {
			b.pushed = append(b.pushed, c.words[2:]...)
		}
		return !answered || v.Kind == resp.Integer && v.Int >= 2
	}
	m.add(c)
}

func (m *maker) set() {
	m.add(&command{words: []string{"SET", m.place(strs).key, "1"}, accepts: says("+OK")})
}

func (m *maker) publish() {
	text := []string{"small", large}[m.random.IntN(2)]
	m.add(&command{words: []string{"PUBLISH", "channel", text}, accepts: saysNumber})
}

// channels lists the subscriptions of clients.
var channels = [][]string{{"PSUBSCRIBE", "__key*"}, {"SUBSCRIBE", "channel"}, {"SUBSCRIBE", "__keyevent@0__:set"}, {"PSUBSCRIBE", "__keyevent@?__:lock"},
	{"PSUBSCRIBE", "__keyevent@?__:lpop"}, {"PSUBSCRIBE", "__keyspace@1__:lock*"}, {"PSUBSCRIBE", "__keyevent@?__:unlock"}}

func (m *maker) subscribe() {
	m.add(&command{words: channels[m.random.IntN(len(channels))], noReply: true})
}

func (m *maker) unsubscribe() {
	m.add(&command{words: []string{"PUNSUBSCRIBE"}, noReply: true})
}

func (m *maker) track() {
	words := []string{"CLIENT", "TRACKING", "OFF"}
	if m.random.IntN(2) == 0 {
		words = []string{"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", []string{"lock:", "string:"}[m.random.IntN(2)]}
	}
	// A second prefix may overlap the first.
	m.add(&command{words: words, accepts: func(*book, resp.Value, bool) bool { return true }})
}

func (m *maker) selectDB() {
	db := m.random.IntN(dbCount)
	m.add(&command{words: []string{"SELECT", strconv.Itoa(db)}, accepts: says("+OK")})
	m.db = db
}

// The setting of CLIENT REPLY for the next command.
const (
	replyOn = iota
	replyOff
	replySkip
)

func (m *maker) replyMode() {
	if m.mute == replyOff || m.random.IntN(4) > 0 {
		c := &command{words: []string{"CLIENT", "REPLY", "SKIP"}, noReply: true, muted: true}
		if m.mute == replyOff {
			c = &command{words: []string{"CLIENT", "REPLY", "ON"}, accepts: says("+OK")}
			m.mute = replyOn
		} else {
			m.mute = replySkip
		}
		m.made = append(m.made, c)
		return
	}
	m.made = append(m.made, &command{words: []string{"CLIENT", "REPLY", "OFF"}, noReply: true, muted: true})
	m.mute = replyOff
}

// transaction runs a few commands as one. None of them waits.
func (m *maker) transaction() {
	m.add(&command{words: []string{"MULTI"}, accepts: says("+OK")})
	inner := &maker{client: m.client, random: m.random}
	mute := m.mute
	for range 1 + m.random.IntN(4) {
		inner.some(inTransaction)
	}
	m.mute = mute
	for _, part := range inner.made {
		part.key = place{} // no command waits there
		m.add(&command{words: part.words, accepts: says("+QUEUED")})
	}
	m.add(exec(inner.made))
}

// script releases a lock, takes another and publishes a message.
func (m *maker) script() {
	p, q := m.place(locks), m.place(locks)
	const code = "local u = redis.call('UNLOCK', KEYS[1], ARGV[1]) local l = redis.call('LOCK', KEYS[2], ARGV[1], 'PX', '600000') " +
		"redis.call('SET', KEYS[3], '1') return {u, l, ARGV[2]}"
	word := m.unique()
	m.add(&command{words: []string{"EVAL", code, "3", p.key, q.key, m.place(strs).key, m.book.owner, word}, accepts: func(b *book, v resp.Value, answered bool) bool {
		if !answered {
			return acceptsUnlock(p)(b, v, false) && acceptsLock(q)(b, v, false)
		}
		if v.Kind != resp.Array || len(v.Elems) != 3 || v.Elems[2].Str != word {
			return false
		}
		return acceptsUnlock(p)(b, v.Elems[0], true) && acceptsLock(q)(b, v.Elems[1], true)
	}})
}

// kill ends another client.
func (m *maker) kill() {
	victim := m.world.clients[m.random.IntN(len(m.world.clients))]
	if victim == m.client {
		return
	}
	m.add(&command{words: []string{"CLIENT", "KILL", "ID", victim.id}, accepts: saysNumber})
	victim.mayEnd.Store(true)
}

// listenAndWait puts a client in a state in which one unit can grant it a lock and end it because of too much
// output.
func (m *maker) listenAndWait() {
	if m.random.IntN(3) == 0 {
		if m.random.IntN(2) == 0 {
			m.add(&command{words: []string{"PSUBSCRIBE", "__keyevent@?__:lpop"}, noReply: true})
		}
		m.popAt(place{m.db, lists[1]}, "0")
		return
	}
	m.add(&command{words: channels[m.random.IntN(2)], noReply: true})
	p := m.place(locks)
	m.add(&command{words: append(append([]string{"LOCK", p.key, m.book.owner}, m.lease()...), "WAIT", "0"), key: p, accepts: acceptsLock(p)})
}

// releaseAndFlood makes such a unit.
func (m *maker) releaseAndFlood() {
	keys := m.several()
	if m.random.IntN(4) == 0 {
		m.add(&command{words: []string{"MULTI"}, accepts: says("+OK")})
		parts := []*command{{words: append(append([]string{"MUNLOCK", strconv.Itoa(len(keys))}, keys...), m.book.owner),
			accepts: each(m.db, keys, acceptsUnlock, func(resp.Value) bool { return false })},
			{words: []string{"SET", strs[1], "1"}, accepts: says("+OK")}, {words: []string{"PUBLISH", "channel", large}, accepts: saysNumber}}
		for _, part := range parts {
			m.add(&command{words: part.words, accepts: says("+QUEUED")})
		}
		m.add(exec(parts))
		return
	}
	for _, key := range keys {
		p := place{m.db, key}
		m.add(&command{words: []string{"UNLOCK", p.key, m.book.owner}, accepts: acceptsUnlock(p)})
	}
	m.add(&command{words: []string{"SET", strs[1], "1"}, accepts: says("+OK")})
	m.add(&command{words: []string{"PUBLISH", "channel", large}, accepts: saysNumber})
}

func (m *maker) unblock() {
	words := []string{"CLIENT", "UNBLOCK", m.world.clients[m.random.IntN(len(m.world.clients))].id}
	if m.random.IntN(2) == 0 {
		words = append(words, "ERROR")
	}
	m.add(&command{words: words, accepts: saysNumber})
}

// http sends a request for which the server closes the connection without a reply.
func (m *maker) http() {
	m.add(&command{words: []string{"POST", "/", "HTTP/1.1"}, noReply: true})
	m.mayEnd.Store(true)
}
