package engine

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	hraft "github.com/hashicorp/raft"

	"lockserver/persistence"
	"lockserver/persistence/aof"
	"lockserver/persistence/disk"
	"lockserver/persistence/rdb"
	"lockserver/server/raft"
)

// A backup is an RDB file with facts about the group in AUX fields. Redis and lockserver load it as any
// other. The names of the fields, do not change.
const (
	auxIndex   = "lockserver-raft-index"
	auxTerm    = "lockserver-raft-term"
	auxClock   = "lockserver-raft-time-ms"
	auxToken   = "lockserver-raft-token"
	auxGroup   = "lockserver-raft-group"
	auxMembers = "lockserver-raft-members"
)

// Backup says what a backup stands for.
type Backup struct {
	Index, Term uint64
	raft.Head
	Group   string // the id of the group that it is of
	Members string // as in the directive raft-members
}

// Write writes the backup. data is an RDB file; its checksum is verified.
func (b *Backup) Write(w io.Writer, data io.Reader) error {
	return rdb.Rewrite(w, data, []rdb.AuxField{
		{Name: auxIndex, Value: strconv.FormatUint(b.Index, 10)}, {Name: auxTerm, Value: strconv.FormatUint(b.Term, 10)},
		{Name: auxClock, Value: strconv.FormatInt(b.ClockMS, 10)}, {Name: auxToken, Value: strconv.FormatInt(b.Token, 10)},
		{Name: auxGroup, Value: b.Group}, {Name: auxMembers, Value: b.Members}})
}

// Save writes the backup to a file. data is an RDB file. The file is replaced when all was written and
// verified. After an error the file is as it was.
func (b *Backup) Save(path string, data io.Reader) (is BackupFile, err error) {
	part := path + ".part"
	defer func() {
		if err != nil {
			_ = os.Remove(part)
		}
	}()
	if err = persistence.ReplaceFile(part, persistence.SnapshotMode&0o600, func(w io.Writer) error { return b.Write(w, data) }); err != nil {
		return is, err
	}
	if is, err = ReadBackup(part); err != nil {
		return is, err
	}
	if err = os.Rename(part, path); err != nil {
		return is, err
	}
	return is, disk.OS{}.SyncDir(filepath.Dir(path))
}

// BackupFile describes a backup, or any other RDB file.
type BackupFile struct {
	Backup
	IsBackup bool // otherwise it is of a single server, or of a Redis
	Bytes    int64
	Sum      string // the file's SHA-256 in hexadecimal digits
	Keys     int64
	Timed    int64 // keys with a deadline
	// Slots has the slots of a group that is a shard of a cluster, as raft.ReadSlots reads it; empty: it has
	// no slots.
	Slots string
	Data  *aof.CheckedSnapshot
}

// ReadBackup verifies a backup, or any other RDB file: each length, each encoding and the checksum.
func ReadBackup(path string) (b BackupFile, err error) {
	f, err := os.Open(path)
	if err != nil {
		return b, err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(f, sum), 1<<20)
	if b.Data, err = aof.CheckSnapshot(in); err != nil {
		return b, fmt.Errorf("%s: %w", path, err)
	}
	if behind, err := io.Copy(io.Discard, in); err != nil || behind > 0 {
		return b, errors.Join(err, fmt.Errorf("%s: %d bytes are behind the end of the snapshot", path, behind))
	}
	b.Sum, b.Bytes, b.Timed = fmt.Sprintf("%x", sum.Sum(nil)), b.Data.Bytes, b.Data.Timed
	b.Keys = keysOf(b.Data)
	for _, a := range b.Data.Aux {
		b.take(a)
	}
	return b, nil
}

// take takes a fact that a file states about itself. Of a file that is no backup it takes the time of its
// making and the limit of tokens.
func (b *BackupFile) take(a rdb.AuxField) {
	n, _ := strconv.ParseInt(a.Value, 10, 64)
	switch a.Name {
	case auxIndex:
		b.Index, b.IsBackup = uint64(n), n > 0
	case auxTerm:
		b.Term = uint64(n)
	case auxClock:
		b.ClockMS = n
	case auxToken, rdb.AuxTokenLimit:
		b.Token = max(b.Token, n)
	case auxGroup:
		b.Group = a.Value
	case auxMembers:
		b.Members = a.Value
	case rdb.AuxSlots:
		b.Slots = a.Value
		_, t, err := raft.ReadSlots(a.Value)
		b.Head.Moves = err == nil && t != nil && t.Moved()
	case "ctime":
		if b.ClockMS == 0 {
			b.ClockMS = n * 1000
		}
	}
}

