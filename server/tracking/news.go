package tracking

import (
	"cmp"
	"maps"
	"slices"

	"lockserver/commands"
)

// News sends the messages. Its owner reports every change, so a lock that is taken, a key that expires and
// one that is evicted need nothing of their own. A client gets messages about its own changes after the reply
// of the command, or of the whole transaction, and after other messages of that command. Those of BCAST are
// gathered until the slice ends, so that a pipeline makes one message of many keys.
type News[C comparable] struct {
	Table[C]
	door  Door[C]
	most  int64 // tracking-table-max-keys; 0: no bound
	actor C     // the client that runs the current command, the zero value if none does
	// writer is the same for clients that listen to prefixes. As in Redis they get no client for a script's
	// changes: it is the zero value then.
	writer C
	own    []ownNews[C] // the messages of the running command for actor
	// flushed: the running command has emptied a database, and the message has been sent; it may empty many.
	flushed bool
	found   []int // buffer for places of keys
}

// Door is what News asks of the server. No field may be nil.
type Door[C comparable] struct {
	// ID is a client's number. Client finds a connected client by its number.
	ID     func(client C) int64
	Client func(id int64) (client C, ok bool)
	// Tracker is what a client tracks by; nil: it does not track.
	Tracker func(client C) *Tracker[C]
	// Version is the version of the protocol that a client uses. Listens reports whether it is subscribed to
	// anything.
	Version func(client C) int
	Listens func(client C) bool
	// Deliver sends a message, which is not to be changed any more.
	Deliver func(to C, message []byte)
	// Chance draws a number below n.
	Chance func(n int) int
	// Later reports whether TellOwn is called later than right after a command.
	Later func() bool
	// SweepSoon has SweepSome called in a millisecond.
	SweepSoon func()
	Commands  *commands.Table
}

// ownNews is a message to the client that runs the current command.
type ownNews[C comparable] struct {
	to      *Tracker[C]
	message *Invalidation
}

const (
	// SweepMost is how many readings of those who have left are forgotten at a time.
	SweepMost = 1024
	// SpareEvictions is how many more keys than it has added a command evicts when the bound was lowered.
	SpareEvictions = 100
)

// Open gives News its door. It is called once, before anything else.
func (n *News[C]) Open(door Door[C]) { n.door = door }

// LeaveFor forgets a client that has gone, and what it has read.
func (n *News[C]) LeaveFor(client C) {
	if n.Leave(client) {
		n.SweepSome()
	}
}

// SweepSome forgets some of what those have read who have left, and of what is above the bound.
func (n *News[C]) SweepSome() {
	more := n.Sweep(SweepMost)
	if n.evict(SpareEvictions) || more {
		n.door.SweepSoon()
	}
}

// Bound sets how many keys are remembered; 0: there is no bound. SweepSome does what that takes.
func (n *News[C]) Bound(most int64) {
	if n.most = most; n.isOver() {
		n.door.SweepSoon()
	}
}

// Act sets the client that runs the current command; the zero value: none does.
func (n *News[C]) Act(client C) { n.actor, n.writer = client, client }

// Actor returns the client that runs the current command, the zero value if none does.
func (n *News[C]) Actor() C { return n.actor }

// Quiet reports whether no command runs and no message is kept for its client. It is for tests.
func (n *News[C]) Quiet() bool {
	var none C
	return n.actor == none && n.writer == none && len(n.own) == 0
}

// isOver reports whether more keys are remembered than tracking-table-max-keys allows.
func (n *News[C]) isOver() bool { return n.most > 0 && int64(n.Keys()) > n.most }

// Run runs a handler of a client's command while at least one client tracks. Changes count as the client's
// own, and what it reads is remembered if the client tracks. The client gets messages about its own changes
// right after the command, unless Door.Later says otherwise.
func (n *News[C]) Run(c *commands.Ctx, client C) error {
	var none C
	actor, writer := n.actor, n.writer
	if n.actor, n.writer, n.flushed = client, client, false; c.FromScript {
		n.writer = none
	}
	err := c.Row.Run(c)
	if actor == none && !n.door.Later() {
		n.TellOwn()
	}
	n.actor, n.writer = actor, writer
	n.Read(client, c.Row, c.Argv)
	return err
}

