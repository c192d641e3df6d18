package replication

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// linkState is a state of the link to the master.
type linkState uint8

const (
	idle         linkState = iota // until the next attempt
	connecting                    // a connection is being made
	handshake                     // the two servers introduce themselves
	transferring                  // a snapshot is being read
	connected                     // the history is being read
)

// String returns the state's name in ROLE.
func (s linkState) String() string {
	return [...]string{"connect", "connecting", "handshake", "sync", "connected"}[s]
}

// link is the connection of a server to its master. Its goroutine (run) connects, reads and applies the
// history, and tries again whenever the connection ends.
type link struct {
	node *Node
	host string
	port int
	stop chan struct{} // closed when the server stops following
	once sync.Once

	// The next fields are protected by the host's lock.
	state     linkState
	stopped   bool
	known     bool  // the node's history is the master's, up to its end
	db        int   // database of the master's commands
	upMS      int64 // when it came up, if it is up
	downSince int64 // in milliseconds since 1970; 0: it was never up
	total     int64 // bytes of the snapshot; 0: not known
	failover  bool  // the next PSYNC asks the other server to become the master
	lastError string
	disk      diskMarks
	dialled   *dialled // the connection, or nil

	asks  bool          // the master can ask our replicas about features (features.go)
	wants atomic.Uint32 // requested questions, as Features

	progress progress
	acks     chan struct{} // an acknowledgement is due

	mu   sync.Mutex
	conn net.Conn // nil: not connected
}

// progress is the progress of the link's goroutine, for other goroutines to read.
type progress struct {
	got     atomic.Int64 // bytes of the snapshot
	heardMS atomic.Int64 // time of the last received bytes, by the machine's clock
	read    atomic.Int64 // position read in the history
	applied atomic.Int64 // position applied
	onDisk  atomic.Int64 // position on disk; -1: not known
}

// hear records that bytes were received.
func (l *link) hear() { l.progress.heardMS.Store(time.Now().UnixMilli()) }

// silentS returns the seconds since the last received bytes.
func (l *link) silentS() int64 { return (time.Now().UnixMilli() - l.progress.heardMS.Load()) / 1000 }

// The pause before the next attempt doubles until an attempt succeeds.
const (
	leastWait = 20 * time.Millisecond
	mostWait  = time.Second
)

// newLink begins to follow a server.
func (n *Node) newLink(host string, port int) *link {
	return &link{node: n, host: host, port: port, stop: make(chan struct{}), acks: make(chan struct{}, 1)}
}

// resumes records that the history is the master's as far as known, and that its commands continue in a
// database.
func (l *link) resumes(db int) {
	l.known = true
	l.db = max(0, db)
}

// run is the link's goroutine.
func (l *link) run() {
	wait := leastWait
	for {
		err := l.try()
		l.hangUp()
		ended := false
		l.node.host.Do(func() {
			if l.state == connected {
				wait = leastWait
			}
			ended = l.down(err)
		})
		if ended {
			return
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, mostWait)
		case <-l.stop:
			return
		case <-l.node.host.Ending():
			return
		}
	}
}

// down records that the link is down. It returns true if the link has ended.
func (l *link) down(err error) (ended bool) {
	if l.stopped {
		return true
	}
	now := l.node.host.NowMS()
	if l.state == connected {
		l.node.host.Log().Info("Connection with master lost.")
		l.downSince = now
	}
	if l.downSince == 0 {
		l.downSince = now
	}
	l.state, l.dialled = idle, nil
	if err != nil && err.Error() != l.lastError {
		l.lastError = err.Error()
		l.node.host.Log().Warn("the link to the master is down", "master", l.name(), "cause", err)
	}
	return false
}

// retime applies a new repl-timeout.
func (l *link) retime() {
	if l.dialled != nil {
		l.dialled.setTimeout(time.Duration(l.node.config().TimeoutMS) * time.Millisecond)
	}
}

func (l *link) name() string { return fmt.Sprintf("%s:%d", l.host, l.port) }

// hangUp closes the connection.
func (l *link) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		_ = l.conn.Close()
		l.conn = nil
	}
}

// end ends the link. It is called under the host's lock. Input that was read and not applied is dropped.
func (l *link) end() {
	l.stopped = true
	l.once.Do(func() { close(l.stop) })
	l.hangUp()
}

// send writes to the master.
func (l *link) send(b []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return net.ErrClosed
	}
	_ = l.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := l.conn.Write(b)
	return err
}

// writeTimeout limits a write to the master, of a few bytes.
const writeTimeout = 5 * time.Second

// tick is called once a second: it sends an acknowledgement to the master.
func (l *link) tick() {
	if l.state == connected {
		l.acknowledge()
		l.remind()
	}
}

// remind makes the link send its pending messages to the master.
func (l *link) remind() {
	select {
	case l.acks <- struct{}{}:
	default:
	}
}

// Follow makes the server a replica of another server. Its own history may turn out to be the beginning of
// the master's.
func (n *Node) Follow(host string, port int) {
	was := n.link
	if was != nil {
		was.end()
	}
	l := n.newLink(host, port)
	if was != nil {
		l.known, l.db = was.known, was.db
	} else if n.recording {
		l.known, l.db = true, max(0, n.encoder.DB())
	}
	n.link = l
	n.record()
	n.dropReplicas()
	n.host.Followed(true)
	n.host.Background(l.run)
	n.host.Log().Info("Connecting to MASTER " + l.name())
}

// Lead makes the server a master. Replicas of the same history can continue with it.
func (n *Node) Lead() {
	l := n.link
	if l == nil {
		return
	}
	l.end()
	n.link = nil
	n.id2, n.secondOffset = n.id, n.Offset()+1
	if !l.known { // the data is not the result of that history: a snapshot had replaced it
		n.id2, n.secondOffset = noID, -1
	}
	n.id = n.host.NewID()
	n.encoder.Select(-1)
	n.alone = n.host.NowMS()
	n.host.Log().Info(fmt.Sprintf("Setting secondary replication ID to %s, valid up to offset: %d. New replication ID is %s",
		n.id2, n.secondOffset, n.id))
	n.host.Followed(false)
	n.dropReplicas()
}

// dropReplicas closes all replicas. They reconnect, and learn the current name of the history.
func (n *Node) dropReplicas() {
	for _, r := range append([]*Replica(nil), n.replicas...) {
		r.peer.End()
	}
	n.delayMS = 0
}

// Close ends the work of the node, because the server ends.
func (n *Node) Close() {
	if n.link != nil {
		n.link.end()
	}
}

// LinkUp reports whether the server has the master's data, except bytes on the way. It is true for a master.
func (n *Node) LinkUp() bool { return n.link == nil || n.link.state == connected }

// MasterConn returns the connection to the master, since when it carries the history, and the time since the
// last received bytes. conn is nil if there is no connection.
func (n *Node) MasterConn() (conn net.Conn, sinceMS, silentMS int64) {
	l := n.link
	if l == nil || l.state != connected {
		return nil, 0, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn, l.upMS, l.silentS() * 1000
}

// HangUp ends the connection to the master. The link reconnects.
func (n *Node) HangUp() {
	if n.link != nil {
		n.link.hangUp()
	}
}

// isWord reports whether a reply of the master's begins with a word.
func isWord(reply, word string) bool {
	return len(reply) >= len(word) && strings.EqualFold(reply[:len(word)], word)
}
