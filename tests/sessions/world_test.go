package sessions

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/server"
)

// clientCount is the number of random clients in a history.
const clientCount = 4

// world is a server and its clients. It plays one history.
type world struct {
	seed     uint64
	where    string
	paced    bool // each step is over before the next one begins
	exact    bool // what a client had not read when the server ended its connection is known, and was taken back
	patience time.Duration
	srv      *server.Server
	dial     func() (net.Conn, error)
	clients  []*client
	dead     []*client
	opened   int
	log      []string // the events

	admin   net.Conn
	adminIn *bufio.Reader
}

// transports lists the ways in which clients connect; exact is world.exact.
var transports = []struct {
	name  string
	loops int
	pipe  bool
	exact bool
}{{"an event loop", 1, false, true}, {"pipes", 0, true, true}, {"goroutines", 0, false, false}, {"three event loops", 3, false, true}}

// newWorld starts a server. The seed determines how clients connect.
func newWorld(seed uint64, patience time.Duration) (*world, error) {
	by := transports[seed%uint64(len(transports))]
	w := &world{seed: seed, paced: seed/4%4 != 0, exact: by.exact, patience: patience, where: by.name}
	c := config.Default()
	c.Port, c.Save, c.DBFilename = 0, nil, ""
	limit := fmt.Sprintf("normal %d 0 0 pubsub %d 0 0", mostOutput*8, mostOutput)
	if _, err := c.Set([]string{"notify-keyspace-events", "KEA", "client-output-buffer-limit", limit}, true); err != nil {
		return nil, err
	}
	o := server.Options{Directives: c.Directives(), Seed: seed, EventLoops: by.loops > 0}
	if by.loops > 0 {
		c.IOThreads = by.loops
	}
	var err error
	if w.srv, err = server.New(o); err != nil {
		return nil, err
	}
	if err := w.srv.Start(); err != nil {
		return nil, err
	}
	w.dial = func() (net.Conn, error) { return net.Dial(w.srv.Addr().Network(), w.srv.Addr().String()) }
	if by.pipe {
		w.dial = w.srv.Dial
	}
	if w.admin, err = w.srv.Dial(); err != nil {
		return nil, err
	}
	w.adminIn = bufio.NewReader(w.admin)
	for i := range clientCount {
		w.clients = append(w.clients, nil)
		if err := w.open(i); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// open opens a new connection for a client.
func (w *world) open(i int) error {
	conn, err := w.dial()
	if err != nil {
		return err
	}
	w.opened++
	c := &client{world: w, conn: conn, book: newBook(fmt.Sprintf("c%d.%d", i, w.opened)), gone: make(chan struct{})}
	in := bufio.NewReader(conn)
	if _, err := conn.Write([]byte("HELLO 3\r\nCLIENT ID\r\n")); err != nil {
		return err
	}
	for range 2 {
		v, err := resp.ReadValue(in)
		if err != nil || v.IsError() {
			return fmt.Errorf("a new connection: %v %w", v, err)
		}
		c.id = v.String()
	}
	w.clients[i] = c
	go c.read(in)
	return nil
}

// close ends the server and all connections.
func (w *world) close() {
	for _, c := range w.clients {
		_ = c.conn.Close()
		<-c.gone
	}
	_ = w.admin.Close()
	_ = w.srv.Close()
}

// ask sends commands and returns their replies.
func (w *world) ask(commands ...[]string) ([]resp.Value, error) {
	var out []byte
	for _, c := range commands {
		words := make([][]byte, len(c))
		for i, word := range c {
			words[i] = []byte(word)
		}
		out = resp.AppendCommand(out, words...)
	}
	_ = w.admin.SetReadDeadline(time.Now().Add(w.patience + 10*time.Second))
	if _, err := w.admin.Write(out); err != nil {
		return nil, fmt.Errorf("the server has stopped: %w", err)
	}
	replies := make([]resp.Value, len(commands))
	for i := range replies {
		var err error
		if replies[i], err = resp.ReadValue(w.adminIn); err != nil {
			return nil, fmt.Errorf("the server does not answer: %w", err)
		}
	}
	return replies, nil
}

// step is a step of a history. When it runs, the commands of its client are made from its seed.
type step struct {
	kind, client int
	seed         uint64
}

const (
	stepWrite = iota
	stepHangUp
	stepCheck
)

// steps returns the steps of a history.
func steps(seed uint64) []step {
	r := rand.New(rand.NewPCG(seed, 1))
	list := make([]step, 20+r.IntN(40))
	for i := range list {
		list[i] = step{client: r.IntN(clientCount), seed: r.Uint64()}
		switch n := r.IntN(100); {
		case n < 5:
			list[i].kind = stepHangUp
		case n < 20:
			list[i].kind = stepCheck
		}
	}
	return list
}

// live plays a history and returns the fault.
func (w *world) live(history []step) error {
	for _, s := range history {
		if err := w.take(s); err != nil {
			return err
		}
	}
	return w.finish()
}

func (w *world) take(s step) error {
	c := w.clients[s.client]
	if s.kind == stepCheck {
		return w.eventually(w.check)
	}
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if ended {
		w.dead = append(w.dead, c)
		_ = c.conn.Close()
		if err := w.open(s.client); err != nil {
			return err
		}
		c = w.clients[s.client]
	}
	if s.kind == stepHangUp {
		w.log = append(w.log, c.book.owner+" hangs up")
		c.mu.Lock()
		c.hungUp = true
		c.mu.Unlock()
		_ = c.conn.Close()
		<-c.gone
	} else {
		commands := (&maker{client: c, random: rand.New(rand.NewPCG(s.seed, 2))}).write()
		texts := make([]string, len(commands))
		for i, cmd := range commands {
			texts[i] = cmd.String()
		}
		w.log = append(w.log, c.book.owner+" writes "+strings.Join(texts, " | "))
		c.write(commands)
	}
	if w.paced {
		return w.eventually(w.quiet)
	}
	return nil
}

// eventually waits until there is no error. An error that persists is a fault.
func (w *world) eventually(inOrder func() error) error {
	for end := time.Now().Add(w.patience); ; time.Sleep(100 * time.Microsecond) {
		err := inOrder()
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

// waits holds the server's list of its connections.
type waits struct {
	is    map[string]bool       // by CLIENT ID: whether a command of the client waits
	could map[string][]*command // the commands that may be meant
}

// waiting asks which clients are connected, and whether a command of them waits.
func (w *world) waiting() (waits, error) {
	said := waits{make(map[string]bool), make(map[string][]*command)}
	for _, c := range w.clients {
		said.could[c.id] = c.mayWait()
	}
	v, err := w.ask([]string{"CLIENT", "LIST"})
	if err != nil {
		return said, err
	}
	for line := range strings.Lines(v[0].Str) {
		_, id, _ := strings.Cut(line, "id=")
		id, _, _ = strings.Cut(id, " ")
		_, flags, _ := strings.Cut(line, " flags=")
		flags, _, _ = strings.Cut(flags, " ")
		said.is[id] = strings.Contains(flags, "b")
	}
	return said, nil
}

// quiet returns nil when each client has got its replies or waits.
func (w *world) quiet() error {
	said, err := w.waiting()
	if err != nil {
		return err
	}
	return w.quietAs(said)
}

// quietAs is quiet with a given list of the server.
func (w *world) quietAs(said waits) error {
	for _, c := range w.clients {
		is, there := said.is[c.id]
		c.mu.Lock()
		ended := c.ended
		c.mu.Unlock()
		if there == ended {
			return fmt.Errorf("%s: its end is known to one side only (the server has it: %v)", c.book.owner, there)
		}
		if err := c.stuck(is, said.could[c.id]); err != nil {
			return err
		}
	}
	return nil
}

// check compares the books with the server.
func (w *world) check() error {
	if err := w.quiet(); err != nil {
		return err
	}
	for db := range dbCount {
		questions := [][]string{{"SELECT", strconv.Itoa(db)}}
		for _, key := range locks {
			questions = append(questions, []string{"LOCK.INFO", key})
		}
		for _, key := range lists {
			questions = append(questions, []string{"LLEN", key})
		}
		replies, err := w.ask(questions...)
		if err != nil {
			return err
		}
		for i, key := range locks {
			if err := w.checkLock(place{db, key}, replies[1+i]); err != nil {
				return err
			}
		}
		for i, key := range lists {
			if c := w.waitsFor(place{db, key}, "BLPOP"); c != nil && replies[1+len(locks)+i].Int > 0 {
				return fmt.Errorf("%s waits for %s, which is not empty", c.book.owner, place{db, key})
			}
		}
	}
	return nil
}

// waitsFor returns a client that waits for a key, or nil.
func (w *world) waitsFor(p place, name string) *client {
	for _, c := range w.clients {
		c.mu.Lock()
		is := !c.ended && c.parked != nil && !c.parked.muted && c.parked.words[0] == name && c.parked.key == p
		c.mu.Unlock()
		if is {
			return c
		}
	}
	return nil
}

// reserved reports whether an MLOCK may keep a free lock for itself: an MLOCK that also waits for another
// key.
func (w *world) reserved(p place) bool {
	for _, c := range w.clients {
		c.mu.Lock()
		is := !c.ended && slices.ContainsFunc(c.pending, func(cmd *command) bool {
			return cmd.words[0] == "MLOCK" && cmd.key.db == p.db && slices.Contains(cmd.words, p.key)
		})
		c.mu.Unlock()
		if is {
			return true
		}
	}
	return false
}

// checkLock compares the books with LOCK.INFO of a lock. If its owner's connection has ended it frees the
// lock.
func (w *world) checkLock(p place, v resp.Value) error {
	var info lockInfo
	if !v.IsNull() {
		if v.IsError() || len(v.Elems) < 6 {
			return fmt.Errorf("LOCK.INFO of %s: %s", p, v)
		}
		info = lockInfo{v.Elems[1].Str, v.Elems[3].Int, v.Elems[5].Int}
	} else if c := w.waitsFor(p, "LOCK"); c != nil && !w.reserved(p) {
		return fmt.Errorf("%s waits for %s, which is free", c.book.owner, p)
	}
	var orphan bool
	for _, c := range slices.Concat(w.clients, w.dead) {
		c.mu.Lock()
		exact := w.exact && !c.hungUp
		err := c.book.check(p, info, !c.ended, exact)
		orphan = orphan || c.ended && c.book.owner == info.owner
		c.mu.Unlock()
		if err != nil {
			return err
		}
	}
	if orphan {
		// Not LOCK.FORCE: the server may have passed the lock on since.
		one := []string{"UNLOCK", p.key, info.owner, "TOKEN", strconv.FormatInt(info.token, 10)}
		if _, err := w.ask(slices.Repeat([][]string{one}, int(info.holds))...); err != nil {
			return err
		}
		return fmt.Errorf("%s was taken from %s, whose connection has ended", p, info.owner)
	}
	return nil
}

// finish ends every wait. Then each command must have a reply, and everything is compared once more.
func (w *world) finish() error {
	for _, c := range w.clients { // the reply to it shows that the muted commands have run
		m := &maker{client: c}
		m.mute = replyOff
		m.replyMode()
		m.echo()
		c.write(m.made)
	}
	if err := w.eventually(w.unblockAll); err != nil {
		return err
	}
	if err := w.eventually(w.check); err != nil {
		return err
	}
	if err := w.checkLists(); err != nil {
		return err
	}
	for _, c := range w.clients {
		c.mu.Lock()
		c.hungUp = true
		c.mu.Unlock()
		_ = c.conn.Close()
	}
	return w.eventually(w.checkNothingLeft)
}

// unblockAll ends waits. It returns nil when no client waits, and all have their replies.
func (w *world) unblockAll() error {
	said, err := w.waiting()
	if err != nil {
		return err
	}
	for _, c := range w.clients {
		if said.is[c.id] {
			if _, err := w.ask([]string{"CLIENT", "UNBLOCK", c.id}); err != nil {
				return err
			}
			return fmt.Errorf("%s waits still", c.book.owner)
		}
	}
	return w.quietAs(said)
}

// checkLists fails if an element was taken twice. It also fails if an element is missing although no client
// may have taken it without a reply.
func (w *world) checkLists() error {
	where := make(map[string]int)
	lost := 0
	all := slices.Concat(w.clients, w.dead)
	for _, c := range all {
		c.mu.Lock()
		lost += c.book.lost
		for _, e := range c.book.popped {
			where[e]++
		}
		c.mu.Unlock()
	}
	for db := range dbCount {
		questions := [][]string{{"SELECT", strconv.Itoa(db)}}
		for _, key := range lists {
			questions = append(questions, []string{"LRANGE", key, "0", "-1"})
		}
		replies, err := w.ask(questions...)
		if err != nil {
			return err
		}
		for _, v := range replies[1:] {
			for _, e := range v.Elems {
				where[e.Str]++
			}
		}
	}
	for e, n := range where {
		if n > 1 {
			return fmt.Errorf("the element %s is in %d places", e, n)
		}
	}
	var missing []string
	for _, c := range all {
		for _, e := range c.book.pushed {
			if where[e] == 0 {
				missing = append(missing, e)
			}
		}
	}
	if len(missing) > lost {
		return fmt.Errorf("%v are in no list, and were told to nobody; %d may be lost", missing, lost)
	}
	return nil
}

// checkNothingLeft fails unless ended connections have left all queues and audiences.
func (w *world) checkNothingLeft() error {
	replies, err := w.ask([]string{"INFO", "clients"}, []string{"PUBSUB", "CHANNELS"}, []string{"PUBSUB", "NUMPAT"})
	if err != nil {
		return err
	}
	for _, want := range []string{"connected_clients:1\r\n", "blocked_clients:0\r\n", "tracking_clients:0\r\n"} {
		if !strings.Contains(replies[0].Str, want) {
			return fmt.Errorf("INFO does not say %q: %q", want, replies[0].Str)
		}
	}
	if len(replies[1].Elems) > 0 || replies[2].Int != 0 {
		return fmt.Errorf("somebody listens still: %v %v", replies[1], replies[2])
	}
	return nil
}
