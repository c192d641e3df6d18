//go:build !unix

package main

import (
	"errors"
	"syscall"
)

var errNotHere = errors.New("not on this system")

// ownSession fails on systems without sessions.
func ownSession() (*syscall.SysProcAttr, error) { return nil, errNotHere }

// stopMyself fails on such systems, too.
func stopMyself() error { return errNotHere }
