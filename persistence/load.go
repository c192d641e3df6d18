package persistence

import (
	"errors"
	"fmt"
	"io"
	"os"

	"lockserver/persistence/rdb"
	"lockserver/store"
	"lockserver/store/stream"
)

// Loaded says what a snapshot held.
type Loaded struct {
	Keys    int
	Expired int // keys whose time had come before the load; they are not kept
	Bytes   int64
	Version int // of the format
}

// LoadFile fills an empty store from a snapshot; the error is os.ErrNotExist's if there is no such file. After any
// error the store may hold a part and must be thrown away: nothing is ever half loaded into use.
func LoadFile(path string, st *store.Store, checksum bool) (Loaded, error) {
	f, err := os.Open(path)
	if err != nil {
		return Loaded{}, err
	}
	defer func() { _ = f.Close() }()
	got, err := Load(f, st, checksum)
	if err != nil {
		return got, fmt.Errorf("%s: %w", path, err)
	}
	return got, nil
}

// Load fills an empty store from a snapshot of any RDB version up to 12. The error names the offset and the reason.
func Load(r io.Reader, st *store.Store, checksum bool) (got Loaded, err error) {
	in := rdb.NewReader(r, rdb.ReaderOptions{NoChecksum: !checksum, Databases: st.Len()})
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return got, err
		}
		if e.ExpireAtMS != 0 && e.ExpireAtMS <= st.NowMS() {
			got.Expired++
			continue
		}
		if err := loadKey(in, st, e); err != nil {
			return got, err
		}
		got.Keys++
	}
	if n := len(in.Functions()); n > 0 {
		return got, fmt.Errorf("the snapshot holds %d function libraries, which this version cannot keep", n)
	}
	got.Bytes, got.Version = in.Offset(), in.Version()
	return got, nil
}

func loadKey(in *rdb.Reader, st *store.Store, e *rdb.Entry) error {
	db := st.DB(e.DB)
	fresh := false
	switch e.Kind {
	case rdb.String:
		fresh = db.LoadString(e.Key, e.Bytes, e.ExpireAtMS)
	case rdb.Hash:
		h := st.NewHash()
		for f, ok := e.NextField(); ok; f, ok = e.NextField() {
			if f.ExpireAtMS != 0 {
				return cannotHold(in, e, "a hash whose fields expire")
			}
			if !h.Set(st.Limits().Hash, f.Name, f.Value) {
				return e.Duplicate(f.Name)
			}
		}
		fresh = db.LoadHash(e.Key, h, e.ExpireAtMS)
	case rdb.Set:
		s := st.NewSet()
		for m, ok := e.NextMember(); ok; m, ok = e.NextMember() {
			if !s.Add(st.Limits().Set, m) {
				return e.Duplicate(m)
			}
		}
		fresh = db.LoadSet(e.Key, s, e.ExpireAtMS)
	case rdb.Stream:
		s, err := loadStream(in, st, e)
		if err != nil {
			return err
		}
		fresh = db.LoadStream(e.Key, s, e.ExpireAtMS)
	default:
		return cannotHold(in, e, "a "+e.Kind.String())
	}
	if err := e.Err(); err != nil {
		return err
	}
	if !fresh {
		return in.DuplicateKey()
	}
	return nil
}

func loadStream(in *rdb.Reader, st *store.Store, e *rdb.Entry) (*stream.Stream, error) {
	s := st.NewStream()
	for n, ok := e.NextNode(); ok; n, ok = e.NextNode() {
		lp := n.Listpack
		if !n.Owned {
			lp = lp.Clone()
		}
		if err := s.AppendNode(stream.ID(n.Master), lp); err != nil {
			return nil, fmt.Errorf("rdb: offset %d: corrupt: key %q: %w", in.Offset(), e.Key, err)
		}
	}
	info, err := e.StreamInfo()
	if err != nil {
		return nil, err
	}
	if info.Length != uint64(s.Len()) {
		return nil, fmt.Errorf("rdb: offset %d: corrupt: key %q: the stream claims %d entries and holds %d",
			in.Offset(), e.Key, info.Length, s.Len())
	}
	if info.Groups > 0 {
		return nil, cannotHold(in, e, "a stream with consumer groups")
	}
	last, deleted := stream.ID(info.LastID), stream.ID(info.MaxDeletedID)
	if last.Less(s.LastID()) {
		return nil, fmt.Errorf("rdb: offset %d: corrupt: key %q: the stream's last id is below its entries", in.Offset(), e.Key)
	}
	s.SetID(last, &info.EntriesAdded, &deleted)
	return s, nil
}

// cannotHold refuses a value that is sound but has no place in the store: loading the rest without it would lose it
// at the next save.
func cannotHold(in *rdb.Reader, e *rdb.Entry, what string) error {
	return fmt.Errorf("rdb: offset %d: key %q of database %d is %s, which this version cannot hold",
		in.Offset(), e.Key, e.DB, what)
}
