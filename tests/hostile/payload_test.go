package hostile

import (
	"fmt"
	"math/rand/v2"
	"net"

	"lockserver/internal/resp"
	"lockserver/internal/testkit"
	"lockserver/server"
)

// payloads are what RESTORE, BF.LOADCHUNK and FUNCTION RESTORE take: of each kind of value,
// made by a server of this process.
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
	g := newGenerator()
	g.rand = rand.New(rand.NewPCG(1, 1))
	for _, command := range furniture(g) {
		c.Do(command...)
	}
	for _, key := range c.Do("KEYS", "*").Elems {
		if key.Str == "lbig" || key.Str == "tbig" || key.Str == "hbig" || key.Str == "zbig" {
			continue // the pool is drawn from often
		}
		if v := c.Do("DUMP", key.Str); v.Kind == resp.Bulk {
			all = append(all, v.Str)
		}
	}
	all = append(all, c.Do("FUNCTION", "DUMP").Str, c.Do("BF.SCANDUMP", "f1", "1").Elems[1].Str)
	return all, nil
}
