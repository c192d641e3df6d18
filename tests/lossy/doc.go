// Package lossy is a disk in memory for crash tests. It implements disk.FS, records every operation, and can
// compute for the moment after each of them the data that a crash may leave on the disk.
//
// It allows everything that POSIX allows and file systems do. Unsynced bytes exist up to any byte, or as
// zeros, or not at all. Each name that was created, renamed or removed since the last sync of its directory
// is in its old or new state, in any combination. After a failed sync the bytes stay unsynced, even if later
// syncs succeed. Synced bytes never change, and a rename is never half done.
//
// It knows nothing of logs. To add an operation, add it to Op, to world.apply and to the operations that
// Faults may fail.
package lossy
