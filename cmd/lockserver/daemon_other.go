//go:build !unix

package main

import (
	"errors"
	"syscall"
)

var errNotHere = errors.New("not on this system")

// ownSession cannot be had where there are no sessions.
func ownSession() (*syscall.SysProcAttr, error) { return nil, errNotHere }

// stopMyself is not there either.
func stopMyself() error { return errNotHere }