// Read remembers the keys that a client's command has read, whatever came of it, if the client tracks. A
// command that waits reads each time that it is tried.
func (n *News[C]) Read(client C, row *commands.Row, argv [][]byte) {
	tr := n.door.Tracker(client)
	if tr == nil || !tr.Remembers() || !row.Flags.Has(commands.ReadOnly) || row.Group == commands.Scripting {
		return
	}
	var err error
	if n.found, err = n.door.Commands.KeyPositions(row, argv, n.found[:0]); err != nil {
		return
	}
	evictions := SpareEvictions
	for _, at := range n.found {
		if n.Remember(tr, argv[at]) {
			evictions++
		}
	}
	if n.isOver() {
		n.evict(evictions)
	}
}

// evict tells of keys by chance, as if they had changed, until there are no more than
// tracking-table-max-keys; at most so many. It reports whether there are more.
func (n *News[C]) evict(most int) (more bool) {
	var none C
	for ; n.isOver() && most > 0; most-- {
		n.invalidate(n.KeyAt(n.door.Chance(n.Keys())), none)
	}
	return n.isOver()
}

// KeyChanged tells those who have read the key, or listen to its prefix.
func (n *News[C]) KeyChanged(key []byte) {
	if len(n.prefixes) > 0 {
		n.RecordChange(key, n.writer)
	}
	if k := n.Key(key); k != nil {
		n.invalidate(k, n.actor)
	}
}

// invalidate sends messages to the readers of a key, and forgets it. actor is the client that changed it, the
// zero value if none did.
func (n *News[C]) invalidate(k *Key[C], actor C) {
	m := Invalidation{Keys: []string{k.Name}}
	for _, r := range k.Readers {
		if r.By.Hears(actor) {
			n.tellOrKeep(r.By, &m)
		}
	}
	n.Forget(k)
}

// Flushed tells every tracker that all keys may be gone, once a command.
func (n *News[C]) Flushed() {
	if n.flushed {
		return
	}
	n.flushed = true
	var m Invalidation
	byID := func(x, y *Tracker[C]) int { return cmp.Compare(n.door.ID(x.Of), n.door.ID(y.Of)) } // one may hear of several
	for _, tr := range slices.SortedFunc(maps.Keys(n.trackers), byID) {
		n.tellOrKeep(tr, &m)
	}
	n.ForgetAll()
}

// tellOrKeep sends a message to a tracker, but keeps messages for the client that runs the current command:
// see TellOwn.
func (n *News[C]) tellOrKeep(tr *Tracker[C], m *Invalidation) {
	if tr.Of == n.actor {
		n.own = append(n.own, ownNews[C]{tr, m})
		return
	}
	n.tell(tr, m)
}

// TellOwn sends the kept messages to the client that has run the command.
func (n *News[C]) TellOwn() {
	if len(n.own) == 0 {
		return
	}
	for _, news := range n.own {
		n.tell(news.to, news.message)
	}
	clear(n.own)
	n.own = n.own[:0]
}

// tell sends a message to a tracker, or to the client that it redirects to. Version 2 of the protocol has
// messages only for subscribers, so nothing else reaches a client there.
func (n *News[C]) tell(tr *Tracker[C], m *Invalidation) {
	to := tr.Of
	if tr.Redirect != 0 {
		var ok bool
		if to, ok = n.door.Client(tr.Redirect); !ok {
			n.tellBroken(tr)
			return
		}
	}
	if version := n.door.Version(to); version >= 3 || tr.Redirect != 0 && n.door.Listens(to) {
		n.door.Deliver(to, m.In(version))
	}
}

// tellBroken tells a tracker that the client that it redirects to is gone.
func (n *News[C]) tellBroken(tr *Tracker[C]) {
	tr.Broken = true
	if n.door.Version(tr.Of) >= 3 {
		n.door.Deliver(tr.Of, RedirectBroken(tr.Redirect))
	}
}

// Broadcast tells of the keys with a prefix that have changed since the last call, each once, in the order of
// their names.
func (n *News[C]) Broadcast() {
	for _, p := range n.prefixes {
		changed := p.Changed()
		if changed == nil {
			continue
		}
		all := Invalidation{Keys: changed}
		for tr := range p.Members {
			if !tr.NoLoop {
				n.tell(tr, &all)
			} else if others := p.ChangedByOthers(changed, tr.Of); len(others) > 0 {
				n.tell(tr, &Invalidation{Keys: others})
			}
		}
		p.MarkSent()
	}
}
