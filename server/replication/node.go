package replication

import (
	"slices"
	"strings"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/persistence/aof"
)

// Node is a server among the servers with the same data. Init makes it ready.
type Node struct {
	host NodeServer
	// id is the name of the history. Up to secondOffset it also has the name id2: the history that this
	// server followed before it became a master. id2 is noID if there was no such history.
	id, id2       string
	secondOffset  int64
	stream        stream
	recording     bool // the history is recorded: there is or was a replica, or a master
	encoder       aof.Encoder
	buf, messages []byte
	dataEnd       int64 // length of the history without the last requests for acknowledgements
	fresh         bool  // bytes were added since Credit
	filled        bool  // bytes were added in this slice
	written       bool  // a unit was added
	askAcks       bool  // replicas must be asked for acknowledgements at the end of this slice
	unjudged      int   // bytes added since the last call of judge

	replicas []*Replica // in the order in which they came
	good     int        // number of replicas online, and heard of within min-replicas-max-lag
	writing  bool       // a snapshot for replicas is being written
	delayMS  int64      // when the next transfer begins; 0: no transfer is planned
	alone    int64      // since when there is no replica, in milliseconds since 1970
	pingedMS int64
	counts   counts
	acked    func() // called when a replica has acknowledged more

	unasked Features // features that were sent since the replicas of replicas were asked
	probed  []probe  // the last probe of each feature

	failover failover
	link     *link // to the master; nil: this server is the master
}

// counts are the counts in INFO's section Stats.
type counts struct{ full, partialOK, partialErr int64 }

// noID means that there is no history.
var noID = strings.Repeat("0", 40)

// Init makes a Node ready: a master without replicas. acked is called under the lock when a replica has
// acknowledged more than before.
func (n *Node) Init(host NodeServer, acked func()) {
	n.host, n.acked = host, acked
	n.id, n.id2, n.secondOffset = host.NewID(), noID, -1
}

func (n *Node) config() *config.Replication { return &n.host.Config().Replication }

// ChangeID gives the history another name, so that no replica can continue with it.
func (n *Node) ChangeID() { n.id = n.host.NewID() }

// Offset returns the length of the history.
func (n *Node) Offset() int64 {
	_, end := n.stream.bounds()
	return end
}

// Memory returns the memory of the history, in bytes.
func (n *Node) Memory() int { return n.stream.held() + cap(n.buf) + cap(n.messages) }

// Place returns the position of the data. It has no ID if no history is recorded, or if the data belongs to
// no history.
func (n *Node) Place() Position {
	switch {
	case !n.recording || n.link != nil && !n.link.known:
		return Position{DB: -1}
	case n.link != nil:
		return Position{ID: n.id, Offset: n.Offset(), DB: n.link.db}
	}
	return Position{ID: n.id, Offset: n.Offset(), DB: n.encoder.DB()}
}

// record begins to record the history from its present position on.
func (n *Node) record() {
	if n.recording {
		return
	}
	n.recording = true
	n.alone = n.host.NowMS() // repl-backlog-ttl begins now
	n.stream.setKeep(n.config().KeptBacklogBytes())
	n.encoder.Select(-1)
	n.host.Records(true)
}

// forget releases the history's bytes, and stops recording.
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
		n.record() // replicas will have to acknowledge a history that was not recorded before
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

// Append adds the effects of a unit. Effects from the master are already in the history.
func (n *Node) Append(unit Effects) {
	if n.link != nil || !n.recording {
		return
	}
	n.askBefore(unit)
	if commands.StoreRules(unit, n.host.RecursAt) {
		closeOlder(n)
	}
	n.buf = n.encoder.Unit(n.buf[:0], unit)
	n.add(n.buf)
	n.written = true
	if cap(n.buf) > mostSpareBuffer {
		n.buf = nil
	}
}

// HasReplicas reports whether the server is a master and has replicas.
func (n *Node) HasReplicas() bool { return len(n.replicas) > 0 && n.link == nil }

// Replicas returns the number of replicas.
func (n *Node) Replicas() int { return len(n.replicas) }

// Message sends a message to the subscribers at replicas, after the effects of the running unit. word is the
// command that sends it: PUBLISH or SPUBLISH.
func (n *Node) Message(word string, channel, message []byte) {
	if !n.HasReplicas() {
		return
	}
	n.messages = resp.AppendCommand(n.messages, []byte(word), channel, message)
}

// AddMessages ends a unit after its effects were added.
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

// Credit returns the length of the history if bytes were added since its last call; otherwise 0.
func (n *Node) Credit() int64 {
	if !n.fresh {
		return 0
	}
	n.fresh = false
	return n.Offset()
}

// Fresh reports whether Credit would return a length.
func (n *Node) Fresh() bool { return n.fresh }

// Filled reports whether EndSlice has work to do.
func (n *Node) Filled() bool { return n.filled }

// getAck requests acknowledgements. It is a part of the history like any command.
var getAck = resp.AppendCommand(nil, []byte("REPLCONF"), []byte("GETACK"), []byte("*"))

// EndSlice sends the bytes that were added in this slice of the host's time.
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

// AskAcks requests acknowledgements at the end of this slice.
func (n *Node) AskAcks() { n.askAcks, n.filled = true, true }

// Acked returns the number of replicas that have acknowledged the history up to a position. With onDisk it
// counts the replicas that have it on disk.
func (n *Node) Acked(offset int64, onDisk bool) (count int64) {
	for _, r := range n.replicas {
		if r.state == online && (!onDisk && r.acked >= offset || onDisk && r.onDisk >= offset) {
			count++
		}
	}
	return count
}

// AckedBy returns the position up to which at least that many replicas have acknowledged the history; 0:
// there are fewer.
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

// RefusesWrites reports whether there are fewer replicas than min-replicas-to-write requires.
func (n *Node) RefusesWrites() bool {
	c := n.config()
	return c.MinToWrite > 0 && c.MinMaxLagMS > 0 && n.link == nil && n.good < c.MinToWrite
}

// Resume makes the node continue at the position that a snapshot or a log states.
func (n *Node) Resume(at Position) {
	if at.ID == "" || len(at.ID) != len(noID) || at.Offset < 0 {
		return
	}
	n.stream.reset(at.Offset)
	if n.link != nil {
		n.id = at.ID
		n.link.resumes(at.DB)
		return
	}
	// A master that has been down begins another history with the old history as its beginning.
	n.id2, n.secondOffset = at.ID, at.Offset+1
	n.record()
}
