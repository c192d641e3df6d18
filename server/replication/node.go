package replication

import (
	"slices"
	"strings"

	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/persistence/aof"
)

// Node is one server among those that have the same data. Init makes it ready.
type Node struct {
	host NodeServer
	// id names the history. Up to secondOffset it is also that of id2: the history that this server followed
	// before it became a master. noID: there was none.
	id, id2       string
	secondOffset  int64
	stream        stream
	recording     bool // the history is written: there is or was a replica, or a master
	encoder       aof.Encoder
	buf, messages []byte
	dataEnd       int64 // how long the history was without the last questions about how far replicas are
	fresh         bool  // something was added since Credit
	filled        bool  // something was added in this slice
	written       bool  // a unit was
	askAcks       bool  // replicas are to be asked how far they are at the end of this slice
	unjudged      int   // how much was added since judge looked for replicas that are behind

	replicas []*Replica // in the order in which they came
	good     int        // online, and heard of within min-replicas-max-lag
	writing  bool       // a snapshot for replicas is being made
	delayMS  int64      // when the next transfer is to begin; 0: none is waited for
	alone    int64      // since when there has been no replica, in milliseconds since 1970
	pingedMS int64
	counts   counts
	acked    func() // called when a replica has acknowledged something

	unasked Features // of what was sent since the replicas of replicas were asked
	probed  []probe  // the last one of each feature

	failover failover
	link     *link // to the master; nil: this server is one
}

// counts are what INFO has in its section Stats.
type counts struct{ full, partialOK, partialErr int64 }

// noID is the name of no history.
var noID = strings.Repeat("0", 40)

// Init makes a Node ready: a master without replicas. acked is called under the lock when a replica has
// acknowledged more than before.
func (n *Node) Init(host NodeServer, acked func()) {
	n.host, n.acked = host, acked
	n.id, n.id2, n.secondOffset = host.NewID(), noID, -1
}

func (n *Node) config() *config.Replication { return &n.host.Config().Replication }

// ChangeID gives the history another name: no replica can go on with it.
func (n *Node) ChangeID() { n.id = n.host.NewID() }

// Offset is how long the history is.
func (n *Node) Offset() int64 {
	_, end := n.stream.bounds()
	return end
}

// Memory is how many bytes the history takes.
func (n *Node) Memory() int { return n.stream.held() + cap(n.buf) + cap(n.messages) }

// Place is where the data is now. It has no ID if no history is written, or the data is that of none.
func (n *Node) Place() Place {
	switch {
	case !n.recording || n.link != nil && !n.link.known:
		return Place{DB: -1}
	case n.link != nil:
		return Place{ID: n.id, Offset: n.Offset(), DB: n.link.db}
	}
	return Place{ID: n.id, Offset: n.Offset(), DB: n.encoder.DB()}
}

// record begins to write the history, where it is.
func (n *Node) record() {
	if n.recording {
		return
	}
	n.recording = true
	n.alone = n.host.NowMS() // replicas have repl-backlog-ttl from here on
	n.stream.setKeep(n.config().KeptBacklogBytes())
	n.encoder.Select(-1)
	n.host.Records(true)
}

// forget releases the history's bytes, and does not go on with it.
func (n *Node) forget() {
	n.recording = false
	_, end := n.stream.bounds()
	n.stream.reset(end)
	n.host.Records(false)
}

// Reconfigured is called when directives have changed.
func (n *Node) Reconfigured() {
	if n.host == nil {
		return
	}
	if n.config().MinAck > 0 {
		n.record() // replicas will have to acknowledge a history that was not recorded so far
	}
	if n.recording {
		n.stream.setKeep(n.config().KeptBacklogBytes())
	}
	if n.link != nil {
		n.link.retime()
	}
	n.countGood()
}

// mostSpareBuffer is the size of the largest buffer for a unit that is kept.
const mostSpareBuffer = 1 << 20

// Append adds the effects of a unit. What the master has sent is in the history already.
func (n *Node) Append(unit Effects) {
	if n.link != nil || !n.recording {
		return
	}
	n.askBefore(unit)
	n.buf = n.encoder.Unit(n.buf[:0], unit)
	n.add(n.buf)
	n.written = true
	if cap(n.buf) > mostSpareBuffer {
		n.buf = nil
	}
}

