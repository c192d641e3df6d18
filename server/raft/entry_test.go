package raft

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEntryFormat: the format of entries in logs does not change.
func TestEntryFormat(t *testing.T) {
	e := entry{after: place{"old", 258}, id: "new", clockMS: 3, token: 4, bytes: []byte("*1\r\n$4\r\nPING\r\n")}
	b := e.appendTo(nil)
	require.Equal(t, "\x01\x03old\x03new\x02\x01\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00*1\r\n$4\r\nPING\r\n", string(b))
	got, err := parseEntry(b)
	require.NoError(t, err)
	require.Equal(t, e, got)
	require.Equal(t, place{"new", 272}, got.end())
	for i := range len(b) - len(e.bytes) {
		_, err := parseEntry(b[:i])
		require.Error(t, err)
	}
	e.rules = true
	require.Equal(t, append([]byte{2}, b[1:]...), e.appendTo(nil), "a version that knows no rules stops there")
	got, err = parseEntry(e.appendTo(nil))
	require.NoError(t, err)
	require.Equal(t, e, got)
	for _, unknown := range []byte{0, 3} {
		b[0] = unknown
		_, err = parseEntry(b)
		require.ErrorContains(t, err, "version")
	}
}

// TestMarkFormat: the format of marks in logs does not change. A version that knows no marks takes one for an
// entry that does not go on from where the log has come to, and changes nothing.
func TestMarkFormat(t *testing.T) {
	b := markOf(place{"new", 258}, 3, 4).appendTo(nil)
	require.Equal(t, "\x01\x04mark\x03new\x02\x01\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00", string(b))
	e, err := parseEntry(b)
	require.NoError(t, err)
	at, ok := e.marks()
	require.True(t, ok)
	require.Equal(t, place{"new", 258}, at)
	require.NotEqual(t, at, e.after)
	_, ok = new(entry).marks()
	require.False(t, ok)
}

// TestUsersFormat: the format of entries with users, and of the text in snapshots and on the disk, does not
// change. A version that knows no such entries takes one for void.
func TestUsersFormat(t *testing.T) {
	lines := []string{"alice on #00 ~* +@all", "default off"}
	b := usersEntry(258, lines, 3, 4).appendTo(nil)
	require.Equal(t, "\x01\x05users\x00\x02\x01\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00alice on #00 ~* +@all\ndefault off\n", string(b))
	e, err := parseEntry(b)
	require.NoError(t, err)
	require.True(t, e.isUsers())
	require.Equal(t, lines, linesOf(string(e.bytes)))
	u := groupUsers{259, lines}
	text := u.usersText()
	require.Equal(t, "259\nalice on #00 ~* +@all\ndefault off\n", text)
	got, err := parseUsers(text)
	require.NoError(t, err)
	require.Equal(t, u, got)
	require.Empty(t, new(groupUsers).usersText())
	for _, bad := range []string{"x\n", "0\n", "-1\nalice on\n", text[:len(text)-1]} {
		_, err := parseUsers(bad)
		require.Error(t, err, "%q", bad)
	}
}

// TestSnapshotHead: the format of snapshots does not change, and damage is found.
func TestSnapshotHead(t *testing.T) {
	var head string
	for magic, h := range map[string]Head{"lockserver raft snapshot 1\n": {1000, 2000, false, false}, "lockserver raft snapshot 2\n": {1000, 2000, true, false},
		"lockserver raft snapshot 4\n": {1000, 2000, true, true}} {
		var w bytes.Buffer
		require.NoError(t, writeHead(&w, h))
		head = w.String()
		require.True(t, strings.HasPrefix(head, magic+"\xe8\x03\x00\x00\x00\x00\x00\x00\xd0\x07"))
		got, err := readHead(bufio.NewReader(strings.NewReader(head + "REDIS")))
		require.NoError(t, err)
		require.Equal(t, h, got)
	}
	for i := range head {
		_, err := readHead(bufio.NewReader(strings.NewReader(head[:i])))
		require.Error(t, err)
		broken := []byte(head)
		broken[i] ^= 1
		_, err = readHead(bufio.NewReader(bytes.NewReader(broken)))
		require.Error(t, err)
	}
}

// FuzzEntry: whatever a log has, it is an entry that is written the same way, or an error.
func FuzzEntry(f *testing.F) {
	e := entry{after: place{"old", 258}, id: "new", clockMS: 3, token: 4, bytes: []byte("bytes")}
	f.Add(e.appendTo(nil))
	f.Add([]byte{entryVersion, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := parseEntry(b)
		if err == nil {
			require.Equal(t, b, e.appendTo(nil))
		}
		info, same := ReadEntry(b)
		require.Equal(t, err, same)
		require.Equal(t, e.token, info.Token)
	})
}

// FuzzHead: no bytes before a snapshot panic, and what was read is written the same way.
func FuzzHead(f *testing.F) {
	var head bytes.Buffer
	require.NoError(f, WriteHead(&head, Head{ClockMS: 3, Token: 4}))
	f.Add(head.Bytes())
	f.Add(append(bytes.Clone(head.Bytes()), "REDIS0011"...))
	f.Add(head.Bytes()[:head.Len()-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ReadHead(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			return
		}
		var again bytes.Buffer
		require.NoError(t, WriteHead(&again, h))
		require.True(t, bytes.HasPrefix(b, again.Bytes()), "%q", again.Bytes())
	})
}

// TestParsePeers: members have addresses that others can reach, and no two members share an id or an
// address.
func TestParsePeers(t *testing.T) {
	all, err := ParsePeers(" a=h:1/h:2  b=[::1]:1/h:3 ")
	require.NoError(t, err)
	require.Equal(t, []Peer{{ID: "a", Raft: "h:1", Client: "h:2"}, {ID: "b", Raft: "[::1]:1", Client: "h:3"}}, all)
	for _, bad := range []string{"", "a", "a=h:1", "=h:1/h:2", "a=h:1/h", "a=h:0/h:2", "a=h:x/h:2", "a=h:65536/h:2", "a=:1/h:2", "a=h:1/h:2/h:3",
		"a=h:1/h:2 a=h:3/h:4", "a=h:1/h:2 b=h:1/h:4", "a=h:1/h:2 b=h:3/h:2", strings.Repeat("a", 65) + "=h:1/h:2"} {
		_, err := ParsePeers(bad)
		require.Error(t, err, bad)
	}
}
