package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The outcomes for a lock, in the words of the page.
const (
	kept           = "keeps it"
	overwrites     = "overwrites"
	refused        = "is refused"
	noticeInTime   = "notified in time"
	noticeJustThen = "notified just then"
	noticeTooLate  = "notified too late"
	noticeAtOnce   = "notified at once"
	noticeLater    = "notified later"
)

// events returns the things that happen to the first of two programs, by the first column of the page's
// table.
func events() map[string]func(t *testing.T, library string) string {
	return map[string]func(*testing.T, string) string{
		"its process stops for longer than the lease":                      processStops,
		"its machine does":                                                 machineStops,
		"its connection breaks":                                            connectionBreaks,
		"it has no connection for longer than the lease":                   connectionGone,
		"the server is killed and starts again, with `appendfsync always`": serverRestarts,
		"the same, with the server's defaults":                             serverForgets,
	}
}

// TestComparison: the outcome of each event, for each library, is the one in the page.
func TestComparison(t *testing.T) {
	expected := outcomes(t)
	require.ElementsMatch(t, slices.Collect(maps.Keys(events())), slices.Collect(maps.Keys(expected)), "the rows")
	for event, run := range events() {
		require.ElementsMatch(t, slices.Collect(maps.Keys(libraries())), slices.Collect(maps.Keys(expected[event])), "the columns")
		for library := range libraries() {
			t.Run(library+"/"+event, func(t *testing.T) {
				t.Parallel()
				require.Equal(t, expected[event][library], run(t, library))
			})
		}
	}
}

// page returns docs/LOCK-GUARANTEES.md.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "LOCK-GUARANTEES.md"))
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// outcomes returns the table of docs/LOCK-GUARANTEES.md: the outcome by event and library.
func outcomes(t *testing.T) map[string]map[string]string {
	t.Helper()
	_, text, found := strings.Cut(page(t), "\n| what happens to the holder |")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n\n")
	rows := strings.Split("|"+text, "\n")
	names := cells(rows[0])
	table := make(map[string]map[string]string)
	for _, row := range rows[2:] {
		c := cells(row)
		require.Len(t, c, len(names)+1, row)
		table[c[0]] = make(map[string]string)
		for i, name := range names {
			table[c[0]][name] = c[i+1]
		}
	}
	return table
}

// cells returns the cells of a row.
func cells(row string) (list []string) {
	for _, cell := range strings.Split(strings.Trim(row, "|"), "|") {
		list = append(list, strings.TrimSpace(cell))
	}
	return list
}

// hold starts a server, and a program that holds the lock over a link.
func hold(t *testing.T, library string, durable bool) (*server, *link, *process) {
	t.Helper()
	s := start(t, library, durable)
	l := s.link()
	first := program(t, library, l.address, "first")
	first.hears(saysHeld)
	return s, l, first
}

// isKept fails unless the first process has the lock two leases later.
func isKept(t *testing.T, s *server, first, second *process) string {
	t.Helper()
	_, had := second.within(2*lease, saysHeld)
	require.False(t, had, "another has it")
	return stillHolds(t, s, first)
}

// stillHolds checks that the first process writes, and reports no loss.
func stillHolds(t *testing.T, s *server, first *process) string {
	t.Helper()
	require.Equal(t, saysWrote, first.writes())
	_, lost := first.said(0, saysLost)
	require.False(t, lost, "it counts the lock as lost")
	require.Equal(t, "first", s.report())
	return kept
}

// overtaken lets another process take the lock and write; goOn then lets the first continue with its write.
func overtaken(t *testing.T, s *server, first, second *process, goOn func()) string {
	t.Helper()
	require.Equal(t, saysWrote, second.writes())
	goOn()
	said := first.writes()
	first.hears(saysLost)
	if said == saysWrote {
		require.Equal(t, "first", s.report())
		return overwrites
	}
	require.Equal(t, "second", s.report())
	return refused
}

// processStops stops the process. The kernel continues, and keeps its connections open.
func processStops(t *testing.T, library string) string {
	s, _, first := hold(t, library, false)
	first.pause()
	second := program(t, library, s.address, "second")
	if _, had := second.within(2*lease, saysHeld); !had {
		first.resume()
		return stillHolds(t, s, first)
	}
	return overtaken(t, s, first, second, first.resume)
}

// machineStops is like a virtual machine that is moved, or a laptop that is closed. No kernel is left to end
// the connections, so the server ends them in time.
func machineStops(t *testing.T, library string) string {
	s, l, first := hold(t, library, false)
	first.pause()
	l.cut()
	second := program(t, library, s.address, "second")
	second.hears(saysHeld)
	return overtaken(t, s, first, second, func() { l.mend(); first.resume() })
}

// connectionBreaks breaks the connection; a new one can be made at once.
func connectionBreaks(t *testing.T, library string) string {
	s, l, first := hold(t, library, false)
	l.cut()
	l.mend()
	return isKept(t, s, first, program(t, library, s.address, "second"))
}

// connectionGone breaks the connection, and no new one can be made.
func connectionGone(t *testing.T, library string) string {
	s, l, first := hold(t, library, false)
	second := program(t, library, s.address, "second")
	l.cut()
	free := second.hears(saysHeld).at
	switch early := free.Sub(first.hears(saysLost).at); {
	case early > lease/6:
		return noticeInTime
	case early < -lease/6:
		return noticeTooLate
	}
	return noticeJustThen
}

// serverRestarts restarts a server with a log of all that it has acknowledged.
func serverRestarts(t *testing.T, library string) string {
	s, _, first := hold(t, library, true)
	s.restart()
	return isKept(t, s, first, program(t, library, s.address, "second"))
}

// serverForgets restarts a server with its default log, if it has any. The first process has just begun its
// lease, and renews it after a third of it at the earliest.
func serverForgets(t *testing.T, library string) string {
	s, _, first := hold(t, library, false)
	s.restart()
	second := program(t, library, s.address, "second")
	if _, had := second.within(2*lease, saysHeld); !had {
		return stillHolds(t, s, first)
	}
	if first.hears(saysLost).at.Before(first.hears(saysHeld).at.Add(lease/3 - lease/60)) {
		return noticeAtOnce
	}
	return noticeLater
}

// TestPageQuotesTheProgram: the code that the page shows of each library is in its file, in the same order.
func TestPageQuotesTheProgram(t *testing.T) {
	_, block, found := strings.Cut(page(t), "\n```go comparison\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```\n")
	code, shown := "", 0
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		if name, first := strings.CutPrefix(line, "// "); first {
			text, err := os.ReadFile(name + ".go")
			require.NoError(t, err)
			code, shown = string(text), shown+1
			continue
		}
		var found bool
		_, code, found = strings.Cut(code, "\t"+line+"\n")
		require.True(t, found, line)
	}
	require.Equal(t, len(libraries()), shown)
}
