package replication

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"lockserver/internal/config"
)

// state is the state of a replica.
type state uint8

const (
	greeting  state = iota // it has sent REPLCONF, and is not a replica yet
	waiting                // it waits for a snapshot to begin
	receiving              // it receives a snapshot
	online                 // it gets the history as it is written
)

// String returns the state's name in INFO.
func (s state) String() string { return [...]string{"", "wait_bgsave", "send_bulk", "online"}[s] }

// Replica is a client that follows this server, or may become a replica.
type Replica struct {
	node  *Node
	peer  Peer
	state state
	// port, address and the readable formats are the client's own statements.
	port        int
	address     string
	eof, psync2 bool
	snapshot    bool // it wants a snapshot without the history after it
	// noKeys and noFunctions say which parts of a snapshot it does not want.
	noKeys, noFunctions bool
	silent              bool // it sends no acknowledgements: SYNC
	own, rules          bool // it is a lockserver; it knows delayed entries that recur
	knows               Features
	asked               []question // questions that it has not answered
	doubted             Features   // its acknowledgements do not count until it has answered about these
	refused             bool       // it has answered that it does not know the effects
	ready               bool       // it has said that it has its snapshot, before we knew that the snapshot was sent

	acked, onDisk int64 // its acknowledged positions
	heardMS       int64 // time of its last acknowledgement
	softS         int64 // the second in which it exceeded the soft limit of client-output-buffer-limit; 0: it does not
	moved         int64 // its position in a transfer at the last look
	movedMS       int64
	begins        *transfer // the snapshot that is being sent to it, or nil
	begun, spoke  bool      // begun: it was going to get a snapshot. spoke: it has sent an acknowledgement since

	awake atomic.Bool // Send will be called
	sign  atomic.Bool // it has sent bytes
	loads atomic.Bool // it has sent an empty line, which replicas send while they load a snapshot
	mu    sync.Mutex  // guards the next fields
	from  *reader     // the next bytes to send, or nil
	then  *reader     // the history after the snapshot; nil once from is the history
	whole bool        // the replica knows the snapshot's length: the bytes after it need not wait
	over  *transfer   // the transfer that from reads; nil: from reads the history
}

// name returns its address for the log.
func (r *Replica) name() string {
	if r.port == 0 {
		return r.ip() + ":<unknown-replica-port>"
	}
	return r.ip() + ":" + strconv.Itoa(r.port)
}

// Is reports whether the client follows the server.
func (r *Replica) Is() bool { return r != nil && r.state != greeting }

// Awake reports whether Send will be called.
func (r *Replica) Awake() bool { return r.awake.Load() }

// Heard is called with the input from the replica. Any goroutine may call it.
func (r *Replica) Heard(b []byte) {
	r.sign.Store(true)
	if b[0] == '\n' {
		r.loads.Store(true)
	}
}

// wake makes the owner call Send.
func (r *Replica) wake() {
	if !r.awake.Swap(true) {
		r.peer.Wake()
	}
}

const (
	sendBytes = 256 << 10
	// mostAtOnce limits the bytes that a replica gets before its event loop's other connections get their
	// turn. A replica that is far behind may read as fast as the master sends.
	mostAtOnce = 1 << 20
)

// Send sends the next bytes to the replica. The owner of its connection calls it without the lock, when
// Peer.Wake has asked for it, or when the connection has drained. It passes nothing to a connection with
// unsent bytes: the stream has one copy for all replicas, but the connection would make its own copy. hangUp
// says that the connection has failed.
func (r *Replica) Send(to Carrier) (hangUp bool) {
	r.awake.Store(false)
	for sent := 0; ; {
		for to.Unsent() == 0 {
			if sent >= mostAtOnce {
				r.wake()
				return false
			}
			from := r.source()
			if from == nil {
				return false
			}
			n, err := sendFrom(from, to)
			if n == 0 || err != nil {
				return err != nil
			}
			sent += n
		}
		if to.AwaitDrain(0) {
			return false
		}
	}
}

// sendFrom sends the next bytes of a reader, and returns their number.
func sendFrom(from *reader, to Carrier) (n int, err error) {
	b := from.peek(sendBytes)
	if len(b) == 0 {
		return 0, nil
	}
	defer from.skip(len(b)) // in any case
	_, err = to.Send(b, true)
	return len(b), err
}

// source returns the reader of the next bytes.
func (r *Replica) source() *reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.from != nil && r.over != nil && r.over.ended.Load() && r.from.left() == 0 && r.whole {
		r.endSnapshot()
	}
	return r.from
}

// endSnapshot changes from the snapshot to the history. The caller holds mu.
func (r *Replica) endSnapshot() {
	if r.from != nil {
		r.from.close()
	}
	r.from, r.then, r.over = r.then, nil, nil
}

