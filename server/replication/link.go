package replication

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// linkState is how far the link to the master has come.
type linkState uint8

const (
	idle         linkState = iota // until the next try
	connecting                    // a connection is being made
	handshake                     // the two servers introduce themselves
	transferring                  // a snapshot is being read
	connected                     // the history is read as it is written
)

// String is the state as ROLE has it.
func (s linkState) String() string {
	return [...]string{"connect", "connecting", "handshake", "sync", "connected"}[s]
}

// link is what a server that follows another has of it. Its goroutine (run) connects, reads and applies what
// comes, and tries again whenever that ends.
type link struct {
	node *Node
	host string
	port int
	stop chan struct{} // closed when the server does not follow any more
	once sync.Once

	// These are touched under the host's lock.
	state     linkState
	stopped   bool
	known     bool  // the node's history is the master's, up to where it ends
	db        int   // that the master's commands are for
	upMS      int64 // since when it is up, if it is
	downSince int64 // in milliseconds since 1970; 0: it was never up
	total     int64 // bytes of the snapshot; 0: not known
	failover  bool  // the next PSYNC is to make the other server a master
	lastError string
	disk      diskMarks
	dialled   *dialled // the connection; nil: there is none

	asks  bool          // the master asks replicas for us what they know (features.go)
	wants atomic.Uint32 // what of that, as Features

	progress progress
	acks     chan struct{} // the master is to get an acknowledgement

	mu   sync.Mutex
	conn net.Conn // nil: there is none
}

// progress is how far the link's goroutine has come, for others to look at.
type progress struct {
	got     atomic.Int64 // bytes of the snapshot
	heardMS atomic.Int64 // when something came last, by the machine's clock
	read    atomic.Int64 // how much of the history was read
	applied atomic.Int64 // and applied
	onDisk  atomic.Int64 // and is on disk; -1: that is not known
}

// hear records that something has come.
func (l *link) hear() { l.progress.heardMS.Store(time.Now().UnixMilli()) }

// silentS is for how many seconds nothing has come.
func (l *link) silentS() int64 { return (time.Now().UnixMilli() - l.progress.heardMS.Load()) / 1000 }

// A link waits before the next try, each time twice as long, until a try succeeds.
const (
	leastWait = 20 * time.Millisecond
	mostWait  = time.Second
)

// newLink begins to follow a server.
func (n *Node) newLink(host string, port int) *link {
	return &link{node: n, host: host, port: port, stop: make(chan struct{}), acks: make(chan struct{}, 1)}
}

// resumes says that the history is the master's as far as is known, and its commands go on in a database.
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

// down records that the link is down; true: for good.
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

// retime puts a new repl-timeout in force.
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

// end ends the link for good. Under the host's lock; what it has read and not applied is dropped.
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

// writeTimeout bounds a write to the master, which is of a few bytes.
const writeTimeout = 5 * time.Second

// tick is called once a second: it acknowledges to the master how far we are.
func (l *link) tick() {
	if l.state == connected {
		l.acknowledge()
		l.remind()
	}
}

// remind makes the link send what the master has to know.
func (l *link) remind() {
	select {
	case l.acks <- struct{}{}:
	default:
	}
}

// Follow makes the server a replica of another. What it has of its history so far may be the beginning of
// that one's.
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

// Lead makes the server a master. Replicas of the same history can go on with it here.
func (n *Node) Lead() {
	l := n.link
	if l == nil {
		return
	}
	l.end()
	n.link = nil
	n.id2, n.secondOffset = n.id, n.Offset()+1
	if !l.known { // the data is not what that history leads to: a snapshot had taken its place
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

// dropReplicas closes all replicas. They come back, and learn to which history theirs belongs now.
func (n *Node) dropReplicas() {
	for _, r := range append([]*Replica(nil), n.replicas...) {
		r.peer.End()
	}
	n.delayMS = 0
}

// Close ends what the node has begun: the server ends.
func (n *Node) Close() {
	if n.link != nil {
		n.link.end()
	}
}

// LinkUp reports whether the server has what its master has, except what is on its way. For a master it is
// true.
func (n *Node) LinkUp() bool { return n.link == nil || n.link.state == connected }

// MasterConn is the connection to the master, since when the history comes on it, and for how long nothing
// has come; nil: there is none.
func (n *Node) MasterConn() (conn net.Conn, sinceMS, silentMS int64) {
	l := n.link
	if l == nil || l.state != connected {
		return nil, 0, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn, l.upMS, l.silentS() * 1000
}

// HangUp ends the connection to the master, which is made again.
func (n *Node) HangUp() {
	if n.link != nil {
		n.link.hangUp()
	}
}

// isWord reports whether a reply of the master's begins with a word.
func isWord(reply, word string) bool {
	return len(reply) >= len(word) && strings.EqualFold(reply[:len(word)], word)
}
