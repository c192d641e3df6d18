package inspect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/checkhistory"
	"lockserver/internal/lockhistory"
	"lockserver/internal/resp"
	"lockserver/internal/tracecontext"
)

// readLines reads a history, and returns its lines and the checker's report.
func readLines(text []byte) (lines []checkhistory.Line, r *checkhistory.Report, err error) {
	var c checkhistory.Checker
	err = checkhistory.Read(bytes.NewReader(text), func(l *checkhistory.Line) {
		lines = append(lines, *l)
		c.Add(l)
	})
	return lines, c.Report(), err
}

// written returns the history of these lines, as `lockserver history --json` writes it.
func written(t *testing.T, lines []checkhistory.Line) []byte {
	t.Helper()
	var b bytes.Buffer
	for i := range lines {
		require.NoError(t, json.NewEncoder(&b).Encode(&lines[i]))
	}
	return b.Bytes()
}

// FuzzHistoryLines: no input panics, an error names its line, and a history that was read and written reads
// back equal, with the same report.
func FuzzHistoryLines(f *testing.F) {
	for _, text := range []string{ // short texts, because the fuzzer tries to shorten its findings
		`{"event":"began"}` + "\n" + `{"event":"granted","key":"k","token":1,"mode":"shared"}` + "\n" + `{"event":"write","key":"k","token":1}`,
		`{"event":"queued","key":"k","owner":"b"}` + "\n" + `{"event":"refused","key":"k","owner":"b","waited_ms":2.5}`,
		`{"event":"granted","key":"k","token":2}` + "\n\n" + `{"event":"released","key":"k","token":2,"held_ms":1e300}`,
		`{"event":"lost"}` + "\nno line", `{"event":"write","key":"k","token":0}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		lines, report, err := readLines(text)
		if err != nil {
			require.Regexp(t, `^line [1-9][0-9]*: .`, err.Error())
			require.LessOrEqual(t, len(lines), bytes.Count(text, []byte("\n")))
		}
		report.Print(io.Discard)
		require.LessOrEqual(t, report.Grants+report.Writes, len(lines))
		require.LessOrEqual(t, report.Unknown, report.Writes)
		again, same, err := readLines(written(t, lines))
		require.NoError(t, err)
		require.Equal(t, lines, again)
		require.Equal(t, report, same)
		checkSpans(t, lines)
	})
}

// checkSpans: each token has at most one hold, and the number of spans does not exceed the events that begin
// or end a span.
func checkSpans(t *testing.T, lines []checkhistory.Line) {
	t.Helper()
	s := checkhistory.SpansOf(lines)
	require.LessOrEqual(t, len(s.Holds)+len(s.Waits), 2*len(lines))
	open := make(map[int64]bool)
	for _, h := range s.Holds {
		if h.Token != 0 {
			require.False(t, open[h.Token], "two holds with the token %d", h.Token)
			open[h.Token] = true
		}
	}
}

// FuzzHistoryReply: no reply panics, and each event with a name is a line of a history.
func FuzzHistoryReply(f *testing.F) {
	event := func(fields string, n int) string { return fmt.Sprintf("%%%d\r\n%s", n, fields) }
	granted := event("$2\r\nid\r\n:7\r\n$4\r\ntime\r\n:1795226239770\r\n$5\r\nevent\r\n$7\r\ngranted\r\n$3\r\nkey\r\n$4\r\ndoor\r\n"+
		"$5\r\nowner\r\n$5\r\nalice\r\n$5\r\ntoken\r\n:1795226239770983\r\n$4\r\nmode\r\n$9\r\nexclusive\r\n$6\r\nclient\r\n"+
		"%2\r\n$2\r\nid\r\n:3\r\n$7\r\naddress\r\n$14\r\n127.0.0.1:4711\r\n$4\r\nheld\r\n_\r\n$6\r\nwaited\r\n,1.5\r\n", 10)
	reply := "%4\r\n$11\r\nknown-since\r\n:1795226239000\r\n$6\r\nreason\r\n$5\r\nstart\r\n$7\r\nlast-id\r\n:7\r\n$6\r\nevents\r\n*1\r\n" + granted
	f.Add([]byte(reply))
	f.Add([]byte(strings.Replace(reply, "%2\r\n", "*4\r\n", 1))) // version 2 of the protocol has arrays in place of maps
	f.Add([]byte("*3\r\n$6\r\nevents\r\n*2\r\n*1\r\n:1\r\n%1\r\n$5\r\nevent\r\n_\r\n$2\r\nid\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := resp.ReadValue(bufio.NewReader(bytes.NewReader(text)))
		if err != nil {
			return
		}
		h := checkhistory.FromReply(v)
		lines := []checkhistory.Line{h.Began()}
		for i := range h.Lines {
			l := &h.Lines[i]
			if l.Event != "" && (l.Event != checkhistory.Write || l.Key != "" && l.Token > 0) && finite(l.HeldMS) && finite(l.WaitedMS) {
				lines = append(lines, *l)
			}
		}
		again, _, err := readLines(written(t, lines))
		require.NoError(t, err)
		require.Len(t, again, len(lines))
		for i := range lines {
			require.Equal(t, lines[i].Token, again[i].Token)
			require.Equal(t, lines[i].HeldMS, again[i].HeldMS)
		}
	})
}

// finite reports whether a number can be written as JSON.
func finite(ms *float64) bool { return ms == nil || *ms-*ms == 0 }

// TestReplyHasTheLine: a line made from the server's reply has all its fields.
func TestReplyHasTheLine(t *testing.T) {
	text := func(s string) resp.Value { return resp.Value{Kind: resp.Bulk, Str: s} }
	number := func(n int64) resp.Value { return resp.Value{Kind: resp.Integer, Int: n} }
	of := func(elems ...resp.Value) resp.Value { return resp.Value{Kind: resp.Map, Elems: elems} }
	event := of(text("id"), number(7), text("time"), number(1000), text("event"), text("released"), text("reason"), text("partly"), text("key"), text("door"),
		text("owner"), text("alice"), text("token"), number(99), text("mode"), text("shared"), text("permits"), number(2),
		text("client"), of(text("id"), number(3), text("address"), text("a:1")), text("held"), resp.Value{Kind: resp.Double, Float: 1.5},
		text("waited"), resp.Value{Kind: resp.Null}, text("trace"), text("t"))
	h := checkhistory.FromReply(of(text("known-since"), number(500), text("reason"), text("start"), text("last-id"), number(8), text("events"),
		resp.Value{Kind: resp.Array, Elems: []resp.Value{event}}))
	held := 1.5
	require.Equal(t, checkhistory.History{SinceMS: 500, Reason: "start", LastID: 8, Lines: []checkhistory.Line{{ID: 7, TimeMS: 1000, Event: lockhistory.Released.String(),
		Reason: lockhistory.Partly.String(), Key: "door", Owner: "alice", Token: 99, Mode: "shared", Permits: 2, ClientID: 3, ClientAddress: "a:1", Trace: "t", HeldMS: &held}}}, h)
}

// traceparent is the grammar of the W3C recommendation, with its rules for later versions.
var traceparent = regexp.MustCompile(`^(?s)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$`)

// FuzzTraceparent: a header is accepted if the grammar matches, and is written back as version 00.
func FuzzTraceparent(f *testing.F) {
	const valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, text := range []string{valid, "cc" + valid[2:] + "-more", "ff" + valid[2:], valid + "-", strings.ToUpper(valid), valid[:54], ""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m := traceparent.FindSubmatch(text)
		ok := m != nil && string(m[1]) != "ff" && strings.Trim(string(m[2]), "0") != "" && strings.Trim(string(m[3]), "0") != "" &&
			(string(m[1]) != "00" || m[5] == nil)
		c, is := tracecontext.Parse(text)
		require.Equal(t, ok, is)
		if !is {
			require.Zero(t, c)
			return
		}
		require.Equal(t, "00"+string(text[2:55]), c.String())
		again, is := tracecontext.Parse([]byte(c.String()))
		require.True(t, is)
		require.Equal(t, c, again)
	})
}
