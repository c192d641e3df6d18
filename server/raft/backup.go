package raft

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"lockserver/commands"
)

// A backup is a snapshot that a client reads in pieces: RAFT BACKUP makes the snapshot and holds it open,
// RAFT READ returns the next piece. The pieces are an RDB file.

const (
	// mostBackups bounds the backups that are open at a time.
	mostBackups = 4
	// idleBackup is the time without a RAFT READ after which a backup is closed.
	idleBackup = time.Minute
	// pieceBytes is the size of each piece. Only the last piece is smaller.
	pieceBytes = 1 << 20
	// backupFor is the time during which Backup repeats its attempt to make the snapshot.
	backupFor = 20 * time.Second
	// backupAgain is the pause between two attempts.
	backupAgain = 100 * time.Millisecond
)

// Backup is the reply to RAFT BACKUP: the newest state in a new snapshot, which RAFT READ reads.
func (bs *backups) Backup() (Reply, error) {
	least := uint64(0)
	bs.m.host.Locked(func() { least = bs.m.index })
	if t := bs.m.Owned.Table(); t != nil && (t.Out != nil || len(t.In) > 0) {
		return nil, errBackupMoves
	}
	// plant:raft-backup
	if err := bs.snapshotForBackup(); err != nil {
		return nil, err
	}
	b, err := bs.openBackup()
	if err != nil {
		return nil, commands.Error("ERR the snapshot cannot be read: " + oneLineOf(err.Error()))
	}
	if b.info.Index < least { // it would be an older one: that is no backup of what there is now
		_ = b.from.Close()
		return nil, commands.Error(fmt.Sprintf("ERR the newest snapshot has the index %d, and this member's data has %d: try again", b.info.Index, least))
	}
	id := ""
	bs.m.host.Slice(func() {
		if len(bs.opened) >= mostBackups {
			err = errManyBackups
			return
		}
		if bs.opened == nil {
			bs.opened = make(map[string]*backup)
		}
		id = bs.m.host.NewID()
		b.used = time.Now()
		bs.opened[id] = b
	})
	if err != nil {
		_ = b.from.Close()
		return nil, err
	}
	return func(c *commands.Ctx) { b.writeTo(c, id) }, nil
}

// writeTo writes the reply to RAFT BACKUP.
func (b *backup) writeTo(c *commands.Ctx, id string) {
	var members []string
	for _, p := range b.info.Peers {
		members = append(members, p.ID+"="+p.Raft+"/"+p.Client)
	}
	recurs := int64(0)
	if b.head.Rules {
		recurs = 1
	}
	words := []string{"id", id, "group", b.info.Group, "members", strings.Join(members, " ")}
	numbers := []struct {
		name string
		is   int64
	}{{"index", int64(b.info.Index)}, {"term", int64(b.info.Term)}, {"time-ms", b.head.ClockMS}, {"token", b.head.Token}, {"recurs", recurs}, {"bytes", b.bytes}}
	c.Out.Map(len(words)/2 + len(numbers))
	for _, w := range words {
		c.Out.BulkString(w)
	}
	for _, n := range numbers {
		c.Out.BulkString(n.name)
		c.Out.Int(n.is)
	}
}

// snapshotForBackup makes a snapshot. It waits if another snapshot or a change of the members is under way.
func (bs *backups) snapshotForBackup() error {
	for begun := time.Now(); ; {
		err := snapshot(bs.m, nil)
		if err == nil || time.Since(begun) > backupFor || !passes(err) {
			return err
		}
		select {
		case <-time.After(backupAgain):
		case <-bs.m.closed:
			return err
		}
	}
}

// passes reports whether an attempt to make a snapshot may succeed a moment later. That is so if another
// snapshot or a change of the members is under way. The library reports both by the texts of errors.
func passes(err error) bool {
	return errors.Is(err, errSnapping) || strings.Contains(err.Error(), errNotNow.Error()) || strings.Contains(err.Error(), "wait until the configuration entry")
}

// openBackup opens the newest snapshot.
func (bs *backups) openBackup() (*backup, error) {
	info, from, err := bs.m.engine.OpenSnapshot()
	if err != nil {
		return nil, err
	}
	in := &counted{from: from}
	b := &backup{info: info, from: from, data: bufio.NewReaderSize(in, 64<<10)}
	if b.head, err = ReadHead(b.data); err != nil {
		return nil, errors.Join(err, from.Close())
	}
	b.bytes = info.Bytes - (in.bytes - int64(b.data.Buffered()))
	return b, nil
}

// counted counts the bytes that were read.
type counted struct {
	from  io.Reader
	bytes int64
}

// Read implements io.Reader.
func (c *counted) Read(b []byte) (n int, err error) {
	n, err = c.from.Read(b)
	c.bytes += int64(n)
	return n, err
}

// Read is the reply to RAFT READ: the next piece. After the last piece it returns an empty one, and closes
// the backup.
func (bs *backups) Read(id string, offset int64) (Reply, error) {
	var b *backup
	var err error
	bs.m.host.Locked(func() {
		switch b = bs.opened[id]; {
		case b == nil:
			err = errNoBackup
		case b.busy:
			err = errBackupBusy
		case b.offset != offset:
			err = errBackupPlace
		default:
			b.busy = true
		}
	})
	if err != nil {
		return nil, err
	}
	piece := make([]byte, pieceBytes)
	n, bad := io.ReadFull(b.data, piece)
	if errors.Is(bad, io.EOF) || errors.Is(bad, io.ErrUnexpectedEOF) {
		bad = nil
	}
	bs.m.host.Locked(func() {
		b.busy, b.used = false, time.Now()
		b.offset += int64(n)
		if bad != nil || n == 0 || b.over {
			bs.closeBackup(id, b)
		}
	})
	if bad != nil {
		return nil, commands.Error("ERR the snapshot cannot be read: " + oneLineOf(bad.Error()))
	}
	return func(c *commands.Ctx) { c.Out.Bulk(piece[:n]) }, nil
}

// closeBackup closes a backup, or lets the command that reads it do so at its end. Under the host's lock.
func (bs *backups) closeBackup(id string, b *backup) {
	delete(bs.opened, id)
	if b.over = true; !b.busy {
		_ = b.from.Close() // it was only read
	}
}

// closeIdleBackups closes the backups that no client has read from for a while. Under the host's lock.
func (bs *backups) closeIdleBackups() {
	for id, b := range bs.opened {
		if time.Since(b.used) > idleBackup && !b.busy {
			bs.closeBackup(id, b)
		}
	}
}

// closeBackups closes all backups, when the member ends.
func (bs *backups) closeBackups() {
	bs.m.host.Locked(func() {
		for id, b := range bs.opened {
			bs.closeBackup(id, b)
		}
	})
}
