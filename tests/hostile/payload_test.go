package hostile

import (
	"fmt"
	"net"

	"lockserver/server"
	"lockserver/tests/grammar"
	"lockserver/tests/testkit"
)

// payloads returns arguments for RESTORE, BF.LOADCHUNK and FUNCTION RESTORE: one for each kind of value, made
// by a server in this process.
func payloads() (all []string, err error) {
	srv, err := server.New(server.Options{Seed: 1})
	if err == nil {
		err = srv.Start()
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = srv.Close() }()
	t := &tb{}
	defer func() {
		for _, f := range t.cleanups {
			f()
		}
		if p := recover(); p != nil {
			err = fmt.Errorf("make payloads: %v", p)
		}
	}()
	c := testkit.Dial(t, func() (net.Conn, error) { return srv.Dial() })
	for _, command := range grammar.Furniture() {
		c.Do(command...)
	}
	return grammar.Payloads(c.Do), nil
}
