package main

import (
	"bytes"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// memberThatSays is a member of a group that answers RAFT INFO and RAFT MEMBERS in this way. It returns the
// address of the member.
func memberThatSays(t *testing.T, role string, knows bool) string {
	t.Helper()
	addr := net.JoinHostPort("127.0.0.1", testkit.FreePort(t))
	ln, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	info := "raft_group:locks\r\nraft_id:1\r\nraft_role:" + role + "\r\n"
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				var d resp.Decoder
				for {
					b := make([]byte, 4096)
					n, err := conn.Read(b)
					if err != nil {
						return
					}
					d.Feed(b[:n])
					words, whole, err := d.Next(nil)
					if err != nil {
						return
					}
					if d.Keep(); !whole {
						continue
					}
					out := resp.Writer{Proto: 3}
					switch {
					case len(words) > 1 && string(words[1]) == "MEMBERS" && knows:
						out.Array(1)
						out.Map(4)
						for _, word := range []string{"id", "1", "client-address", addr, "role", role, "raft-address", "127.0.0.1:7"} {
							out.Bulk([]byte(word))
						}
					case len(words) > 1 && string(words[1]) == "MEMBERS":
						out.Array(0)
					case string(words[0]) == "HELLO":
						out.Map(0)
					default:
						out.Bulk([]byte(info))
					}
					if _, err := conn.Write(out.Buf); err != nil {
						return
					}
				}
			}()
		}
	}()
	return addr
}

// TestStatusOfAGroupWithoutALeader fails, and so does that of a member that knows no other yet.
func TestStatusOfAGroupWithoutALeader(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "")
	run := func(args ...string) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		code = runStatus(args, &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	leads, follows, empty := memberThatSays(t, "leader", true), memberThatSays(t, "follower", true), memberThatSays(t, "follower", false)
	code, out, errs := run("--addr", leads)
	require.Zero(t, code, errs)
	require.Contains(t, out, " leader ")
	for _, more := range [][]string{nil, {"--json"}} {
		code, out, errs = run(append(more, "--addr", follows)...)
		require.Equal(t, 1, code)
		require.Contains(t, out, "follower", "what is known is shown")
		require.Contains(t, errs, "no member of the group locks leads")
		code, out, errs = run(append(more, "--addr", empty)...)
		require.Equal(t, 1, code)
		require.Empty(t, out)
		require.Contains(t, errs, "knows no member of its group yet")
	}
	code, out, errs = run("--addr", empty+","+leads)
	require.Zero(t, code, errs)
	require.Contains(t, out, " leader ", "another one is asked")
}
