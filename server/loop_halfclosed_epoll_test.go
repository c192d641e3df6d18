//go:build linux && !gnet

package server

import "testing"

func TestHalfClosedClientIsAnsweredByTheLoop(t *testing.T) {
	t.Parallel()
	d := newTestDisk()
	srv := startOn(t, d, Options{Directives: logged(t.TempDir(), "always").Directives(), EventLoops: true})
	halfClose(t, d, srv, overPort(srv))
}
