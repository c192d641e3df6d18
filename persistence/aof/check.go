package aof

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"lockserver/persistence/disk"
	"lockserver/persistence/rdb"
	"lockserver/store/stream"
)

// Checked describes the content of a file.
type Checked struct {
	Path  string
	Bytes int64
	// Snapshot describes the snapshot at the beginning; nil if there is none.
	Snapshot *CheckedSnapshot
	// Commands counts the commands by their names in capitals, including SELECT and the commands between
	// MULTI and EXEC. Units counts single commands and transactions.
	Commands map[string]int64
	Units    int64
	// TokenLimit is the highest fencing token in the file, or the upper limit of tokens that the file states.
	// 0 means that it has no token.
	TokenLimit int64
	// Torn is the torn end that a start would cut off. Only the last file of a log may have a torn end.
	Torn *Cut
}

// CheckedSnapshot describes the content of a snapshot.
type CheckedSnapshot struct {
	Version   int
	Bytes     int64
	Aux       []rdb.AuxField // redis-ver, ctime ...
	Keys      map[string]int64
	Timed     int64 // keys with a deadline
	Databases int   // databases with keys
	Functions int   // function libraries
	// Warnings lists wrong statements in the snapshot that a start would correct.
	Warnings []string
}

// Report lists the results of Check in its order.
type Report struct {
	Manifests []string
	Files     []Checked
	History   []string // files that the next start deletes
}

// Check reads a snapshot, a log, or a directory with such files, and verifies as much as is possible without
// execution. That is each length, each encoding, each checksum, and that all files of a log exist. path is a
// snapshot, a file of commands, a manifest, or a directory. In a directory and its subdirectories, Check
// reads every *.manifest and *.rdb. The error is the error that would prevent a server from starting, with
// file and offset; the report then ends before that place. Nothing is changed or locked.
func Check(files disk.FS, path string) (Report, error) {
	c := checking{files: files}
	names, err := files.List(path)
	if err != nil { // path is not a directory
		return c.report, c.single(path)
	}
	if err := c.directory(path, names, true); err != nil {
		return c.report, err
	}
	if len(c.report.Manifests)+len(c.report.Files) == 0 {
		return c.report, fmt.Errorf("%s: no log and no snapshot in this directory", path)
	}
	return c.report, nil
}

type checking struct {
	files  disk.FS
	report Report
}

