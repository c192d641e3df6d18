package testmode

import (
	"slices"
	"sync"
	"sync/atomic"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/glob"
)

// Kind is the effect of a fault on a command.
type Kind uint8

// The kinds.
const (
	Error      Kind = iota // it does not run, and gets an error reply
	Delay                  // it runs, and its reply is delayed
	DropBefore             // it does not run, and the connection is closed
	DropAfter              // it runs, and the connection is closed before its reply
	Close                  // it runs and gets its reply, and then the connection is closed
	Silence                // it does not run, and its connection is never answered again
	// The other kinds are only for Chaos.
	Expire   // a lock's lease ends just before it runs
	Failover // the next member leads, and the connection to the old leader is lost before it runs
	Restart  // every connection and the scripts are lost before it runs
)

// single is the last kind that TEST.FAULT ADD accepts.
const single = Silence

// kinds holds the words of TEST.FAULT ADD and of TEST.CHAOS.
var kinds = [...]string{Error: "ERROR", Delay: "DELAY", DropBefore: "DROPBEFORE", DropAfter: "DROPAFTER", Close: "CLOSE", Silence: "SILENCE",
	Expire: "EXPIRE", Failover: "FAILOVER", Restart: "RESTART"}

// Fault is a fault for future commands. The zero value gives every command an error with an empty text.
type Fault struct {
	Kind    Kind
	Text    string // for Error
	DelayMS int64  // for Delay
	// Command, if not empty, limits the fault to a command or subcommand ("client|list"). Key limits it to
	// commands with a key that matches the pattern, Client to a connection by its ID.
	Command string
	Key     string
	Client  int64
	Times   int64 // how often it will still strike; 0: no limit
	Skip    int64 // number of matching commands before it strikes
	Struck  int64 // how often it has struck
}

// Call is a command that is about to run.
type Call struct {
	Command string // its full name
	Group   commands.Group
	Client  int64
	Keys    func() [][]byte
}

// fits reports whether a fault matches a command.
func (f *Fault) fits(c *Call) bool {
	if f.Client != 0 && f.Client != c.Client || f.Command != "" && !ascii.EqualFold([]byte(f.Command), c.Command) {
		return false
	}
	return f.Key == "" || slices.ContainsFunc(c.Keys(), func(key []byte) bool { return glob.Match([]byte(f.Key), key, false) })
}

// Faults holds the faults of a server. Its methods may be called at any time, on any goroutine.
type Faults struct {
	mu     sync.Mutex
	list   []entry // in the order in which they were added
	lastID int64
	some   atomic.Bool // the list is not empty
}

type entry struct {
	id    int64
	fault Fault
	over  bool // it will not strike any more
}

// Some reports whether there are faults.
func (l *Faults) Some() bool { return l != nil && l.some.Load() }

// Add adds a fault, and returns its number.
func (l *Faults) Add(f Fault) (id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastID++
	f.Struck = 0
	l.list = append(l.list, entry{id: l.lastID, fault: f})
	l.some.Store(true)
	return l.lastID
}

// Remove removes a fault, and reports whether it existed.
func (l *Faults) Remove(id int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.list)
	l.list = slices.DeleteFunc(l.list, func(e entry) bool { return e.id == id })
	l.some.Store(len(l.list) > 0)
	return len(l.list) < before
}

// Clear removes all faults, and returns their number.
func (l *Faults) Clear() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := int64(len(l.list))
	l.list = nil
	l.some.Store(false)
	return n
}

// Forget does what Clear does, and restarts the numbers.
func (l *Faults) Forget() {
	l.Clear()
	l.mu.Lock()
	l.lastID = 0
	l.mu.Unlock()
}

// Each visits all faults with their numbers, including finished faults.
func (l *Faults) Each(visit func(id int64, f Fault)) {
	l.mu.Lock()
	list := slices.Clone(l.list)
	l.mu.Unlock()
	for i := range list {
		visit(list[i].id, list[i].fault)
	}
}

// CutOff reports whether no command is answered: there is a Silence for all commands.
func (l *Faults) CutOff() (is bool) {
	l.Each(func(_ int64, f Fault) { is = is || f == Fault{Kind: Silence, Struck: f.Struck} })
	return is
}

// Strike returns the first fault that matches a command; ok is false if none matches.
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
