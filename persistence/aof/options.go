package aof

import (
	"io"
	"time"

	"lockserver/persistence/disk"
)

// Place says where a log is.
type Place struct {
	FS       disk.FS
	Dir      string // the server's directory (dir); it exists
	Sub      string // the directory of the log in it (appenddirname)
	Filename string // appendfilename
}

// Options configure a log. The functions are called by goroutines of the log and by callers of Write, one
// call at a time each. They must not call the log, nor wait for a goroutine that may call it.
type Options struct {
	Policy Policy
	// Durable is called when everything up to a position counts: it is synced (Always), or written (else).
	// Positions rise.
	Durable func(position int64)
	// Synced is called when everything up to a position is synced, under any policy. It may be nil.
	Synced func(position int64)
	// Failed is called with the error that latched. It is not called again before a rewrite has succeeded.
	Failed func(error)
	// Warn is called with harmless errors: a file that could not be deleted. It may be nil.
	Warn func(error)
	// NowMS is the time for annotations (SetTimestamps); called by Append.
	NowMS func() int64
	// SyncEvery is how often EverySec syncs; 0: a second.
	SyncEvery time.Duration
	// Gather is how long the writer leaves what has been appended under EverySec and No to those who
	// write for themselves; 0: a millisecond.
	Gather time.Duration
	// MaxPending is the number of bytes that may wait to be written while the file changes under EverySec and
	// No. At this limit a log that is not in effect yet gives up its first rewrite, so that a stuck disk does
	// not fill the memory. 0 means 256 MB.
	MaxPending int
}

const (
	defaultSyncEvery  = time.Second
	defaultGather     = time.Millisecond
	defaultMaxPending = 256 << 20
)

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
	if o.SyncEvery == 0 {
		o.SyncEvery = defaultSyncEvery
	}
	if o.Gather == 0 {
		o.Gather = defaultGather
	}
	if o.MaxPending == 0 {
		o.MaxPending = defaultMaxPending
	}
	if o.Durable == nil {
		o.Durable = func(int64) {}
	}
	if o.Synced == nil {
		o.Synced = func(int64) {}
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	return o
}

// Stats are figures for INFO.
type Stats struct {
	Bytes      int64 // of all files of the log, with what is not written yet (aof_current_size)
	StartBytes int64 // of all files after the last rewrite, or when the log was opened (aof_base_size)
	Pending    int64 // bytes that are not written yet (aof_buffer_length)
	Syncing    bool  // a sync runs in the background (aof_pending_bio_fsync)
	Delayed    int64 // background syncs that were not done when the next was due (aof_delayed_fsync)
}

// Input takes what Load reads. After an error from any of its methods Load gives up.
type Input interface {
	// Snapshot reads a base that begins with "REDIS" from r and returns how many bytes of r it took. r may
	// go on with commands, and Snapshot may have read ahead.
	Snapshot(r io.Reader) (bytes int64, err error)
	// Command executes one command; its arguments are views that the next call overwrites. SELECT comes this
	// way, too, MULTI and EXEC do not: the commands of a transaction come one after the other once it is
	// known to be whole. Begin is called before the commands of each file, which start in database 0.
	Command(args [][]byte) error
	// Begin is called when a file begins.
	Begin(file string) error
}

// LoadOptions say how strict Load is.
type LoadOptions struct {
	// CutTorn cuts a torn end off the last file (aof-load-truncated); off, it is an error that is ErrTorn.
	CutTorn bool
	// Annotation is given the text of each line that begins with '#', without that; may be nil.
	Annotation func(text []byte)
	// FileLoaded is called after each file that is not empty; it may be nil.
	FileLoaded func(Entry)
	// Progress is called about every 64 KB of input; may be nil. An error ends the load.
	Progress func(Progress) error
}

// Progress is how far a load is.
type Progress struct {
	File       string
	Bytes      int64 // read so far, of all files
	TotalBytes int64 // of all files
	Commands   int64 // executed so far
	InSnapshot bool
}

// Loaded says what Load found.
type Loaded struct {
	Exists   bool // false: there is no log, and nothing was loaded
	Upgraded bool // a single-file log of an older Redis was moved into the directory
	Files    int
	Bytes    int64
	Commands int64
	Units    int64 // a transaction is one
	// Cut says what was cut off the end; nil if nothing was.
	Cut *Cut
}

// Cut is a torn end that Load cut off.
type Cut struct {
	File   string
	Offset int64  // where the file now ends: behind its last whole unit
	Bytes  int64  // that were cut
	Reason string // what was torn
}
