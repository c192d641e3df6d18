package tracking

import (
	"cmp"
	"maps"
	"slices"

	"lockserver/commands"
)

// News sends the messages. Its owner reports every change, so taken locks and expired or evicted keys need no
// special handling. A client gets messages about its own changes after the reply of the command, or of the
// whole transaction, and after other messages of that command. Messages of BCAST are collected until the
// slice ends, so that a pipeline makes one message of many keys.
type News[C comparable] struct {
	Table[C]
	door  Door[C]
	most  int64 // tracking-table-max-keys; 0: no limit
	actor C     // the client of the current command, or the zero value
	// writer is the same client for BCAST. As in Redis it is the zero value for a script's changes.
	writer C
	own    []ownNews[C] // messages of the current command for actor
	// flushed says that the current command has emptied a database, and that the message was sent. A command
	// may empty many databases.
	flushed bool
	found   []int // buffer for indices of keys
}

// Door holds the server's functions that News needs. No field may be nil.
type Door[C comparable] struct {
	// ID returns a client's number. Client finds a connected client by its number.
	ID     func(client C) int64
	Client func(id int64) (client C, ok bool)
	// Tracker returns a client's tracker, or nil.
	Tracker func(client C) *Tracker[C]
	// Version returns the protocol version of a client. Listens reports whether it has any subscription.
	Version func(client C) int
	Listens func(client C) bool
	// Deliver sends a message, which must not be changed any more.
	Deliver func(to C, message []byte)
	// Chance returns a random number below n.
	Chance func(n int) int
	// Later reports whether TellOwn is called later than right after the command.
	Later func() bool
	// SweepSoon calls SweepSome in a millisecond.
	SweepSoon func()
	Commands  *commands.Table
}

// ownNews is a message to the client of the current command.
type ownNews[C comparable] struct {
	to      *Tracker[C]
	message *Invalidation
}

const (
	// SweepMost limits the readings of disconnected clients that are removed at a time.
	SweepMost = 1024
	// SpareEvictions is how many more keys a command evicts than it adds, after the limit was lowered.
	SpareEvictions = 100
)

// Open gives News its door. It is called once, before anything else.
func (n *News[C]) Open(door Door[C]) { n.door = door }

// LeaveFor removes a disconnected client and its readings.
func (n *News[C]) LeaveFor(client C) {
	if n.Leave(client) {
		n.SweepSome()
	}
}

// SweepSome removes some of the readings of disconnected clients, and some keys above the limit.
func (n *News[C]) SweepSome() {
	more := n.Sweep(SweepMost)
	if n.evict(SpareEvictions) || more {
		n.door.SweepSoon()
	}
}

// Bound sets the limit of remembered keys; 0: no limit. SweepSome then removes keys above it.
func (n *News[C]) Bound(most int64) {
	if n.most = most; n.isOver() {
		n.door.SweepSoon()
	}
}

// Act sets the client of the current command; the zero value means no client.
func (n *News[C]) Act(client C) { n.actor, n.writer = client, client }

// Actor returns the client of the current command, or the zero value.
func (n *News[C]) Actor() C { return n.actor }

// Quiet reports whether no command is running and no message is kept for its client. It is for tests.
func (n *News[C]) Quiet() bool {
	var none C
	return n.actor == none && n.writer == none && len(n.own) == 0
}

// isOver reports whether more keys are remembered than tracking-table-max-keys allows.
func (n *News[C]) isOver() bool { return n.most > 0 && int64(n.Keys()) > n.most }

// Run runs a handler of a client's command while at least one client tracks. Changes count as the client's
// own. If the client tracks, the keys that it reads are remembered. The client gets messages about its own
// changes right after the command, unless Door.Later returns true.
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

// Read remembers the keys that a client's command has read, with any result, if the client tracks. A waiting
// command reads each time that it is tried.
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

// evict removes random keys, with messages as if they had changed, until there are no more than
// tracking-table-max-keys. It removes at most most keys, and reports whether there are more.
func (n *News[C]) evict(most int) (more bool) {
	var none C
	for ; n.isOver() && most > 0; most-- {
		n.invalidate(n.KeyAt(n.door.Chance(n.Keys())), none)
	}
	return n.isOver()
}

// KeyChanged sends messages to the clients that have read the key, or track one of its prefixes.
func (n *News[C]) KeyChanged(key []byte) {
	if len(n.prefixes) > 0 {
		n.RecordChange(key, n.writer)
	}
	if k := n.Key(key); k != nil {
		n.invalidate(k, n.actor)
	}
}

// invalidate sends messages to the readers of a key, and removes it. actor is the client that changed the
// key, or the zero value.
func (n *News[C]) invalidate(k *Key[C], actor C) {
	m := Invalidation{Keys: []string{k.Name}}
	for _, r := range k.Readers {
		if r.By.Hears(actor) {
			n.tellOrKeep(r.By, &m)
		}
	}
	n.Forget(k)
}

// Flushed tells every tracker that all keys may be gone, once for each command.
func (n *News[C]) Flushed() {
	if n.flushed {
		return
	}
	n.flushed = true
	var m Invalidation
	byID := func(x, y *Tracker[C]) int { return cmp.Compare(n.door.ID(x.Of), n.door.ID(y.Of)) } // a client may be the target of several trackers
	for _, tr := range slices.SortedFunc(maps.Keys(n.trackers), byID) {
		n.tellOrKeep(tr, &m)
	}
	n.ForgetAll()
}

// tellOrKeep sends a message to a tracker. It keeps a message for the client of the current command: see
// TellOwn.
func (n *News[C]) tellOrKeep(tr *Tracker[C], m *Invalidation) {
	if tr.Of == n.actor {
		n.own = append(n.own, ownNews[C]{tr, m})
		return
	}
	n.tell(tr, m)
}

// TellOwn sends the kept messages to the client of the command.
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

// tell sends a message to a tracker, or to the client that it redirects to. Version 2 of the protocol only
// has messages for subscribers, so a client without a subscription gets nothing there.
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

// tellBroken tells a tracker that the target of its redirection has disconnected.
func (n *News[C]) tellBroken(tr *Tracker[C]) {
	tr.Broken = true
	if n.door.Version(tr.Of) >= 3 {
		n.door.Deliver(tr.Of, RedirectBroken(tr.Redirect))
	}
}

// Broadcast sends the messages about changed keys with a prefix since the last call, each key once, in the
// order of their names.
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
