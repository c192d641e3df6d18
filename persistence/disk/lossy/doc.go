// Package lossy is a disk in memory for tests of what a crash leaves: it implements disk.FS, remembers every
// operation, and can say for the moment after each of them what may be left on the disk.
//
// What it takes for possible is what POSIX allows and file systems do: bytes that were not synced are
// there up to any byte, or as zeros, or not at all; names that were made, renamed or removed since the
// last sync of their directory are each as they were or as they became, in any combination; a sync that
// failed leaves the bytes unsynced for good, whatever later syncs say. What it does not take for
// possible: that synced bytes change, or half a rename.
//
// It knows nothing of logs. To add an operation, add it to Op, to world.apply and to the
// list of what Faults may fail.
package lossy
