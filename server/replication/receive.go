package replication

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"lockserver/internal/resp"
)

// The input from a master: a snapshot (take), and the commands after it (stream).

// way is the way in which a snapshot becomes the data (repl-diskless-load).
type way struct {
	direct bool // it is loaded directly, without a file
	aside  bool // it is loaded beside the data, and replaces the data when it is complete
	serves bool // clients see the old data meanwhile, because it is an earlier state of the same history
}

// wayOf returns how the snapshot of a history is loaded. It is called under the host's lock.
func (n *Node) wayOf(id string) way {
	switch n.config().DisklessLoad {
	case "on-empty-db":
		return way{direct: n.host.Empty()}
	case "swapdb":
		return way{direct: true, aside: true, serves: n.id == id}
	}
	return way{}
}

// to returns the target of the snapshot in Redis' words.
func (w way) to() string {
	if w.direct {
		return "to parser"
	}
	return "to disk"
}

// take replaces the data by a snapshot. It returns the database of the commands after it.
func (l *link) take(from incoming, how way) (db int, err error) {
	counted := &counting{Reader: from, link: l}
	if how.direct {
		return l.load(counted, from.size, how, nil)
	}
	f, err := newReceived(l.node.host.Scratch)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	size, err := io.Copy(struct{ io.Writer }{f}, counted)
	if err == nil {
		err = f.sync()
	}
	if err != nil {
		return 0, err
	}
	return l.load(f, size, how, f.keep)
}

// load reads a snapshot. After the old data is removed, no history is known until the load has succeeded.
// keep gives the file of the snapshot a name; it is nil without a file.
func (l *link) load(from io.Reader, size int64, how way, keep func(as string) error) (db int, err error) {
	gone := func() error {
		if l.stopped {
			return errUnfollowed
		}
		if l.known = false; how.aside {
			l.node.host.Log().Info("MASTER <-> REPLICA sync: Swapping active DB with loaded DB")
		} else {
			l.node.host.Log().Info("MASTER <-> REPLICA sync: Flushing old data")
		}
		return nil
	}
	l.node.host.Log().Info("MASTER <-> REPLICA sync: Loading DB in memory")
	return l.node.host.Replace(Replacement{From: &living{Reader: from, link: l}, Size: size, Aside: how.aside, Serves: how.serves, Gone: gone, Keep: keep})
}

// counting counts the bytes of a snapshot, and sends keepalives to the master.
type counting struct {
	io.Reader
	link *link
}

// Read implements io.Reader.
func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.link.progress.got.Add(int64(n))
	c.link.hear()
	return n, err
}

// living sends the master a keepalive once a second while its snapshot is loaded.
type living struct {
	io.Reader
	link     *link
	reported time.Time
}

// Read implements io.Reader. It fails if the link has been ended, which ends the load.
func (r *living) Read(b []byte) (int, error) {
	select {
	case <-r.link.stop:
		return 0, errUnfollowed
	default:
	}
	if now := time.Now(); now.Sub(r.reported) > time.Second {
		r.reported = now
		if err := r.link.send([]byte("\n")); err != nil {
			return 0, err
		}
	}
	return r.Reader.Read(b)
}

// diskMarks finds the position of the history that is on disk. It has two positions, with the log's positions
// after them.
type diskMarks struct{ awaited, newest diskMark }

type diskMark struct{ offset, position int64 }

// add records the log's position at a position of the history.
func (d *diskMarks) add(offset, position int64) {
	d.newest = diskMark{offset, position}
	if d.awaited == (diskMark{}) {
		d.awaited = d.newest
	}
}

// reached returns the position of the history that is on disk; -1: the same as at the last call.
func (d *diskMarks) reached(synced func(position int64) bool) int64 {
	reached := int64(-1)
	for d.awaited != (diskMark{}) && synced(d.awaited.position) {
		reached = d.awaited.offset
		if d.awaited == d.newest {
			d.awaited = diskMark{}
		} else {
			d.awaited = d.newest
		}
	}
	return reached
}

// acknowledge records our position for the master. It is called under the host's lock.
func (l *link) acknowledge() {
	p := &l.progress
	p.applied.Store(l.node.Offset())
	if !l.node.host.HasLog() {
		p.onDisk.Store(-1)
	} else if at := l.disk.reached(l.node.host.LogSynced); at >= 0 {
		p.onDisk.Store(at)
	}
}

// tell sends our position to the master.
func (l *link) tell() error {
	p := &l.progress
	words := [][]byte{[]byte("REPLCONF"), []byte("ACK"), strconv.AppendInt(nil, p.applied.Load(), 10)}
	if at := p.onDisk.Load(); at >= 0 {
		words = append(words, []byte("FACK"), strconv.AppendInt(nil, at, 10))
	}
	b := resp.AppendCommand(nil, words...)
	if f := l.wants.Swap(0); f != 0 {
		b = resp.AppendCommand(b, []byte("REPLCONF"), []byte("ask"), strconv.AppendUint(nil, uint64(f), 10))
	}
	return l.send(b)
}

// stream reads the history and applies it, until the link ends.
func (l *link) stream(c *dialled) error {
	done := make(chan struct{})
	defer close(done)
	if err := l.tell(); err != nil {
		return err
	}
	go func() {
		for {
			select {
			case <-l.acks:
				_ = l.tell() // the reader will notice an error
			case <-done:
				return
			}
		}
	}()
	in := NewInput(l.db)
	buf := make([]byte, readBytes)
	for {
		n, err := c.in.Read(buf)
		if n > 0 {
			l.hear()
			l.progress.read.Add(int64(n))
			if err := l.receive(in, buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// errUnfollowed ends the link of a server that does not follow this master any more.
var errUnfollowed = errors.New("the server follows another master, or none")

// receive takes bytes of the history, and applies the complete units.
func (l *link) receive(in *Input, b []byte) error {
	if err := in.Take(b); err != nil {
		return fmt.Errorf("from the master: %w", err)
	}
	var err error
	for some := in.Next(); len(some) > 0 && err == nil; some = in.Next() {
		l.node.host.Slice(func() { err = l.applyUnits(in, some) })
	}
	in.Keep()
	if in.asked && err == nil {
		in.asked = false
		err = l.tell()
	}
	return err
}

// applyUnits applies units in a slice of the host's time.
func (l *link) applyUnits(in *Input, some []Unit) error {
	if l.stopped {
		return errUnfollowed
	}
	for i := range some {
		if err := l.applyUnit(&some[i]); err != nil {
			l.known = false // a part of the unit may have been applied
			return err
		}
		if some[i].storesRules(l.node.host.RecursAt) {
			closeOlder(l.node)
		}
		from := l.node.Offset()
		if l.node.add(in.Bytes(&some[i])); some[i].probe != 0 {
			l.node.passed(probe{some[i].probe, from, l.node.Offset()})
		}
	}
	l.disk.add(l.node.Offset(), l.node.host.LogEnd())
	l.acknowledge()
	return nil
}

// applyUnit runs the commands of a unit.
func (l *link) applyUnit(u *Unit) error {
	host := l.node.host
	defer host.EndUnit()
	for _, c := range u.Commands {
		if err := host.Apply(c.DB, c.Argv); err != nil {
			return fmt.Errorf("what the master has sent cannot be applied, all is fetched anew: %w", err)
		}
	}
	l.db = u.DB
	return nil
}
