package figures

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"lockserver/internal/marked"
	"lockserver/tests/bench/benchkit"

	"github.com/stretchr/testify/require"
)

var root = filepath.Join("..", "..", "..")

// committed returns the data of the repository.
func committed(t *testing.T) Data {
	t.Helper()
	d, err := Read(root)
	require.NoError(t, err)
	return d
}

// TestCommittedPagesAreUpToDate: the README's paragraph, the tables of docs/MEMORY.md, the page and the
// picture agree with the data.
func TestCommittedPagesAreUpToDate(t *testing.T) {
	files, err := render(committed(t), root)
	require.NoError(t, err)
	require.Len(t, files, 4)
	for path, want := range files {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		require.NoError(t, err)
		require.True(t, strings.ReplaceAll(string(text), "\r\n", "\n") == want, "%s is not what docs/benchmarks.json says: run 'make docs'", path)
	}
}

// TestParagraphQuotesTheData: every number in the README's paragraph is a figure of the data, or describes
// the day, the machine and the version.
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
			known = append(known, strconv.FormatFloat(value, 'f', 1, 64), benchkit.Grouped(value))
		}
	}
	numbers := regexp.MustCompile(`\d+(,\d{3})*(\.\d+)?`).FindAllString(text, -1)
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

// TestQuickFiguresCannotBeTakenForRealOnes: page and picture say that the run was quick, and the README has
// no figures of it.
func TestQuickFiguresCannotBeTakenForRealOnes(t *testing.T) {
	d := committed(t)
	d.Quick = true
	text, err := paragraph(d)
	require.NoError(t, err)
	require.NotRegexp(t, `\d`, text)
	require.Contains(t, page(d), quickRemark)
	image, err := picture(d)
	require.NoError(t, err)
	require.Contains(t, image, "QUICK RUN")
	d.Quick = false
	require.NotContains(t, page(d), quickRemark)
	image, err = picture(d)
	require.NoError(t, err)
	require.NotContains(t, image, "QUICK RUN")
}

// TestPicture: it is valid XML. The longest bar of each half is as wide as its half allows, and the others
// are in proportion.
func TestPicture(t *testing.T) {
	figures := make(map[string]float64)
	for i, s := range shown {
		for k, p := range []string{"p1", "p16"} {
			figures["cpu."+s.name+"."+p+".us.lockserver"] = float64(i + 1)
			figures["cpu."+s.name+"."+p+".us.redis"] = float64(2*(i+1) + k)
		}
	}
	d := Data{About: About{Machine: "2 cores, a < b & c", Redis: "Redis server v=7.4.1 sha=0"}, Runs: []Run{{Record: benchkit.Record{Figures: figures}}}}
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
	longest := widths[2*len(shown)-1] // of the first half: the last of Redis
	for i := range shown {
		require.InDelta(t, longest*float64(i+1)/float64(2*len(shown)), widths[2*i], 0.1)
		require.InDelta(t, longest*float64(i+1)/float64(len(shown)), widths[2*i+1], 0.1)
	}
}

// TestPagesThatCannotBeWritten: that is found before the benchmarks run.
func TestPagesThatCannotBeWritten(t *testing.T) {
	require.NoError(t, CheckPages(root))
	dir := t.TempDir()
	for _, text := range []string{"", "# No marks\n"} {
		if text != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte(text), 0o644))
		}
		require.ErrorContains(t, CheckPages(dir), "README.md")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte("<!-- bench:begin -->\n<!-- bench:end -->\n"), 0o644))
	require.ErrorContains(t, CheckPages(dir), "MEMORY.md")
}

// TestPagesAgreeOnMemory: the memory of a lock and of a string is in the README and in docs/MEMORY.md, with
// the figures of the same run.
func TestPagesAgreeOnMemory(t *testing.T) {
	d := committed(t)
	l := lookup{runs: d.Runs}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	paragraph, err := marked.Between(string(readme), readmeMark)
	require.NoError(t, err)
	memory, err := os.ReadFile(filepath.Join(root, "docs", "MEMORY.md"))
	require.NoError(t, err)
	things, err := marked.Between(string(memory), thingsMark)
	require.NoError(t, err)
	rows := map[string][]string{}
	for line := range strings.Lines(things) {
		if cells := strings.Split(line, "|"); len(cells) > 5 {
			rows[strings.TrimSpace(cells[1])] = cells
		}
	}
	for thing, row := range map[string]string{"lock": "lock with a lease", "string": "string of 64 bytes"} {
		for column, server := range map[int]string{3: "redis", 4: "lockserver"} {
			bytes := l.figure(bytesOf(thing, server))
			require.Contains(t, paragraph, " "+benchkit.Grouped(bytes), "README.md: a %s in %s", thing, server)
			require.Len(t, rows[row], 8, row)
			require.Equal(t, benchkit.Fixed(bytes, 1), strings.TrimSpace(rows[row][column]), "docs/MEMORY.md: a %s in %s", thing, server)
		}
	}
	require.NoError(t, l.err())
	require.NotRegexp(t, `lock takes \d`, strings.ReplaceAll(string(readme), paragraph, ""), "the README quotes it once")
}

// TestRunApart: a suite with its own run comes last, has its own date, and replaces its earlier results.
func TestRunApart(t *testing.T) {
	const replbench, raftbench = "replbench", "raftbench"
	d := Data{Runs: []Run{{Suite: "costbench", Record: benchkit.Record{Text: []string{"all"}}}}}
	for _, text := range []string{"old", "new"} {
		d.Put(Run{Suite: replbench, Apart: &About{Made: "2026-11-23 " + text, Quick: true}, Record: benchkit.Record{Text: []string{text + " text"}}})
	}
	d.Put(Run{Suite: raftbench, Apart: &About{Made: "yesterday"}})
	require.Len(t, d.Runs, 3)
	require.Equal(t, replbench, d.Runs[1].Suite)
	is := page(d)
	require.Contains(t, is, "Measured apart, 2026-11-23 new")
	require.Contains(t, is, quickRemark+"\n\nnew text")
	require.NotContains(t, is, "old")
	require.Less(t, strings.Index(is, "all\n"), strings.Index(is, "Measured apart"))
}

// TestFloorInThePicture: a line for each command that has a floor, in proportion.
func TestFloorInThePicture(t *testing.T) {
	d := committed(t)
	for _, r := range d.Runs {
		for _, s := range shown {
			for _, p := range []string{"p1", "p16"} {
				delete(r.Figures, "cpu."+s.name+"."+p+".floor.us")
			}
		}
	}
	text, err := picture(d)
	require.NoError(t, err)
	require.NotContains(t, text, `class="floor"`)
	d.find("costbench").Figures["cpu.SET.p1.floor.us"] = 5
	text, err = picture(d)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(text, `class="floor"`))
	require.Contains(t, text, "answers +OK")
}

// TestTablesOfMemory: without the figures that they need there is an error, and a quick run has no tables.
func TestTablesOfMemory(t *testing.T) {
	d := committed(t)
	r := *d.find(memorySuite)
	for _, table := range []func(Data) (string, error){thingsTable, restTable} {
		text, err := table(Data{About: d.About, Runs: []Run{r}})
		require.NoError(t, err)
		require.Contains(t, text, "|---")
		_, err = table(Data{About: d.About, Runs: []Run{{Suite: memorySuite}}})
		require.Error(t, err)
		text, err = table(Data{About: About{Quick: true}, Runs: []Run{{Suite: memorySuite}}})
		require.NoError(t, err)
		require.Equal(t, quickRemark, text)
	}
}
