package raftlog

import (
	"errors"
	"fmt"
	"syscall"
)

// Damage is what is wrong with the files of a member: they are not what was written.
type Damage struct {
	File string
	At   int64 // the offset in the file; below 0: it is about the whole file
	Why  string
}

// Error implements error.
func (d *Damage) Error() string {
	if d.At < 0 {
		return fmt.Sprintf("%s: damaged: %s", d.File, d.Why)
	}
	return fmt.Sprintf("%s: damaged at the offset %d: %s", d.File, d.At, d.Why)
}

// unreadable makes an error of reading a Damage if the disk has lost the bytes.
func unreadable(path string, at int64, err error) error {
	if errors.Is(err, syscall.EIO) {
		return &Damage{File: path, At: at, Why: err.Error()}
	}
	return fmt.Errorf("%s: offset %d: %w", path, at, err)
}
