package inspect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/checkhistory"
)

func checkText(t *testing.T, skewMS int64, text string) *checkhistory.Report {
	t.Helper()
	c := checkhistory.Checker{SkewMS: skewMS}
	require.NoError(t, checkhistory.Read(strings.NewReader(text), c.Add))
	return c.Report()
}

const sound = `{"event":"began","time_ms":1,"reason":"start"}
{"id":1,"event":"granted","time_ms":10,"key":"k","owner":"a","token":100,"mode":"exclusive","waited_ms":0}
{"id":2,"event":"queued","time_ms":11,"key":"k","owner":"b","mode":"exclusive"}
{"id":3,"event":"granted","reason":"again","time_ms":12,"key":"k","owner":"a","token":100,"mode":"exclusive"}
{"id":4,"event":"released","reason":"partly","time_ms":13,"key":"k","owner":"a","token":100,"mode":"exclusive"}
{"id":5,"event":"released","time_ms":20,"key":"k","owner":"a","token":100,"mode":"exclusive","held_ms":10.5}
{"id":6,"event":"granted","time_ms":20,"key":"k","owner":"b","token":101,"mode":"exclusive","waited_ms":9}
{"event":"write","time_ms":15,"key":"k","token":100}
{"event":"write","time_ms":25,"key":"k","token":101}
{"id":7,"event":"expired","time_ms":30,"key":"k","owner":"b","token":101,"mode":"exclusive","held_ms":10}
{"id":8,"event":"granted","time_ms":31,"key":"k","owner":"r1","token":102,"mode":"shared"}
{"id":9,"event":"granted","time_ms":32,"key":"k","owner":"r2","token":103,"mode":"shared"}
{"id":10,"event":"released","time_ms":33,"key":"k","owner":"r1","token":102,"mode":"shared"}
{"id":11,"event":"released","reason":"upgraded","time_ms":34,"key":"k","owner":"r2","token":103,"mode":"shared"}
{"id":12,"event":"granted","reason":"upgraded","time_ms":34,"key":"k","owner":"r2","token":104,"mode":"exclusive"}
{"id":13,"event":"released","reason":"downgraded","time_ms":35,"key":"k","owner":"r2","token":104,"mode":"exclusive"}
{"id":14,"event":"granted","time_ms":36,"key":"k","owner":"r3","token":105,"mode":"shared"}
{"id":15,"event":"lost","reason":"flushed","time_ms":37}
{"id":16,"event":"granted","time_ms":38,"key":"k","owner":"a","token":106,"mode":"exclusive"}
`

func TestSoundHistory(t *testing.T) {
	r := checkText(t, 0, sound)
	require.True(t, r.OK(), "%+v", r)
	require.Equal(t, 16, r.Events)
	require.Equal(t, 2, r.Writes)
	require.Zero(t, r.Unknown)
	require.Equal(t, checkhistory.Wait{Key: "k", Owner: "b", EndMS: 20, WaitedMS: 9, Event: "granted"}, *r.LongestWait)
	require.Equal(t, checkhistory.Wait{Key: "k", Owner: "a", EndMS: 20, WaitedMS: 10.5, Event: "released"}, *r.LongestHold)
	var out strings.Builder
	r.Print(&out)
	require.Contains(t, out.String(), "no fault found")
}

