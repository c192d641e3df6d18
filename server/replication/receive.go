package replication

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/internal/resp"
)

// What a master sends: a snapshot (take), and the commands behind it (stream).

// take puts a snapshot in the place of the data, and returns the database that what follows it is for.
func (l *link) take(from incoming) (db int, err error) {
	n, direct := l.node, false
	n.host.Do(func() { direct = n.config().DisklessLoad == "on-empty-db" && n.host.Empty() })
	counted := &counting{Reader: from, link: l}
	if direct {
		return l.load(counted, from.size)
	}
	f, err := n.newScratch()
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	size, err := io.Copy(struct{ io.Writer }{f}, counted)
	if err != nil {
		return 0, err
	}
	return l.load(f, size)
}

// load forgets the data and reads a snapshot. The history is nobody's until that has succeeded.
func (l *link) load(from io.Reader, size int64) (db int, err error) {
	n, stopped := l.node, false
	n.host.Do(func() {
		if stopped = l.stopped; !stopped {
			l.known = false
		}
	})
	if stopped {
		return 0, errors.New("the server does not follow this master any more")
	}
	return n.host.Replace(&living{Reader: from, link: l}, size)
}

// counting counts what is read of a snapshot, and keeps the master from taking us for dead.
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

// living tells the master once a second, while its snapshot is loaded, that we are there.
type living struct {
	io.Reader
	link *link
	told time.Time
}

// Read implements io.Reader.
func (r *living) Read(b []byte) (int, error) {
	if now := time.Now(); now.Sub(r.told) > time.Second {
		r.told = now
		if err := r.link.send([]byte("\n")); err != nil {
			return 0, err
		}
	}
	return r.Reader.Read(b)
}

// diskMarks knows up to where the history is on disk: of two places, the log's positions behind them.
type diskMarks struct{ awaited, newest diskMark }

type diskMark struct{ offset, position int64 }

// note is told where the log is at a place of the history.
func (d *diskMarks) note(offset, position int64) {
	d.newest = diskMark{offset, position}
	if d.awaited == (diskMark{}) {
		d.awaited = d.newest
	}
}

// reached returns up to where the history is on disk; -1: no further than when it was asked last.
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

// acknowledge notes how far we are, for the master. Under the host's lock.
func (l *link) acknowledge() {
	p := &l.progress
	p.applied.Store(l.node.Offset())
	if !l.node.host.HasLog() {
		p.onDisk.Store(-1)
	} else if at := l.disk.reached(l.node.host.LogSynced); at >= 0 {
		p.onDisk.Store(at)
	}
}

