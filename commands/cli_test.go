//go:build oracle

package commands

import (
	"bufio"
	"net"

	"lockserver/internal/resp"
)

// serveConn answers one client after the other, with the few commands that redis-cli needs.
func serveConn(table *Table, conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		request, err := resp.ReadValue(in)
		if err != nil {
			return
		}
		var argv [][]byte
		for _, e := range request.Elems {
			argv = append(argv, []byte(e.Str))
		}
		out := &resp.Writer{}
		if err := serve(table, out, argv); err != nil {
			out.Error(err.Error())
		}
		if _, err := conn.Write(out.Buf); err != nil {
			return
		}
	}
}
