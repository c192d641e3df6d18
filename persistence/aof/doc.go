// Package aof is the append-only log: every change since a base, in Redis 7's multi-part format. Redis can
// start on a directory that this package wrote, and vice versa.
//
// # On disk (format, do not change)
//
// A directory (appenddirname) that holds, for an appendfilename of NAME:
//
//	NAME.manifest        the files of the log, each on a line: file NAME.3.base.rdb seq 3 type b
//	NAME.3.base.rdb      the data at one moment: a snapshot (type b; NAME.3.base.aof if it consists of commands)
//	NAME.7.incr.aof      later changes: commands in the protocol's form (type i; one or more files, in the order of their seq)
//	temp-NAME.*          unfinished files; they are ignored and removed at start
//	NAME.lock            locked while a server uses the directory
//
// Files of type h in the manifest are history: a newer base has replaced them, and they are about to be
// deleted. An incremental file begins in database 0 and says SELECT. A unit of more than one effect is
// written between MULTI and EXEC, and counts as a whole or not at all. Lines that begin with # are
// annotations (#TS:seconds, and those of token.go) and are skipped.
//
// # What holds at any instant
//
// The manifest on disk names only whole files: each listed file and its name were synced before the manifest
// was renamed into place. All incremental files but the last are synced to their end before the next file is
// listed. So only the end of the last file can be torn, and Load cuts only there.
//
// # The calls, in the order of a server's life
//
//	dir, err := aof.OpenDir(place)              // takes the lock
//	loaded, err := dir.Load(input, loadOptions) // fills the store; loaded.Exists is false if there is no log yet
//	log, err := dir.Continue(options, base)     // or dir.Replace(options): turned on at run time, the data is in memory
//	...
//	wait := log.Append(effects)                 // by the executor, at the end of a unit; never waits for the disk
//	now := log.Position()                       // what a reply that is given now (a read's) depends on
//	log.Waits()                                 // true: the reply is held, and Options.Durable(position) releases it
//	log.Write(now)                              // else: call this before the reply is sent
//	log.Flush()                                 // when nothing is about to be appended: at the end of a batch
//	...
//	rewrite, err := log.BeginRewrite(true)      // by the executor, in the moment of the store's cut
//	err = rewrite.Run(base)                     // in the background: base writes the snapshot of that cut
//	...
//	err = log.Close()
//
// # Failures
//
// The first failed write or sync latches: Options.Failed is called once, and Err returns the error. Append
// then drops its units (the file is cut to end with a whole unit, if the disk permits that), and Position no
// longer makes a client wait. Nothing is retried automatically. Memory is then ahead of the log, so the only
// recovery is a base of all data: BeginRewrite and Run. When Run returns nil the log is in effect again and
// Err is nil. Until then the manifest lists neither the new base nor the units appended since. A crash
// meanwhile gives the state before the failure. A log from Replace is in the same state without an error: it
// is in effect after its first rewrite (see Active).
//
// # What it must not know
//
// Clients, commands and the store's internals: it takes effects and gives commands. All file access goes
// through disk.FS, so that tests/crash can simulate a crash at every operation.
//
// To add something to the directory, add its line to manifest.go, its reading to load.go, its replacement to
// rewrite.go, and its check to check.go. Then add its crash points in tests/crash.
package aof
