package topology

import (
	"bytes"
	"strconv"
	"strings"

	"lockserver/commands"
	"lockserver/internal/decimal"
	"lockserver/internal/keyslot"
	"lockserver/server/cluster"
)

// Errors of Redis, from a member that must not be asked.
const (
	// ErrSelect is the reply to SELECT of another database than 0.
	ErrSelect commands.Error = "ERR SELECT is not allowed in cluster mode"

	errDown       Redirection    = "CLUSTERDOWN The cluster is down"
	errUnserved   Redirection    = "CLUSTERDOWN Hash slot not served"
	errScriptDown commands.Error = "ERR Script attempted to execute a command while the cluster is down"
	errScriptKey  commands.Error = "ERR Script attempted to access a non local key in a cluster node"
	errCrossSlot  Redirection    = "CROSSSLOT Keys in request don't hash to the same slot"
)

// errUntagged is CROSSSLOT for a name from which the names of keys follow, if the keys do not share its slot.
func errUntagged(name []byte) error {
	return Redirection("CROSSSLOT In a cluster the keys that follow from a name must share its slot: put a hash tag into the name, as {" + printable(name) + "}")
}

// errStream is CROSSSLOT for a sale with a stream in another slot. tag is the hash tag of its voucher.
func errStream(tag []byte) error {
	return Redirection("CROSSSLOT In a cluster a sale's stream must share the slot of its voucher: create it with STREAM and a name that has the hash tag {" + printable(tag) + "}")
}

// errDoubleTag is CROSSSLOT for a stream with a hash tag, since the keys of its delayed entries have one of
// their own.
const errDoubleTag Redirection = "CROSSSLOT In a cluster a stream with a hash tag in its name can have no delayed entries"

// printable is the beginning of a name, as far as it may stand in an error.
func printable(name []byte) string {
	const most = 64
	if len(name) > most {
		name = name[:most]
	}
	for i, b := range name {
		if b < ' ' || b > '~' {
			return string(name[:i])
		}
	}
	return string(name)
}

// Redirection is an error that tells a client of a cluster to ask another member, or later. Unlike others it
// reaches the client of an EXEC as it is.
type Redirection string

func (r Redirection) Error() string { return string(r) }

// Call describes a command for a member. The zero value uses no key.
type Call struct {
	Key     []byte // its first key, or sharded channel
	Keyed   bool   // it has one
	Channel bool   // the key is a channel
	Write   bool
	Reads   bool // it reads data, with or without keys
	Stale   bool // it may run without a leader
	Message bool // it sends a message to the channel Key
	// Keys are the slots of all its keys, if they must share one (Group.Strict). Cross says in which words
	// they do not.
	Keys  cluster.Keys
	Cross error
	// Astray says in which words a key is in another slot that follows from a name. It may follow from the
	// data of the shard that has the slot of the name, so only that one says it.
	Astray error
}

// Add adds a key that the command names, or a channel.
func (c *Call) Add(key []byte) {
	if c.Keys.Add(key); c.Keys.Cross() && c.Cross == nil {
		c.Cross = errCrossSlot
	}
}

// Follows adds a key that follows from a name among the command's words, and reports whether it shares the
// slot of those words. named says that the name is a key itself.
func (c *Call) Follows(name, key []byte, named bool) (fits bool) {
	if n, _ := c.Keys.Slot(); keyslot.Of(key) == n || c.Astray != nil {
		return c.Astray == nil
	}
	tag, tagged := keyslot.Tag(name)
	switch {
	case named:
		c.Astray = errDoubleTag
	case tagged: // so all but the stream share the slot
		c.Astray = errStream(tag)
	default:
		c.Astray = errUntagged(name)
	}
	return false
}

// Misplaced returns the error of a command at a member that leads, if its keys are in several slots or on
// another shard; nil: the command runs. It is for groups that are Strict.
func (g *Group) Misplaced(p *Connection, call *Call) error {
	if call.Cross != nil {
		return call.Cross
	}
	if n, keyed := call.Keys.Slot(); keyed {
		if err := g.elsewhere(p, n); err != nil {
			return err
		}
	}
	return call.Astray
}

// Serves reports whether the member that leads surely serves the slot of a key. If it does not, Misplaced
// looks closer.
func (g *Group) Serves(key []byte) bool {
	now := g.seen.Load()
	return now.whole || uint(keyslot.Of(key)-now.home) < now.length
}

// Neighbor remembers a key in a slot that is served here, for later keys in the same slot.
type Neighbor struct {
	view  *sight
	begun []byte // the key up to the end of its hash tag; without a tag the whole key
	whole bool
}

