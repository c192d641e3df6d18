package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// recordName is the file in the directory of a cluster that says how many shards its data has. Format, do not
// change: the line "lockserver-shards 1", then "shards N", then "id" and 40 hexadecimal digits.
const recordName = "shards.conf"

// Record describes the data in the directory of a cluster.
type Record struct {
	Shards int
	// ID names the cluster: the ids of its nodes follow from it, so they stay over a restart.
	ID string
}

// ReadRecord reads the record of a directory. ok is false if no cluster keeps data there. The error is that
// of the file system, or says what is wrong with the record.
func ReadRecord(dir string) (r Record, ok bool, err error) { return readRecord(dir, recordName) }

func readRecord(dir, name string) (r Record, ok bool, err error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	var version int
	n, err := fmt.Sscanf(string(text), "lockserver-shards %d\nshards %d\nid %40s\n", &version, &r.Shards, &r.ID)
	if n < 3 || err != nil || version != 1 || r.Shards < 1 || r.Shards > MaxShards || len(r.ID) != 40 {
		return r, false, fmt.Errorf("%s is damaged, or from a later version", filepath.Join(dir, name))
	}
	return r, true, nil
}

// Claim makes a directory that of a cluster with a number of shards, each with a directory of its own
// (ShardDir). It returns the record. A new record has the name id. Data of another number of shards, or of
// a server without shards, is an error, and nothing is changed then.
func Claim(dir string, shards int, id string) (Record, error) {
	was, ok, err := ReadRecord(dir)
	if err == nil {
		err = Unfinished(dir)
	}
	switch {
	case err != nil:
		return was, err
	case ok && was.Shards != shards:
		return was, fmt.Errorf("%s has the data of %d shards, not of %d: start with shards %d, or run 'lockserver reshard --dir %s --shards %d' before",
			dir, was.Shards, shards, was.Shards, dir, shards)
	case !ok:
		was = Record{shards, id}
		if err := refuseOther(dir); err != nil {
			return was, err
		}
	}
	for i := range shards {
		if err := os.MkdirAll(ShardDir(dir, i), 0o755); err != nil {
			return was, err
		}
	}
	if ok {
		return was, nil
	}
	return was, writeRecord(dir, recordName, was)
}

// ClaimAlone returns an error if a directory has the data of several shards, which a server without shards
// would not find.
func ClaimAlone(dir string) error {
	was, ok, err := ReadRecord(dir)
	if err == nil {
		err = Unfinished(dir)
	}
	if err != nil || !ok {
		return err
	}
	return fmt.Errorf("%s has the data of %d shards: start with shards %d", dir, was.Shards, was.Shards)
}

// refuseOther refuses a directory with the data of a server that is no shard.
func refuseOther(dir string) error {
	all, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range all {
		if name := e.Name(); strings.HasSuffix(name, ".rdb") || name == "appendonlydir" || name == "raft" {
			return fmt.Errorf("%s has the data of a server without shards, in %s: give the cluster another directory", dir, name)
		}
	}
	return nil
}

// writeRecord writes a record so that a crash leaves all of it, or none.
func writeRecord(dir, name string, r Record) error {
	path := filepath.Join(dir, name)
	f, err := os.CreateTemp(dir, name+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is not there any more if all went well
	_, err = fmt.Fprintf(f, "lockserver-shards 1\nshards %d\nid %s\n", r.Shards, r.ID)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// ShardDir is where the data of a shard is, counted from 0, in the directory of its cluster.
func ShardDir(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("shard-%d", i+1)) }