// close closes its readers.
func (r *Replica) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range []*reader{r.from, r.then} {
		if of != nil {
			of.close()
		}
	}
	r.from, r.then, r.over = nil, nil, nil
}

// behind returns the length of the history that was not sent to it yet.
func (r *Replica) behind() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.then
	if of == nil && r.over == nil {
		of = r.from
	}
	if of == nil {
		return 0
	}
	return of.left()
}

// Left is called when the connection of a replica is closed, or about to be closed.
func (n *Node) Left(r *Replica) {
	i := slices.Index(n.replicas, r)
	if i < 0 {
		return
	}
	n.replicas = slices.Delete(n.replicas, i, i+1)
	r.close()
	n.host.Log().Info("Connection with replica " + r.name() + " lost.")
	if r.begun && !r.spoke && !r.silent && !r.snapshot {
		n.host.Log().Warn("the replica has not said that it has its snapshot: its own log may say why", "replica", r.name())
	}
	r.state = greeting
	n.alone = n.host.NowMS()
	n.countGood()
}

// join makes a client a replica.
func (n *Node) join(r *Replica, s state) {
	r.state = s
	r.heardMS = n.host.NowMS()
	r.peer.Follows()
	n.replicas = append(n.replicas, r)
}

// countGood counts the replicas for min-replicas-to-write.
func (n *Node) countGood() {
	n.good = 0
	lag := n.config().MinMaxLagMS
	for _, r := range n.replicas {
		if r.state == online && (lag == 0 || n.host.NowMS()-r.heardMS <= lag) {
			n.good++
		}
	}
}

// ack handles an acknowledgement of a replica; onDisk -1 means that it has no disk position.
func (n *Node) ack(r *Replica, offset, onDisk int64) {
	if !r.Is() {
		return
	}
	r.heardMS, r.spoke = n.host.NowMS(), true
	if n.answered(r, offset); r.doubted != 0 || r.refused {
		return
	}
	offset, onDisk = min(offset, n.Offset()), min(onDisk, n.Offset()) // a replica cannot have data that does not exist yet
	more := offset > r.acked || onDisk > r.onDisk
	r.acked, r.onDisk = max(r.acked, offset), max(r.onDisk, onDisk)
	if r.state == receiving {
		n.received(r)
	}
	if more {
		n.acked()
	}
	n.tryFailover()
}

// received is called when a replica has loaded its snapshot.
func (n *Node) received(r *Replica) {
	r.mu.Lock()
	done := r.over == nil || r.over.ended.Load() && r.from.left() == 0
	if done && r.over != nil {
		r.endSnapshot()
	}
	r.ready = !done
	r.mu.Unlock()
	if done {
		n.putOnline(r)
	}
}

// putOnline is called when a replica has its snapshot, or will have it before anything else.
func (n *Node) putOnline(r *Replica) {
	if r.snapshot {
		n.host.Log().Info("RDB transfer completed, rdb only replica (" + r.name() + ") should be disconnected asap")
		return
	}
	r.state = online
	r.heardMS = n.host.NowMS()
	n.host.Log().Info("Synchronization with replica " + r.name() + " succeeded")
	n.countGood()
	r.wake()
}

// judgeBytes is the length of history between two checks of the replicas: a check for each effect is too
// often.
const judgeBytes = blockBytes

// judge closes replicas that are further behind than client-output-buffer-limit allows.
func (n *Node) judge() {
	n.unjudged = 0
	limit := n.host.Config().ClientOutputBufferLimit.Replica
	if limit.HardBytes == 0 && limit.SoftBytes == 0 {
		return
	}
	for _, r := range n.replicas {
		bytes := r.behind()
		if limit.HardBytes > 0 && bytes >= max(limit.HardBytes, n.config().KeptBacklogBytes()) || n.softly(r, bytes, limit) {
			n.host.Log().Warn("closing a replica that is too far behind (client-output-buffer-limit)", "replica", r.name(), "bytes", bytes)
			r.peer.EndForOutput()
		}
	}
}

// softly reports whether a replica that is bytes behind has exceeded the soft limit for too long. As in Redis
// that is counted in whole seconds, and must be more than the limit. So a replica that has just been sent a
// large amount always gets time, even with a limit of zero seconds.
func (n *Node) softly(r *Replica, bytes int64, limit config.OutputLimit) bool {
	now := n.host.NowMS() / 1000
	switch {
	case limit.SoftBytes == 0 || bytes < limit.SoftBytes:
		r.softS = 0
	case r.softS == 0:
		r.softS = now
	default:
		return now-r.softS > limit.SoftMS/1000
	}
	return false
}