// MessageKind is what of PUBLISH and SPUBLISH a message was sent by.
type MessageKind bool

// The kinds of messages.
const (
	Channel      MessageKind = false
	ShardChannel MessageKind = true
)

// String is the command that sends such a message.
func (k MessageKind) String() string {
	if k == ShardChannel {
		return "SPUBLISH"
	}
	return "PUBLISH"
}

// HasReplicas reports whether the server is a master and has replicas.
func (n *Node) HasReplicas() bool { return len(n.replicas) > 0 && n.link == nil }

// Replicas is how many replicas there are.
func (n *Node) Replicas() int { return len(n.replicas) }

// Publish sends a message to the subscribers at replicas, behind the effects of the running unit.
func (n *Node) Publish(kind MessageKind, channel, message []byte) {
	if !n.HasReplicas() {
		return
	}
	n.messages = resp.AppendCommand(n.messages, []byte(kind.String()), channel, message)
}

// AddMessages ends a unit after its effects have been added.
func (n *Node) AddMessages() {
	if len(n.messages) == 0 {
		return
	}
	n.add(n.messages)
	if n.messages = n.messages[:0]; cap(n.messages) > mostSpareBuffer {
		n.messages = nil
	}
}

func (n *Node) add(b []byte) {
	n.stream.append(b)
	n.unjudged += len(b)
	n.fresh, n.filled, n.dataEnd = true, true, n.Offset()
}

// Credit returns how long the history is, if something was added since the last call; otherwise 0.
func (n *Node) Credit() int64 {
	if !n.fresh {
		return 0
	}
	n.fresh = false
	return n.Offset()
}

// Fresh reports whether Credit would return something.
func (n *Node) Fresh() bool { return n.fresh }

// Filled reports whether EndSlice has something to do.
func (n *Node) Filled() bool { return n.filled }

// getAck asks replicas how far they are. It is a part of the history like any command.
var getAck = resp.AppendCommand(nil, []byte("REPLCONF"), []byte("GETACK"), []byte("*"))

// EndSlice has sent what was added in this slice of the host's time.
func (n *Node) EndSlice() {
	if (n.askAcks || n.written && n.config().MinAck > 0) && n.HasReplicas() {
		n.stream.append(getAck)
	}
	n.filled, n.fresh, n.written, n.askAcks = false, false, false, false
	for _, r := range n.replicas {
		if !r.awake.Swap(true) {
			r.peer.WakeAtEnd()
		}
	}
	if n.unjudged >= judgeBytes {
		n.judge()
	}
}

// AskAcks has the replicas asked how far they are, at the end of this slice.
func (n *Node) AskAcks() { n.askAcks, n.filled = true, true }

// Acked is how many replicas have acknowledged the history up to a place; onDisk: have it on disk up to
// there.
func (n *Node) Acked(offset int64, onDisk bool) (count int64) {
	for _, r := range n.replicas {
		if r.state == online && (!onDisk && r.acked >= offset || onDisk && r.onDisk >= offset) {
			count++
		}
	}
	return count
}

// AckedBy is up to where so many replicas have acknowledged the history; 0: there are fewer.
func (n *Node) AckedBy(replicas int) int64 {
	var all []int64
	for _, r := range n.replicas {
		if r.state == online {
			all = append(all, r.acked)
		}
	}
	if len(all) < replicas {
		return 0
	}
	slices.Sort(all)
	return all[len(all)-replicas]
}

// RefusesWrites reports whether there are fewer replicas than min-replicas-to-write asks for.
func (n *Node) RefusesWrites() bool {
	c := n.config()
	return c.MinToWrite > 0 && c.MinMaxLagMS > 0 && n.link == nil && n.good < c.MinToWrite
}

// Resume makes the node go on where a snapshot or a log says that the data is.
func (n *Node) Resume(at Place) {
	if at.ID == "" || len(at.ID) != len(noID) || at.Offset < 0 {
		return
	}
	n.stream.reset(at.Offset)
	if n.link != nil {
		n.id = at.ID
		n.link.resumes(at.DB)
		return
	}
	// A master has not been at work for a while: what it does now is another history that begins as that one.
	n.id2, n.secondOffset = at.ID, at.Offset+1
	n.record()
}