// Restoring says which member of a new group a backup is restored to.
type Restoring struct {
	File string // an RDB file
	Dir  string // of the server: the member's files are in its directory raft
	ID   string
	// Name is the group's name (raft-group), and Members are those that form the new group.
	Name    string
	Members []raft.Peer
	// GroupID is the id of the new group, which all of its members must have; empty: it is made of the file's
	// checksum, the name and the members.
	GroupID string
	// TokenFloor is a number that the fencing tokens of the new group are above; 0: none is given.
	TokenFloor int64
	Log        *slog.Logger
}

// tokenLeap is how far the tokens of a new group are above those of the backup, in microseconds. Tokens
// that were given out after the backup are below the time of day, or ahead of it by up to an hour. If the
// clock of a leader was ahead, they may be higher: Restoring.TokenFloor is for such tokens.
const tokenLeap = 3_600_000_000

// Restore makes the files of a member of a new group with the data of a backup. All members have to be made
// from the same file, with the same words. The error says why nothing was made.
func (o *Restoring) Restore() (b BackupFile, err error) {
	if _, in := raft.Find(o.Members, o.ID); !in {
		return b, fmt.Errorf("raft-members does not list the raft-id '%s'", o.ID)
	}
	if b, err = ReadBackup(o.File); err != nil {
		return b, err
	}
	if b.Index == 0 {
		b.Index, b.Term = 1, 1
	}
	if b.Token > 0 {
		b.Token += tokenLeap
	}
	b.Token = max(b.Token, o.TokenFloor)
	if o.GroupID == "" {
		o.GroupID = o.derivedID(b.Sum)
	}
	to := filepath.Join(o.Dir, "raft")
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		return b, errors.Join(err, fmt.Errorf("%s is there already: a backup is restored to a new directory. Move it away", to))
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return b, err
	}
	made, err := os.MkdirTemp(o.Dir, "raft-restore-")
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(made)) }()
	in := filepath.Join(made, "raft")
	if err := o.fill(in, &b); err != nil {
		return b, err
	}
	if err := giveTo(in, o.Dir); err != nil {
		return b, err
	}
	if err := os.Rename(in, to); err != nil {
		return b, err
	}
	return b, disk.OS{}.SyncDir(o.Dir)
}

// derivedID is the id of a group that is restored from a file. Members of other groups have other ids.
func (o *Restoring) derivedID(sum string) string {
	words := []string{"restored", sum, o.Name}
	for _, p := range o.Members {
		words = append(words, p.ID+"="+string(Address(p)))
	}
	slices.Sort(words[3:])
	if o.TokenFloor > 0 { // members without it would give out lower tokens
		words = append(words, fmt.Sprint("token-floor ", o.TokenFloor))
	}
	id := sha256.Sum256([]byte(strings.Join(words, "\n")))
	return fmt.Sprintf("%x", id[:8])
}

// fill makes the files in a directory.
func (o *Restoring) fill(dir string, b *BackupFile) (err error) {
	eo := Options{ID: o.ID, Peers: o.Members, Log: o.Log}
	if err := KeepIn(dir, o.Name, &eo); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eo.Release()) }()
	if err := eo.Identity.learn(o.GroupID); err != nil {
		return err
	}
	if err := eo.Stable.SetUint64(keyTerm, b.Term); err != nil {
		return err
	}
	var all hraft.Configuration
	for _, p := range o.Members {
		// The disks of the others are not known yet. The leader finds out (nameRest).
		all.Servers = append(all.Servers, hraft.Server{ID: hraft.ServerID(p.ID), Address: configured(p, o.GroupID)})
	}
	sink, err := eo.Snapshots.Create(1, b.Index, b.Term, all, b.Index, hollow{})
	if err != nil {
		return err
	}
	if err := o.write(sink, b); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// write writes the snapshot. Its place in the history is a new one, the same for all members.
func (o *Restoring) write(w io.Writer, b *BackupFile) error {
	f, err := os.Open(o.File)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := raft.WriteHead(w, b.Head); err != nil {
		return err
	}
	history := sha256.Sum256([]byte("history " + o.GroupID))
	return rdb.Rewrite(w, f, []rdb.AuxField{{Name: rdb.AuxStreamDB, Value: "0"}, {Name: rdb.AuxHistoryID, Value: fmt.Sprintf("%x", history[:20])},
		{Name: rdb.AuxHistoryOffset, Value: "0"}, {Name: rdb.AuxTokenLimit, Value: strconv.FormatInt(b.Token, 10)}})
}

// hollow is the transport that the library wants to know addresses from when a snapshot is made.
type hollow struct{ hraft.Transport }

// EncodePeer implements hraft.Transport.
func (hollow) EncodePeer(_ hraft.ServerID, at hraft.ServerAddress) []byte { return []byte(at) }

// Age returns the time since the backup; 0: the backup has no time.
func (b *BackupFile) Age(now time.Time) time.Duration {
	if b.ClockMS == 0 {
		return 0
	}
	return max(0, now.Sub(time.UnixMilli(b.ClockMS)))
}