// continues reports whether a replica with the first offset bytes of a history can continue here.
func (n *Node) continues(id string, offset int64) bool {
	ours := strings.EqualFold(id, n.id)
	if !ours && (!strings.EqualFold(id, n.id2) || offset > n.secondOffset) {
		switch {
		case id == "?":
		case !strings.EqualFold(id, n.id2):
			n.host.Log().Info(fmt.Sprintf("Partial resynchronization not accepted: Replication ID mismatch (Replica asked for '%s', "+
				"my replication IDs are '%s' and '%s')", id, n.id, n.id2))
		default:
			n.host.Log().Info(fmt.Sprintf("Partial resynchronization not accepted: Requested offset for second ID was %d, but I can "+
				"reply up to %d", offset, n.secondOffset))
		}
		return false
	}
	return n.recording
}

// resume lets a replica continue at a position of the history; false: it cannot. offset is the first byte
// that it lacks, counted from 1.
func (n *Node) resume(r *Replica, id string, offset int64) bool {
	if !n.continues(id, offset) {
		return false
	}
	from := n.stream.read(offset-1, r)
	if from == nil {
		n.host.Log().Info(fmt.Sprintf("Unable to partial resync with replica %s for lack of backlog (Replica request was: %d).", r.name(), offset))
		return false
	}
	r.from = from
	n.join(r, online)
	n.doubt(r, offset-1)
	n.countGood()
	n.host.Log().Info(fmt.Sprintf("Partial resynchronization request from %s accepted. Sending %d bytes of backlog starting from offset %d.",
		r.name(), from.left(), offset))
	return true
}

// Tick must be called about once a second.
func (n *Node) Tick() {
	now := n.host.NowMS()
	if n.link != nil {
		n.link.tick()
	}
	c := n.config()
	if n.link == nil && len(n.replicas) > 0 && !n.host.Ends() && now-n.pingedMS >= c.PingPeriodMS {
		n.pingedMS = now
		n.add(ping)
	}
	for _, r := range slices.Clone(n.replicas) {
		n.look(r, now)
	}
	n.judge()
	n.askBelow()
	n.countGood()
	n.tryFailover()
	if n.delayMS != 0 && now >= n.delayMS {
		n.begin()
	}
	if len(n.replicas) == 0 && n.link == nil && n.recording && c.MinAck == 0 && c.BacklogTTLS > 0 && (now-n.alone)/1000 > c.BacklogTTLS {
		n.ChangeID()
		n.id2, n.secondOffset = noID, -1
		n.forget()
		n.host.Log().Info(fmt.Sprintf("Replication backlog freed after %d seconds without connected replicas.", c.BacklogTTLS))
	}
}

// InStep reports whether all replicas have acknowledged the whole history.
func (n *Node) InStep() bool { return !slices.ContainsFunc(n.replicas, n.lags) }

// lags reports whether a replica has not acknowledged the whole history, without the last requests for
// acknowledgements: Redis answers such a request with the position before it.
func (n *Node) lags(r *Replica) bool { return r.acked < min(n.dataEnd, n.Offset()) }

// LogLag logs the positions of the replicas, at the end of the server.
func (n *Node) LogLag() {
	behind := 0
	for _, r := range n.replicas {
		if !n.lags(r) {
			continue
		}
		behind++
		lag := int64(0)
		if r.state == online {
			lag = (n.host.NowMS() - r.heardMS) / 1000
		}
		n.host.Log().Info(fmt.Sprintf("Lagging replica %s reported offset %d behind master, lag=%d, state=%s.",
			r.name(), n.Offset()-r.acked, lag, r.state))
	}
	if all := len(n.replicas); all > 0 {
		n.host.Log().Info(fmt.Sprintf("%d of %d replicas are in sync when shutting down.", all-behind, all))
	}
}

// ping is a master's keepalive.
var ping = []byte("*1\r\n$4\r\nPING\r\n")

// look checks a replica: a replica that has been silent for too long is closed.
func (n *Node) look(r *Replica, now int64) {
	most := n.config().TimeoutMS
	if r.sign.Swap(false) && r.state == receiving { // it is loading the snapshot that it has received
		r.movedMS = now
	}
	if r.loads.Swap(false) && r.state == online { // and we know that it has received all of it
		r.heardMS = now
	}
	switch {
	case r.state == online && !r.silent && now-r.heardMS > most:
		n.host.Log().Warn("Disconnecting timedout replica (streaming sync): " + r.name())
		r.peer.End()
	case r.state == receiving:
		r.mu.Lock()
		at, waits := int64(-1), false
		if r.from != nil {
			at = r.from.place()
			waits = r.over != nil && !r.over.ended.Load() && r.from.left() == 0 // for a replica that reads nothing, or for the writer
		}
		r.mu.Unlock()
		if at != r.moved || waits {
			r.moved, r.movedMS = at, now
		} else if now-r.movedMS > most {
			n.host.Log().Warn("Disconnecting timedout replica (full sync): " + r.name())
			r.peer.End()
		}
	}
}
