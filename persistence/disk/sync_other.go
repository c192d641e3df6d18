//go:build !linux

package disk

import "os"

// syncData syncs all of a file; on macOS os.File makes the drive empty its cache, too.
func syncData(f *os.File) error { return f.Sync() }
