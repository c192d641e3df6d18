package aof

import (
	"io"
	"time"

	"lockserver/persistence/disk"
)

// Location names the location of a log.
type Location struct {
	FS       disk.FS
	Dir      string // the server's directory (dir), which exists
	Sub      string // the directory of the log inside Dir (appenddirname)
	Filename string // appendfilename
}

// Options configures a log. Its functions are called by goroutines of the log and by callers of Write, each
// function one call at a time. They must not call the log, or wait for a goroutine that may call the log.
type Options struct {
	Policy Policy
	// Durable is called when all units up to a position count: they are synced (Always), or written (other
	// policies). Positions rise.
	Durable func(position int64)
	// Synced is called when all units up to a position are synced, under any policy. It may be nil.
	Synced func(position int64)
	// Failed is called with the latched error. It is not called again before a rewrite has succeeded.
	Failed func(error)
	// Warn is called with harmless errors, such as a file that could not be deleted. It may be nil.
	Warn func(error)
	// NowMS returns the time for annotations (SetTimestamps); Append calls it.
	NowMS func() int64
	// SyncEvery is the time between two syncs under EverySec; 0 means a second.
	SyncEvery time.Duration
	// Gather is how long the writer leaves appended bytes to the callers of Write, under EverySec and No; 0
	// means a millisecond.
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

// withDefaults fills in the zero fields.
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

// Stats holds figures for INFO.
type Stats struct {
	Bytes      int64 // of all files of the log, including bytes that are not written yet (aof_current_size)
	StartBytes int64 // of all files after the last rewrite, or when the log was opened (aof_base_size)
	Pending    int64 // bytes that are not written yet (aof_buffer_length)
	Syncing    bool  // a sync runs in the background (aof_pending_bio_fsync)
	Delayed    int64 // background syncs that were still running when the next was due (aof_delayed_fsync)
}

// Input receives the data that Load reads. After an error from any of its methods Load stops.
type Input interface {
	// Snapshot reads a base that begins with "REDIS" from r and returns the size of the snapshot in bytes.
	// Commands may follow in r, and Snapshot may have read ahead.
	Snapshot(r io.Reader) (bytes int64, err error)
	// Command executes one command; its arguments are views that the next call overwrites. SELECT is passed
	// to it, too. MULTI and EXEC are not: the commands of a transaction are passed one after the other once
	// the transaction is complete. Begin is called before the commands of each file, which start in database
	// 0.
	Command(args [][]byte) error
	// Begin is called when a file begins.
	Begin(file string) error
}

// LoadOptions says how strict Load is.
type LoadOptions struct {
	// CutTorn cuts a torn end off the last file (aof-load-truncated). Without it, a torn end is an error that
	// wraps ErrTorn.
	CutTorn bool
	// Annotation is called with the text of each line that begins with '#', without the '#'; it may be nil.
	Annotation func(text []byte)
	// FileLoaded is called after each file that is not empty; it may be nil.
	FileLoaded func(Entry)
	// Progress is called about every 64 KB of input; it may be nil. An error ends the load.
	Progress func(Progress) error
}

// Progress is the progress of a load.
type Progress struct {
	File       string
	Bytes      int64 // read so far, of all files
	TotalBytes int64 // of all files
	Commands   int64 // executed so far
	InSnapshot bool
}

// Loaded is the result of Load.
type Loaded struct {
	Exists   bool // false: there is no log, and nothing was loaded
	Upgraded bool // a single-file log of an older Redis was moved into the directory
	Files    int
	Bytes    int64
	Commands int64
	Units    int64 // a transaction is one unit
	// Cut is the end that was cut off, or nil.
	Cut *Cut
}

// Cut is a torn end that Load cut off.
type Cut struct {
	File   string
	Offset int64  // the new end of the file: after its last whole unit
	Bytes  int64  // number of bytes cut off
	Reason string // which part was torn
}
