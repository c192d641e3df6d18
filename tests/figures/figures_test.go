package main

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"lockserver/internal/benchkit"

	"github.com/stretchr/testify/require"
)

var root = filepath.Join("..", "..")

// committed is the data of the repository.
func committed(t *testing.T) data {
	t.Helper()
	d, err := readData(root)
	require.NoError(t, err)
	return d
}

// TestCommittedPagesAreUpToDate: the README's paragraph, the page and the picture are what the data says.
func TestCommittedPagesAreUpToDate(t *testing.T) {
	files, err := render(committed(t), root)
	require.NoError(t, err)
	require.Len(t, files, 3)
	for path, want := range files {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		require.NoError(t, err)
		require.True(t, strings.ReplaceAll(string(text), "\r\n", "\n") == want, "%s is not what docs/benchmarks.json says: run 'make docs'", path)
	}
}

// TestParagraphQuotesTheData: every number that the README claims is a figure of the data, or says of
// which day, machine and version they are.
func TestParagraphQuotesTheData(t *testing.T) {
	d := committed(t)
	d.Quick = false
	text, err := paragraph(d)
	require.NoError(t, err, "the benchmarks note every figure that the README wants")
	for _, about := range []string{d.Made[:10], d.redisVersion(), d.Machine} {
		require.Contains(t, text, about)
		text = strings.Replace(text, about, "", 1)
	}
	var known []string
	for _, r := range d.Runs {
		for _, value := range r.Figures {
			known = append(known, strconv.FormatFloat(value, 'f', 1, 64), benchkit.Grouped(value), strings.TrimSuffix(benchkit.Mebibytes(value), " MiB"))
		}
	}
	numbers := regexp.MustCompile(`\d[\d,]*(\.\d+)?`).FindAllString(text, -1)
	require.Greater(t, len(numbers), 10)
	for _, n := range numbers {
		require.Contains(t, known, n)
	}
}

func TestFigureThatIsMissing(t *testing.T) {
	d := committed(t)
	d.Quick = false
	for _, r := range d.Runs {
		delete(r.Figures, "cpu.SET.p1.us.redis")
	}
	_, err := paragraph(d)
	require.ErrorContains(t, err, "cpu.SET.p1.us.redis")
	_, err = picture(d)
	require.ErrorContains(t, err, "cpu.SET.p1.us.redis")
}

// TestQuickFiguresCannotBeTakenForRealOnes: page and picture say so, and the README quotes none.
func TestQuickFiguresCannotBeTakenForRealOnes(t *testing.T) {
	d := committed(t)
	d.Quick = true
	text, err := paragraph(d)
	require.NoError(t, err)
	require.NotRegexp(t, `\d`, text)
	require.Contains(t, page(d), quickNote)
	image, err := picture(d)
	require.NoError(t, err)
	require.Contains(t, image, "QUICK RUN")
	d.Quick = false
	require.NotContains(t, page(d), quickNote)
	image, err = picture(d)
	require.NoError(t, err)
	require.NotContains(t, image, "QUICK RUN")
}

// TestPicture: it is XML, the longest bar of each half is as wide as its half allows, and
// the others are in proportion.
func TestPicture(t *testing.T) {
	figures := make(map[string]float64)
	for i, s := range shown {
		for k, p := range []string{"p1", "p16"} {
			figures["cpu."+s.name+"."+p+".us.lockserver"] = float64(i + 1)
			figures["cpu."+s.name+"."+p+".us.redis"] = float64(2*(i+1) + k)
		}
	}
	d := data{Machine: "2 cores, a < b & c", Redis: "Redis server v=7.4.1 sha=0", Runs: []ran{{Record: benchkit.Record{Figures: figures}}}}
	text, err := picture(d)
	require.NoError(t, err)
	again, err := picture(d)
	require.NoError(t, err)
	require.Equal(t, text, again)
	require.Contains(t, text, ">Redis 7.4.1<")
	decoder := xml.NewDecoder(strings.NewReader(text))
	for err == nil {
		_, err = decoder.Token()
	}
	require.ErrorIs(t, err, io.EOF)
	var widths []float64
	for _, m := range regexp.MustCompile(`width="([\d.]+)" height="15"`).FindAllStringSubmatch(text, -1) {
		width, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		widths = append(widths, width)
	}
	require.Len(t, widths, 4*len(shown))
	longest := widths[2*len(shown)-1] // of the first half: Redis' last
	for i := range shown {
		require.InDelta(t, longest*float64(i+1)/float64(2*len(shown)), widths[2*i], 0.1)
		require.InDelta(t, longest*float64(i+1)/float64(len(shown)), widths[2*i+1], 0.1)
	}
}

func TestSenselessCommandLines(t *testing.T) {
	for _, args := range [][]string{{"extra"}, {"-nonsense"}, {"-part", "bench"}} {
		var stderr strings.Builder
		require.Equal(t, 2, run(t.Context(), args, io.Discard, &stderr))
		require.NotEmpty(t, stderr.String())
	}
	require.Zero(t, run(t.Context(), []string{"-h"}, io.Discard, io.Discard))
}

// TestNothingIsMeasuredForNothing: that the pages cannot be written is found out before the benchmarks run.
func TestNothingIsMeasuredForNothing(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"", "# No marks\n"} {
		if text != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte(text), 0o644))
		}
		var stderr strings.Builder
		require.Equal(t, 1, run(t.Context(), []string{"-root", dir, "-oracle", "no-such-redis"}, io.Discard, &stderr))
		require.Contains(t, stderr.String(), "README.md")
	}
	var stderr strings.Builder
	require.Equal(t, 1, run(t.Context(), []string{"-oracle", "no-such-redis", "-root", root}, io.Discard, &stderr))
	require.Contains(t, stderr.String(), "no-such-redis")
}

// TestBenchmarkThatFails: what it has written is not used.
func TestBenchmarkThatFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"text":["half"]}`), 0o644))
	self, err := os.Executable()
	require.NoError(t, err)
	_, err = runOne(t.Context(), self, []string{"-no-such-flag"}, file, io.Discard, io.Discard)
	require.Error(t, err)
	rec, err := runOne(t.Context(), self, []string{"-test.run", "^$"}, file, io.Discard, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []string{"half"}, rec.Text)
}

// TestRunApart: what has a run of its own comes last, says when that was, and takes the place of what it
// found before.
func TestRunApart(t *testing.T) {
	d := data{Runs: []ran{{Program: "bench", Record: benchkit.Record{Text: []string{"all"}}}}}
	for _, text := range []string{"old", "new"} {
		d.put(ran{Program: replbench, Apart: &apart{Made: "2026-11-23 " + text, Quick: true}, Record: benchkit.Record{Text: []string{text + " text"}}})
	}
	d.put(ran{Program: raftbench, Apart: &apart{Made: "yesterday"}})
	require.Len(t, d.Runs, 3)
	require.Equal(t, replbench, d.Runs[1].Program)
	is := page(d)
	require.Contains(t, is, "Measured apart, 2026-11-23 new")
	require.Contains(t, is, quickNote+"\n\nnew text")
	require.NotContains(t, is, "old")
	require.Less(t, strings.Index(is, "all\n"), strings.Index(is, "Measured apart"))
}
