package testmode

import (
	"slices"
	"sync"
	"sync/atomic"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/glob"
)

// Kind is what a fault does to a command.
type Kind uint8

// The kinds.
const (
	Error      Kind = iota // it is not run, and answered with an error
	Delay                  // it is run, and its reply comes later
	DropBefore             // it is not run, and the connection is closed
	DropAfter              // it is run, and the connection is closed before its reply
	Close                  // it is run and answered, and the connection is closed
	// The rest are for Chaos alone.
	Expire   // a lock's lease ends just before it is run
	Failover // the next member leads, and the connection to the old leader is lost before it is run
	Restart  // every connection is lost before it is run, and the scripts
)

// single is the last kind that TEST.FAULT ADD knows.
const single = Close

// kinds are the words of TEST.FAULT ADD and of TEST.CHAOS.
var kinds = [...]string{Error: "ERROR", Delay: "DELAY", DropBefore: "DROPBEFORE", DropAfter: "DROPAFTER", Close: "CLOSE",
	Expire: "EXPIRE", Failover: "FAILOVER", Restart: "RESTART"}

// Fault is one that is to strike. Its zero value answers every command with an empty error.
type Fault struct {
	Kind    Kind
	Text    string // of Error
	DelayMS int64  // of Delay
	// Command, if not empty, is the only one that it strikes, "client|list" a subcommand; Key a pattern that
	// one of its keys fits; Client the only connection, by its id.
	Command string
	Key     string
	Client  int64
	Times   int64 // how often it still strikes; 0: without end
	Skip    int64 // how many matching commands pass before it strikes
	Struck  int64 // how often it has struck
}

// Call is a command that is about to run.
type Call struct {
	Command string // its full name
	Group   commands.Group
	Client  int64
	Keys    func() [][]byte
}

// fits reports whether a fault is for a command.
func (f *Fault) fits(c *Call) bool {
	if f.Client != 0 && f.Client != c.Client || f.Command != "" && !ascii.EqualFold([]byte(f.Command), c.Command) {
		return false
	}
	return f.Key == "" || slices.ContainsFunc(c.Keys(), func(key []byte) bool { return glob.Match([]byte(f.Key), key, false) })
}

// Faults are those of a server. Its methods may be called at any time, on any goroutine.
type Faults struct {
	mu     sync.Mutex
	list   []entry // in the order in which they were added
	lastID int64
	some   atomic.Bool // there are any
}

type entry struct {
	id    int64
	fault Fault
	over  bool // it strikes no more
}

// Some reports whether there are faults.
func (l *Faults) Some() bool { return l != nil && l.some.Load() }

// Add adds one, and returns its number.
func (l *Faults) Add(f Fault) (id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastID++
	f.Struck = 0
	l.list = append(l.list, entry{id: l.lastID, fault: f})
	l.some.Store(true)
	return l.lastID
}

// Remove takes one away, and reports whether it was there.
func (l *Faults) Remove(id int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.list)
	l.list = slices.DeleteFunc(l.list, func(e entry) bool { return e.id == id })
	l.some.Store(len(l.list) > 0)
	return len(l.list) < before
}

// Clear takes all away, and returns how many they were.
func (l *Faults) Clear() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := int64(len(l.list))
	l.list = nil
	l.some.Store(false)
	return n
}

// Forget is Clear, and makes numbers begin again.
func (l *Faults) Forget() {
	l.Clear()
	l.mu.Lock()
	l.lastID = 0
	l.mu.Unlock()
}

// Each visits all with their numbers, those that strike no more, too.
func (l *Faults) Each(visit func(id int64, f Fault)) {
	l.mu.Lock()
	list := slices.Clone(l.list)
	l.mu.Unlock()
	for i := range list {
		visit(list[i].id, list[i].fault)
	}
}

// Strike returns the fault that strikes a command, the first that fits it; ok: there is one.
func (l *Faults) Strike(c *Call) (f Fault, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.list {
		e := &l.list[i]
		switch {
		case e.over || !e.fault.fits(c):
			continue
		case e.fault.Skip > 0:
			e.fault.Skip--
			continue
		}
		e.fault.Struck++
		if e.fault.Times > 0 {
			e.fault.Times--
			e.over = e.fault.Times == 0
		}
		return e.fault, true
	}
	return Fault{}, false
}