// mostRemembered is the longest beginning of a key that a Neighbor keeps.
const mostRemembered = 64

// ServesBeside is Serves for a key that probably has the slot of the key before it, as in a script.
func (g *Group) ServesBeside(n *Neighbor, key []byte) bool {
	now := g.seen.Load()
	if n.view == now && bytes.HasPrefix(key, n.begun) && (!n.whole || len(key) == len(n.begun)) {
		return true
	}
	if n.view = nil; !g.Serves(key) {
		return false
	}
	begun := key
	tag, tagged := keyslot.Tag(key)
	if tagged {
		begun = key[:bytes.IndexByte(key, '{')+len(tag)+2]
	}
	if len(begun) <= mostRemembered {
		n.view, n.begun, n.whole = now, append(n.begun[:0], begun...), !tagged
	}
	return true
}

// elsewhere is why a slot is not served here; nil: it is.
func (g *Group) elsewhere(p *Connection, n int) error {
	now := g.seen.Load()
	if !now.sharded || now.leader != nil && now.leader.has(n) {
		return nil
	}
	to := now.owner(n)
	// plant:slots-elsewhere
	switch {
	case to == nil, in(now.Lost, n):
		return errUnserved
	case now.Shard != "" && to.Shard == now.Shard: // of this shard, which another member leads
		return nil
	}
	return moved(p, n, to)
}

// Redirect returns the error for a command at a member that does not lead, or nil if the command may run.
func (g *Group) Redirect(p *Connection, call *Call) error {
	now := g.seen.Load()
	if call.Cross != nil {
		return call.Cross
	}
	if call.Message && !g.options.ReplicasServe { // subscribers get what the leader sends
		call = &Call{Key: call.Key, Keyed: true, Write: true}
	}
	if g.options.Form == Sentinel {
		return g.refuse(now, call)
	}
	serves := g.options.ReplicasServe && (p.ReadOnly || call.Channel || !call.Keyed)
	switch {
	case !call.Keyed && call.Write:
		return commands.ErrReadOnly
	case !call.Keyed && (!call.Reads || serves):
		return nil
	case now.leader == nil:
		// plant:slots-no-leader
		return errDown
	case serves && !call.Write:
		return nil
	}
	n := 0
	if call.Keyed {
		n = keyslot.Of(call.Key)
	}
	return moved(p, n, now.leader)
}

// refuse does what Redirect does, for clients with Sentinel: no error names the leader.
func (g *Group) refuse(now *sight, call *Call) error {
	switch {
	case now.leader == nil && !call.Stale:
		return commands.ErrMasterDown
	case call.Write, call.Reads && !g.options.ReplicasServe:
		return commands.ErrReadOnly
	}
	return nil
}

func moved(p *Connection, n int, to *Member) error {
	return Redirection("MOVED " + strconv.Itoa(n) + " " + p.host(to) + ":" + strconv.Itoa(p.port(to)))
}

// RedirectWaiter returns the error for a waiter for a key at a member that leads no more.
func (g *Group) RedirectWaiter(p *Connection, key []byte) error {
	now := g.seen.Load()
	switch {
	case g.options.Form == Sentinel:
		return commands.ErrDemoted
	case now.leader == nil:
		return errDown
	}
	return moved(p, keyslot.Of(key), now.leader)
}

// InScript returns the error that a script gets instead of an error of Redirect or Misplaced for a command.
func InScript(command string, err error) error {
	switch err {
	case nil, commands.ErrReadOnly, commands.ErrMasterDown:
		return err
	case errDown:
		return errScriptDown
	case errCrossSlot:
		return commands.Error("ERR Command '" + command + "' in script attempted to access keys that don't hash to the same slot")
	}
	if text := err.Error(); strings.HasPrefix(text, "CROSSSLOT ") {
		return commands.Error(text)
	}
	return errScriptKey
}

// RefusesDatabase returns an error for a command that names another database than 0, in a cluster. named
// lists the positions of the arguments that name databases: see Databases.Named of the command's row.
func (g *Group) RefusesDatabase(command string, argv [][]byte, named []int) error {
	switch command {
	case "select": // other errors of SELECT come before: see ErrSelect
		return nil
	case "move":
		return commands.Error("ERR MOVE is not allowed in cluster mode")
	case "swapdb":
		return commands.Error("ERR SWAPDB is not allowed in cluster mode")
	}
	for _, at := range named {
		if id, ok := decimal.ParseInt(argv[at]); ok && id != 0 {
			return commands.ErrDBIndex
		}
	}
	return nil
}