// directory checks the files in a directory, and, if deep, in its subdirectories.
func (c *checking) directory(path string, names []string, deep bool) error {
	inLog := map[string]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, ".manifest") && !strings.HasPrefix(name, "temp-") {
			listed, err := c.log(filepath.Join(path, name))
			if err != nil {
				return err
			}
			for _, n := range listed {
				inLog[n] = true
			}
		}
	}
	for _, name := range names {
		at := filepath.Join(path, name)
		if strings.HasSuffix(name, ".rdb") && !strings.HasPrefix(name, "temp-") && !inLog[name] {
			if _, err := c.file(at, false); err != nil {
				return err
			}
		}
		if below, err := c.files.List(at); err == nil && deep {
			if err := c.directory(at, below, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// single checks a file: a manifest with its log, or the file alone.
func (c *checking) single(path string) error {
	if strings.HasSuffix(path, ".manifest") {
		_, err := c.log(path)
		return err
	}
	_, err := c.file(path, false)
	return err
}

// log checks all files of a log, and returns their names.
func (c *checking) log(path string) (listed []string, err error) {
	m, err := readManifest(c.files, path)
	if err != nil {
		return nil, err
	}
	c.report.Manifests = append(c.report.Manifests, path)
	dir := filepath.Dir(path)
	for _, e := range m.History {
		c.report.History = append(c.report.History, filepath.Join(dir, e.Name))
		listed = append(listed, e.Name)
	}
	var torn *Cut
	for _, e := range m.files() {
		listed = append(listed, e.Name)
		at := filepath.Join(dir, e.Name)
		got, err := c.file(at, true)
		if isMissing(err) {
			return nil, &Error{at, 0, ErrMissing}
		}
		if err != nil {
			return nil, err
		}
		if torn != nil && got.Bytes > 0 {
			return nil, &Error{torn.File, torn.Offset, corrupt("%s: the truncated file is not the last file", torn.Reason)}
		}
		if got.Torn != nil {
			torn = got.Torn
		}
	}
	return listed, nil
}

// file checks a file. In a log the first bytes show whether it is a snapshot. Elsewhere a file named .rdb has
// to be a snapshot.
func (c *checking) file(path string, inLog bool) (got Checked, err error) {
	got = Checked{Path: path, Commands: map[string]int64{}}
	if got.Bytes, err = c.files.Size(path); err != nil {
		return got, err
	}
	f, err := c.files.Open(path)
	if err != nil {
		return got, err
	}
	defer func() { _ = f.Close() }()
	var magic [len(snapshotMagic)]byte
	if _, err := f.ReadAt(magic[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return got, &Error{path, 0, err}
	}
	offset := int64(0)
	if isSnapshot(string(magic[:])) || !inLog && strings.HasSuffix(path, ".rdb") {
		got.Snapshot, err = CheckSnapshot(io.NewSectionReader(f, 0, got.Bytes))
		if err != nil {
			return got, fmt.Errorf("%s: %w", path, err)
		}
		offset = got.Snapshot.Bytes
		for _, a := range got.Snapshot.Aux {
			if limit, err := strconv.ParseInt(a.Value, 10, 64); err == nil && a.Name == rdb.AuxTokenLimit {
				got.TokenLimit = limit
			}
		}
	}
	if err = c.commands(io.NewSectionReader(f, offset, got.Bytes-offset), offset, &got); err == nil {
		c.report.Files = append(c.report.Files, got)
	}
	return got, err
}

// commands checks the commands of a file from an offset on.
func (c *checking) commands(src io.Reader, offset int64, got *Checked) error {
	r := newReader(src, offset, got.Bytes)
	r.annotation = func(text []byte) { got.TokenLimit = max(got.TokenLimit, TokenLimit(text)) }
	inside, begin := false, int64(0)
	for {
		args, bad := r.next()
		if bad == nil && args == nil && inside {
			bad = &fault{torn: true, reason: "the file ends in the middle of a transaction"}
		}
		switch {
		case bad != nil && bad.err != nil:
			return &Error{got.Path, bad.offset, bad.err}
		case bad != nil && !bad.torn:
			return &Error{got.Path, bad.offset, corrupt("%s", bad.reason)}
		case bad != nil:
			at := r.offset()
			if inside {
				at = begin
			}
			got.Torn = &Cut{File: got.Path, Offset: at, Bytes: got.Bytes - at, Reason: bad.reason}
			return nil
		case args == nil:
			return nil
		}
		begins, ends := isMulti(args), isExec(args)
		if begins && inside || ends && !inside {
			return &Error{got.Path, r.offset() - commandBytes(args), corrupt("%s where it cannot stand", bytes.ToUpper(args[0]))}
		}
		switch {
		case begins:
			inside, begin = true, r.offset()-commandBytes(args)
		case ends:
			inside = false
			got.Units++
		default:
			if !inside {
				got.Units++
			}
			got.count(args[0])
			got.TokenLimit = max(got.TokenLimit, TokenIn(args))
		}
	}
}

// maxNames limits the command names that are counted separately, because a foreign file may have any names.
const maxNames = 512

func (c *Checked) count(name []byte) {
	key := strings.ToUpper(string(name[:min(len(name), 32)]))
	if _, known := c.Commands[key]; !known && len(c.Commands) >= maxNames {
		key = "(others)"
	}
	c.Commands[key]++
}

// CheckSnapshot reads a snapshot to its end, and verifies each length, each encoding and the checksum.
func CheckSnapshot(src io.Reader) (*CheckedSnapshot, error) {
	in := rdb.NewReader(src, rdb.ReaderOptions{})
	got := &CheckedSnapshot{Keys: map[string]int64{}}
	databases := map[int]bool{}
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		got.Keys[e.Kind.String()]++
		databases[e.DB] = true
		if e.ExpireAtMS != 0 {
			got.Timed++
		}
		if e.Kind == rdb.Stream {
			if err := got.stream(e); err != nil {
				return nil, fmt.Errorf("offset %d: key %.64q: %w", in.Offset(), e.Key, err)
			}
		}
	}
	got.Version, got.Bytes, got.Aux = in.Version(), in.Offset(), in.Aux()
	got.Databases, got.Functions = len(databases), len(in.Functions())
	skipped := in.Skipped()
	got.Warnings = append(got.Warnings, skipped.Texts()...)
	return got, nil
}

// mostWarnings limits the warnings that are kept for a file.
const mostWarnings = 100

// stream compares the counts that a stream states with its entries.
func (s *CheckedSnapshot) stream(e *rdb.Entry) error {
	entries, last := 0, stream.ID{}
	for n, ok := e.NextNode(); ok; n, ok = e.NextNode() {
		node, err := stream.InspectNode(stream.ID(n.Master), n.Listpack)
		if err != nil {
			return err
		}
		if entries += node.Entries; node.Entries > 0 {
			last = node.Last
		}
	}
	info, err := e.StreamInfo()
	if err != nil {
		return nil // the reader finds the same fault, and knows the position
	}
	if text := info.Wrong(uint64(entries), rdb.ID(last)); text != "" && len(s.Warnings) < mostWarnings {
		s.Warnings = append(s.Warnings, fmt.Sprintf("key %.64q of database %d: %s", e.Key, e.DB, text))
	}
	return nil
}