// TestPlantedFaults: the report finds each fault that is put into a sound history, and nothing else.
func TestPlantedFaults(t *testing.T) {
	for name, c := range map[string]struct {
		plant string
		find  func(r *checkhistory.Report) bool
	}{
		"two holders": {`{"id":17,"event":"granted","time_ms":39,"key":"k","owner":"z","token":107,"mode":"exclusive"}`,
			func(r *checkhistory.Report) bool {
				return len(r.Overlaps) == 1 && r.Overlaps[0].First.Owner == "a" && r.Overlaps[0].Second.Owner == "z"
			}},
		"a reader beside a writer": {`{"id":17,"event":"granted","time_ms":39,"key":"k","owner":"z","token":107,"mode":"shared"}`,
			func(r *checkhistory.Report) bool { return len(r.Overlaps) == 1 }},
		"a token that falls": {`{"id":17,"event":"released","time_ms":39,"key":"k","owner":"a","token":106,"mode":"exclusive"}
{"id":18,"event":"granted","time_ms":40,"key":"k","owner":"z","token":90,"mode":"exclusive"}`,
			func(r *checkhistory.Report) bool {
				return len(r.Fallen) == 1 && r.Fallen[0].Before == 106 && r.Fallen[0].Then == 90
			}},
		"a write behind a later one": {`{"event":"write","time_ms":26,"key":"k","token":100}`,
			func(r *checkhistory.Report) bool { return len(r.StaleWrites) == 1 && r.StaleWrites[0].Latest == 101 }},
		"a write behind a later grant": {`{"event":"write","time_ms":39,"key":"k","token":101}`,
			func(r *checkhistory.Report) bool { return len(r.StaleWrites) == 1 && r.StaleWrites[0].Latest == 104 }},
	} {
		r := checkText(t, 0, sound+c.plant+"\n")
		require.True(t, c.find(r), "%s: %+v", name, r)
		require.Equal(t, 1, len(r.Overlaps)+len(r.Fallen)+len(r.StaleWrites), name)
		var out strings.Builder
		r.Print(&out)
		require.NotContains(t, out.String(), "no fault found", name)
	}
	require.True(t, checkText(t, 6, sound+`{"event":"write","time_ms":39,"key":"k","token":101}`+"\n").OK(), "the clocks may be 6 ms apart")
	require.Equal(t, 1, checkText(t, 0, sound+`{"event":"write","time_ms":39,"key":"j","token":5}`+"\n").Unknown)
}

// TestGap: a hold before a gap does not overlap with a grant after the gap.
func TestGap(t *testing.T) {
	r := checkText(t, 0, sound+`{"event":"began","time_ms":50,"reason":"failover"}
{"id":1,"event":"granted","time_ms":51,"key":"k","owner":"z","token":200,"mode":"exclusive"}
`)
	require.True(t, r.OK(), "%+v", r)
	require.Equal(t, 2, r.Gaps)
}

func TestReadRefuses(t *testing.T) {
	for text, says := range map[string]string{"{": "line 1", "{}\n": "no event", `{"event":"write","time_ms":1,"key":"k"}`: "a key and a token",
		"\n\n{\"event\":5}": "line 3"} {
		require.ErrorContains(t, checkhistory.Read(strings.NewReader(text), func(*checkhistory.Line) {}), says)
	}
}

func TestSpans(t *testing.T) {
	var lines []checkhistory.Line
	require.NoError(t, checkhistory.Read(strings.NewReader(sound), func(l *checkhistory.Line) {
		if l.Event != checkhistory.Began && l.Event != checkhistory.Write {
			lines = append(lines, *l)
		}
	}))
	s := checkhistory.SpansOf(lines)
	require.Len(t, s.Waits, 1)
	require.Equal(t, checkhistory.Span{Owner: "b", Mode: "exclusive", FromMS: 11, ToMS: 20, End: "granted"}, *s.Waits[0])
	require.Len(t, s.Holds, 7)
	require.Equal(t, checkhistory.Span{Owner: "a", Token: 100, Mode: "exclusive", FromMS: 10, ToMS: 20, End: "released"}, *s.Holds[0])
	require.Equal(t, "expired", s.Holds[1].End)
	require.Equal(t, "lost (flushed)", s.Holds[4].End)
	require.Zero(t, s.Holds[6].ToMS)
	cut := checkhistory.SpansOf(lines[4:5]) // the history begins with a release
	require.Equal(t, checkhistory.Span{Owner: "a", Token: 100, Mode: "exclusive", FromMS: 10, ToMS: 20, End: "released"}, *cut.Holds[0])
	cut = checkhistory.SpansOf(lines[5:6])
	require.EqualValues(t, 11, cut.Waits[0].FromMS)
}

// TestRecordingBegunAgain: a recording that was stopped and started again, into the same file, has some
// events twice. They are no fault. A fault after them is found.
func TestRecordingBegunAgain(t *testing.T) {
	lines := strings.SplitAfter(sound, "\n")
	again := sound + lines[0] + strings.Join(lines[3:], "")
	r := checkText(t, 0, again)
	require.True(t, r.OK(), "%+v", r)
	require.Equal(t, checkText(t, 0, sound).Grants, r.Grants)
	r = checkText(t, 0, again+`{"id":17,"event":"granted","time_ms":39,"key":"k","owner":"b","token":105,"mode":"exclusive"}`+"\n")
	require.Len(t, r.Overlaps, 1)
	require.Len(t, r.Fallen, 1)
	require.Len(t, checkText(t, 0, sound+lines[len(lines)-2]+lines[6]).Fallen, 1, "the same grant again without a new beginning")
}
