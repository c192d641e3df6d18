package replication

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// transfer is a snapshot on its way to replicas, which share it: one writes, each reads as fast as it can,
// and the writer waits for the slowest.
type transfer struct {
	node  *Node
	bytes stream
	moved chan struct{} // a reader has moved on, or gone
	ended atomic.Bool   // all of it is in bytes
	file  bool          // by way of a file, so that its length is known beforehand
	mark  string
}

// mostAhead is how far the writer of a transfer may be ahead of the slowest reader.
const mostAhead = 4 << 20

// errNobody ends a transfer that nobody waits for any more.
var errNobody = errors.New("no replica is left that waits for the snapshot")

// Write implements io.Writer.
func (t *transfer) Write(b []byte) (int, error) {
	select {
	case <-t.node.host.Ending():
		return 0, errNobody
	default:
	}
	t.bytes.append(b)
	for {
		behind, any := t.bytes.slowest()
		switch {
		case !any:
			return 0, errNobody
		case behind <= mostAhead:
			t.wakeAll()
			return len(b), nil
		}
		t.wakeAll()
		select {
		case <-t.moved:
		case <-t.node.host.Ending():
			return 0, errNobody
		}
	}
}

// wakeAll has the readers' owners send.
func (t *transfer) wakeAll() {
	for _, of := range t.bytes.owners() {
		of.wake()
	}
}

// sync makes a client a replica that begins with a snapshot.
func (n *Node) sync(r *Replica) {
	n.counts.full++
	n.join(r, waiting)
	if !n.recording {
		n.id, n.id2, n.secondOffset = n.host.NewID(), noID, -1
		n.record()
		n.host.Log().Info(fmt.Sprintf("Replication backlog created, my new replication IDs are '%s' and '%s'", n.id, n.id2))
	}
	switch {
	case n.sending != nil:
		n.host.Log().Info("Current BGSAVE has socket target. Waiting for next BGSAVE for SYNC")
	case n.viaFile(r) || n.config().DisklessDelayMS == 0 || n.enough():
		n.begin()
	default:
		if n.delayMS == 0 {
			n.delayMS = n.host.NowMS() + n.config().DisklessDelayMS
		}
		n.host.Log().Info("Delay next BGSAVE for diskless SYNC")
	}
}

// viaFile reports whether a replica gets its snapshot by way of a file.
func (n *Node) viaFile(r *Replica) bool { return !r.eof || !n.config().DisklessSync }

// enough reports whether so many replicas wait that no more need be waited for.
func (n *Node) enough() bool {
	most, wait := n.config().DisklessMax, 0
	for _, r := range n.replicas {
		if r.state == waiting {
			wait++
		}
	}
	return most > 0 && wait >= most
}

// begin sends a snapshot to those who wait for one, and want the same of it.
func (n *Node) begin() {
	n.delayMS = 0
	if n.sending != nil {
		return
	}
	var first *Replica
	var all []*Replica
	for _, r := range n.replicas {
		if r.state != waiting {
			continue
		}
		if first == nil {
			first = r
		}
		if r.noKeys == first.noKeys && r.noFunctions == first.noFunctions && n.viaFile(r) == n.viaFile(first) {
			all = append(all, r)
		}
	}
	if first == nil {
		return
	}
	n.host.HandOn() // what happened before the cut is not behind it
	n.encoder.Select(-1)
	at := n.Place()
	t := &transfer{node: n, moved: make(chan struct{}, 1), file: n.viaFile(first), mark: n.host.NewID()}
	t.bytes.moved, t.bytes.mostSpare = t.moved, mostSpare
	t.attach(all, false, at.Offset)
	t.bytes.append(fmt.Appendf(nil, "+FULLRESYNC %s %d\r\n", at.ID, at.Offset))
	t.attach(all, true, at.Offset) // SYNC is not answered before the snapshot
	if !t.file {
		t.bytes.append([]byte("$EOF:" + t.mark + "\r\n"))
	}
	n.sending = t
	snap := n.host.Snapshot(at, !first.noKeys, !first.noFunctions)
	n.host.Log().Info("Starting BGSAVE for SYNC with target: " + t.target())
	n.host.Background(func() {
		err := t.run(snap)
		n.host.Do(func() {
			snap.Release()
			n.sent(t, err)
		})
	})
}

// attach makes replicas read from here on, those that are silent or the others, and behind the snapshot from
// a place of the history.
func (t *transfer) attach(all []*Replica, silent bool, offset int64) {
	_, here := t.bytes.bounds()
	for _, r := range all {
		if r.silent != silent {
			continue
		}
		r.mu.Lock()
		r.from, r.over, r.whole = t.bytes.read(here, r), t, t.file
		if !r.snapshot {
			r.then = t.node.stream.read(offset, r)
		}
		r.mu.Unlock()
		r.state, r.moved, r.movedMS = receiving, -1, t.node.host.NowMS()
	}
}

func (t *transfer) target() string {
	if t.file {
		return "disk"
	}
	return "replicas sockets"
}

// run writes the snapshot. It is called without the lock.
func (t *transfer) run(snap Snapshot) error {
	var err error
	if t.file {
		err = t.runFile(snap)
	} else if err = snap.Write(t); err == nil {
		_, err = t.Write([]byte(t.mark))
	}
	t.ended.Store(err == nil)
	return err
}

// keepAlive is how often a replica that waits for a file is told that it is still made.
const keepAlive = time.Second

// runFile is run by way of a file.
func (t *transfer) runFile(snap Snapshot) (err error) {
	f, err := t.node.newScratch()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	written := make(chan error, 1)
	go func() { written <- snap.Write(f) }()
	for waits := true; waits; {
		select {
		case err = <-written:
			waits = false
		case <-time.After(keepAlive):
			t.bytes.append([]byte("\n")) // whatever becomes of it: the file is written to its end
			t.wakeAll()
		}
	}
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err == nil {
		_, err = fmt.Fprintf(t, "$%d\r\n", size)
	}
	if err == nil {
		_, err = io.CopyBuffer(struct{ io.Writer }{t}, struct{ io.Reader }{f}, make([]byte, sendBytes))
	}
	return err
}

// sent notes how a transfer went.
func (n *Node) sent(t *transfer, err error) {
	n.sending = nil
	for _, r := range n.replicas {
		switch {
		case r.state != receiving:
		case err != nil:
			r.peer.End()
		case t.file:
			n.putOnline(r)
		case r.ready:
			n.received(r)
		}
		r.wake()
	}
	switch {
	case errors.Is(err, errNobody):
		n.host.Log().Info("the snapshot for replicas was called off: none is left that waits for it")
	case err != nil:
		n.host.Log().Error("Background transfer terminated with error", "cause", err)
	default:
		n.host.Log().Info("Background RDB transfer terminated with success")
	}
	for _, r := range n.replicas {
		if r.state == waiting && n.delayMS == 0 {
			n.begin()
			return
		}
	}
}