// tell tells the master how far we are.
func (l *link) tell() error {
	p := &l.progress
	words := [][]byte{[]byte("REPLCONF"), []byte("ACK"), strconv.AppendInt(nil, p.applied.Load(), 10)}
	if at := p.onDisk.Load(); at >= 0 {
		words = append(words, []byte("FACK"), strconv.AppendInt(nil, at, 10))
	}
	return l.send(resp.AppendCommand(nil, words...))
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
				_ = l.tell() // who reads finds out
			case <-done:
				return
			}
		}
	}()
	in := newInput(l)
	buf := make([]byte, readBytes)
	for {
		n, err := c.in.Read(buf)
		if n > 0 {
			l.hear()
			l.progress.read.Add(int64(n))
			if err := in.take(buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// input is what has come of the history and is not applied.
type input struct {
	link    *link
	decoder resp.Decoder
	raw     []byte // the bytes of what is not applied
	end     int    // of those of whole commands
	db      int
	open    bool      // within MULTI and EXEC
	unit    []command // the commands of the unit that is being read
	kept    int       // so many of them are copies
	units   []unit    // whole ones
	asked   bool      // the master wants to know how far we are
}

// newInput is what takes the history of a link, in the database in which it goes on.
func newInput(l *link) *input {
	in := &input{link: l, db: l.db}
	in.decoder.SetLimits(resp.Limits{MaxBulk: math.MaxInt32, MaxQuery: math.MaxInt64})
	in.decoder.SetAuthenticated(true)
	return in
}

// command is one that is to be applied.
type command struct {
	db   int
	argv [][]byte
}

// unit is what happened at one moment.
type unit struct {
	commands []command
	end      int // of its bytes
	db       int // that is chosen behind it
}

// unitsPerSlice is how many units are applied at most while others wait.
const unitsPerSlice = 128

// take takes what was read, and applies the units that are whole.
func (in *input) take(b []byte) error {
	in.raw = append(in.raw, b...)
	in.decoder.Feed(b)
	for {
		before := in.decoder.Pending()
		argv, ok, err := in.decoder.Next(nil)
		in.end += before - in.decoder.Pending()
		if err != nil {
			return fmt.Errorf("bad protocol from the master: %w", err)
		}
		if !ok {
			break
		}
		if err := in.command(argv); err != nil {
			return err
		}
	}
	err := in.apply()
	in.keep()
	in.decoder.Keep()
	return err
}

// keep copies the commands of a unit that is not whole: they point into what was read.
func (in *input) keep() {
	for ; in.kept < len(in.unit); in.kept++ {
		i := in.kept
		for j, arg := range in.unit[i].argv {
			in.unit[i].argv[j] = slices.Clone(arg)
		}
	}
}

// command takes one command. An empty one is a sign of life.
func (in *input) command(argv [][]byte) error {
	switch {
	case len(argv) == 0 || ascii.EqualFold(argv[0], "PING"):
	case ascii.EqualFold(argv[0], "SELECT") && len(argv) == 2:
		db, ok := decimal.ParseInt(argv[1])
		if !ok || db < 0 || db > math.MaxInt32 {
			return fmt.Errorf("the master selects database %.40q", argv[1])
		}
		in.db = int(db)
	case ascii.EqualFold(argv[0], "MULTI"):
		in.open = true
		return nil
	case ascii.EqualFold(argv[0], "EXEC"):
		in.open = false
	case ascii.EqualFold(argv[0], "REPLCONF"):
		in.asked = in.asked || len(argv) == 3 && ascii.EqualFold(argv[1], "GETACK")
	default:
		in.unit = append(in.unit, command{in.db, argv})
	}
	if !in.open {
		in.units = append(in.units, unit{in.unit, in.end, in.db})
		in.unit, in.kept = nil, 0
	}
	return nil
}

// errUnfollowed ends the link of a server that does not follow this master any more.
var errUnfollowed = errors.New("the server follows another master, or none")

// apply applies the units that are whole.
func (in *input) apply() (err error) {
	l, begun := in.link, 0
	for len(in.units) > 0 && err == nil {
		some := in.units[:min(len(in.units), unitsPerSlice)]
		in.units = in.units[len(some):]
		l.node.host.Slice(func() {
			if l.stopped {
				err = errUnfollowed
				return
			}
			for i := range some {
				if err = l.applyUnit(&some[i]); err != nil {
					l.known = false // a part of the unit may have been done
					return
				}
				l.node.add(in.raw[begun:some[i].end])
				begun = some[i].end
			}
			l.disk.note(l.node.Offset(), l.node.host.LogEnd())
			l.acknowledge()
		})
	}
	in.units = nil
	in.raw = in.raw[:copy(in.raw, in.raw[begun:])]
	in.end -= begun
	if in.asked && err == nil {
		in.asked = false
		err = l.tell()
	}
	return err
}

// applyUnit does what the commands of a unit say.
func (l *link) applyUnit(u *unit) error {
	host := l.node.host
	defer host.EndUnit()
	for _, c := range u.commands {
		if err := host.Apply(c.db, c.argv); err != nil {
			return fmt.Errorf("what the master has sent cannot be applied, all is fetched anew: %w", err)
		}
	}
	l.db = u.db
	return nil
}
