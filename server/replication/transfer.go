package replication

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// transfer is a snapshot that is being sent to replicas: one goroutine writes it, each replica reads as fast
// as it can, and the writer waits for the slowest. Transfers without a file that start at the same time share
// one snapshot. A replica that stops reading delays the others until repl-timeout ends it, as in Redis. With
// a file each replica has its own transfer.
type transfer struct {
	node  *Node
	bytes stream
	moved chan struct{} // a reader has moved or closed
	ended atomic.Bool   // all of it was written to bytes
	file  bool          // sent from a file, so its length is known
	ahead int64         // how far the writer may be ahead of the slowest reader
	mark  string
}

const (
	// mostAhead is how far the writer of a transfer without a file may be ahead of the slowest reader.
	mostAhead = 4 << 20
	// aheadOfFile is the same for a transfer from a file, which can always be read.
	aheadOfFile = 1 << 20
)

// newTransfer makes a transfer to replicas, which begins with the reply before a snapshot of the data at a
// position of the history.
func (n *Node) newTransfer(to []*Replica, file bool, at Position) *transfer {
	t := &transfer{node: n, moved: make(chan struct{}, 1), file: file, ahead: mostAhead}
	if file {
		t.ahead = aheadOfFile
	}
	t.bytes.moved, t.bytes.mostSpare = t.moved, int(t.ahead/blockBytes)+spareBlocks
	t.attach(to, false, at.Offset)
	t.bytes.append(fmt.Appendf(nil, "+FULLRESYNC %s %d\r\n", at.ID, at.Offset))
	t.attach(to, true, at.Offset) // SYNC gets no reply before the snapshot
	return t
}

// errNoReplica ends a transfer when no replica waits for it any more.
var errNoReplica = errors.New("no replica is left that waits for the snapshot")

// Write implements io.Writer.
func (t *transfer) Write(b []byte) (int, error) {
	select {
	case <-t.node.host.Ending():
		return 0, errNoReplica
	default:
	}
	t.bytes.append(b)
	for {
		behind, any := t.bytes.slowest()
		switch {
		case !any:
			return 0, errNoReplica
		case behind <= t.ahead:
			t.wakeAll()
			return len(b), nil
		}
		t.wakeAll()
		select {
		case <-t.moved:
		case <-t.node.host.Ending():
			return 0, errNoReplica
		}
	}
}

// wakeAll wakes the owners of the readers.
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
	case n.writing:
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

// viaFile reports whether a replica gets its snapshot from a file.
func (n *Node) viaFile(r *Replica) bool { return !r.eof || !n.config().DisklessSync }

// enough reports whether enough replicas are waiting to begin a transfer at once.
func (n *Node) enough() bool {
	most, wait := n.config().DisklessMax, 0
	for _, r := range n.replicas {
		if r.state == waiting {
			wait++
		}
	}
	return most > 0 && wait >= most
}

// begin sends a snapshot to the waiting replicas that want the same parts.
func (n *Node) begin() {
	n.delayMS = 0
	if n.writing {
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
	n.host.HandOn() // effects from before the cut must not follow it
	n.encoder.Select(-1)
	at := n.Place()
	n.writing = true
	if n.viaFile(first) {
		var each []*transfer
		for i := range all {
			each = append(each, n.newTransfer(all[i:i+1], true, at))
		}
		snap := n.host.Snapshot(at, !first.noKeys, !first.noFunctions)
		n.host.Log().Info("Starting BGSAVE for SYNC with target: disk")
		n.host.Background(func() { n.runFile(snap, each) })
		return
	}
	t := n.newTransfer(all, false, at)
	t.mark = n.host.NewID()
	t.bytes.append([]byte("$EOF:" + t.mark + "\r\n"))
	snap := n.host.Snapshot(at, !first.noKeys, !first.noFunctions)
	n.host.Log().Info("Starting BGSAVE for SYNC with target: replicas sockets")
	n.host.Background(func() { n.runShared(snap, t) })
}

// attach makes replicas read from here on: the silent replicas or the others. After the snapshot they read
// from a position of the history.
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
		r.begun, r.spoke = true, false
		r.state, r.begins, r.moved, r.movedMS = receiving, t, -1, t.node.host.NowMS()
	}
}

// runShared writes the snapshot to replicas. It is called without the lock, and calls its callees without it.
func (n *Node) runShared(snap Snapshot, t *transfer) {
	err := snap.Write(t)
	if err == nil {
		_, err = t.Write([]byte(t.mark))
	}
	t.ended.Store(err == nil)
	n.host.Do(func() {
		switch {
		case errors.Is(err, errNoReplica):
			n.host.Log().Info("the snapshot for replicas was called off: none is left that waits for it")
		case err != nil:
			n.host.Log().Error("Background transfer terminated with error", "cause", err)
		default:
			n.host.Log().Info("Background RDB transfer terminated with success")
		}
		n.sent(t, err)
		n.cutWritten(snap)
	})
}

// runFile writes the snapshot to a file, and sends the file to replicas.
func (n *Node) runFile(snap Snapshot, each []*transfer) {
	f, size, err := n.makeFile(snap, each)
	n.host.Do(func() {
		if err != nil {
			n.host.Log().Error("Background saving error", "cause", err)
			for _, t := range each {
				n.sent(t, err)
			}
		} else {
			n.host.Log().Info("Background saving terminated with success")
		}
		n.cutWritten(snap) // new replicas need not wait for these replicas
	})
	if err != nil {
		return
	}
	var copies sync.WaitGroup
	for _, t := range each {
		copies.Go(func() {
			err := t.copyFile(f, size)
			t.ended.Store(err == nil)
			n.host.Do(func() {
				if err != nil && !errors.Is(err, errNoReplica) {
					n.host.Log().Error("Background transfer terminated with error", "cause", err)
				}
				n.sent(t, err)
			})
		})
	}
	copies.Wait()
	_ = f.Close()
}

// keepAlive is the time between keepalives to a replica that waits for a file.
const keepAlive = time.Second

// makeFile writes the whole snapshot to a file, even if the replicas disconnect.
func (n *Node) makeFile(snap Snapshot, each []*transfer) (f *scratch, size int64, err error) {
	if f, err = newScratch(n.host.Scratch); err != nil {
		return nil, 0, err
	}
	written := make(chan error, 1)
	go func() { written <- snap.Write(f) }()
	for waits := true; waits; {
		select {
		case err = <-written:
			waits = false
		case <-time.After(keepAlive):
			for _, t := range each {
				t.bytes.append([]byte("\n"))
				t.wakeAll()
			}
		}
	}
	if err == nil {
		size, err = f.Size()
	}
	if err != nil {
		_ = f.Close()
	}
	return f, size, err
}

// copyFile sends a file.
func (t *transfer) copyFile(f *scratch, size int64) error {
	_, err := fmt.Fprintf(t, "$%d\r\n", size)
	if err == nil {
		_, err = io.CopyBuffer(struct{ io.Writer }{t}, struct{ io.Reader }{io.NewSectionReader(f, 0, size)}, make([]byte, sendBytes))
	}
	return err
}

// sent records the result of a transfer.
func (n *Node) sent(t *transfer, err error) {
	for _, r := range n.replicas {
		if r.begins != t {
			continue
		}
		r.begins = nil
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
}

// cutWritten is called when the snapshot was written: the next snapshot may begin.
func (n *Node) cutWritten(snap Snapshot) {
	snap.Release()
	n.writing = false
	for _, r := range n.replicas {
		if r.state == waiting && n.delayMS == 0 {
			n.begin()
			return
		}
	}
}
