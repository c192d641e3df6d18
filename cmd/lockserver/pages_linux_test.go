package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCleanSpans(t *testing.T) {
	const smaps = `00400000-00e48000 r-xp 00000000 fe:00 1026                           /usr/bin/my server
Size:              10528 kB
Rss:                8480 kB
Anonymous:             0 kB
00e48000-01992000 r--p 00a48000 fe:00 1026                           /usr/bin/my server
Anonymous:             4 kB
01992000-01a41000 rw-p 01592000 fe:00 1026                           /usr/bin/my server
Anonymous:             0 kB
01a41000-03a89000 r--p 00000000 00:00 0
Anonymous:             0 kB
7f97c80bb000-7f97c8211000 r-xp 00026000 fe:00 3262                     /usr/lib/libc.so.6
Anonymous:             0 kB
7f97c9000000-7f97c9001000 r--p 00000000 fe:00 1026                     /usr/bin/my server
Anonymous:             0 kB
VmFlags: rd mr mw me sd
`
	require.Equal(t, []span{{0x400000, 0xe48000}, {0x7f97c9000000, 0x7f97c9001000}}, cleanSpans(strings.NewReader(smaps), "/usr/bin/my server"))
	require.Empty(t, cleanSpans(strings.NewReader("x\n1-2 r\nzz-1 r--p 0 0 0 p\nAnonymous: 0 kB\n"), "p"))
}

// The pages of the program's own file are no longer resident, and the process runs on.
func TestPagesOfTheProgramGoBack(t *testing.T) {
	spans := programSpans()
	require.NotEmpty(t, spans)
	before := filePages(t)
	leaveProgram(spans)
	after := filePages(t)
	t.Logf("%d KiB of files before, %d after", before, after)
	require.Less(t, after, before)
}

// filePages is the resident memory of files, in KiB.
func filePages(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(status), "RssFile:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	return n
}
