//go:build linux && !gnet

package server

import "testing"

func TestHalfClosedClientIsAnsweredByTheLoop(t *testing.T) {
	d := newTestDisk()
	srv := startOn(t, d, Options{Config: logged(t.TempDir(), "always"), EventLoops: true})
	halfClose(t, d, srv, overPort(srv))
}
