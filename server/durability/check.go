package durability

import (
	"fmt"
	"io"
	"path/filepath"

	"lockserver/persistence/aof"
	"lockserver/persistence/disk"
)

// Check verifies a snapshot, an append-only log, or a directory of them, and writes a report to w. The error
// is the error that would prevent a server from starting, with file and offset. Nothing is changed.
func Check(path string, w io.Writer) error {
	report, err := aof.Check(disk.OS{}, path)
	if textErr := report.WriteText(w); err == nil {
		err = textErr
	}
	if err != nil || isDir(path) != nil {
		return err
	}
	file := filepath.Join(path, tokenFile)
	limit, err := readTokenLimit(file)
	if limit > 0 {
		_, err = fmt.Fprintf(w, "%s: fencing tokens up to %d\n", file, limit)
	}
	return err
}
