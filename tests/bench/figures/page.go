package figures

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lockserver/internal/marked"
	"lockserver/tests/bench/benchkit"
)

// The names of the marks around the generated parts of the README and docs/MEMORY.md.
const (
	readmeMark = "bench"
	thingsMark = "bench-things"
	restMark   = "bench-rest"
)

// render returns every file that follows from the data, by its path from the root. It reads the other parts
// of the README and docs/MEMORY.md at root.
func render(d Data, root string) (map[string]string, error) {
	paragraph, err := paragraph(d)
	if err != nil {
		return nil, err
	}
	things, err := thingsTable(d)
	if err != nil {
		return nil, err
	}
	rest, err := restTable(d)
	if err != nil {
		return nil, err
	}
	readme, err := replaced(root, "README.md", [][2]string{{readmeMark, paragraph}})
	if err != nil {
		return nil, err
	}
	memory, err := replaced(root, "docs/MEMORY.md", [][2]string{{thingsMark, things}, {restMark, rest}})
	if err != nil {
		return nil, err
	}
	picture, err := picture(d)
	if err != nil {
		return nil, err
	}
	return map[string]string{"README.md": readme, "docs/MEMORY.md": memory, "docs/BENCHMARKS.md": page(d), "docs/benchmarks.svg": picture}, nil
}

// replaced returns a page with other text between some of its marks; parts has pairs of a mark and a text.
func replaced(root, path string, parts [][2]string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		return "", err
	}
	text := strings.ReplaceAll(string(raw), "\r\n", "\n") // as Windows may check it out
	for _, p := range parts {
		if text, err = marked.Replace(text, p[0], p[1]); err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
	}
	return text, nil
}

// writePages writes them.
func writePages(root string, d Data) error {
	files, err := render(d, root)
	if err != nil {
		return err
	}
	for path, text := range files {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(path)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

const preamble = `# Benchmarks

Written by ` + "`make bench`" + ` in one run; do not edit. Both servers run on the same machine, in turn, under the same load, which
is made on that machine, too. Other machines, or other hours on a busy one, give other figures. The ratios, lockserver divided by
Redis, can be carried elsewhere. In brackets is how far the rounds of this run are apart.
Missed targets are listed [at the end](#targets). All figures of the README, of its picture and of the tables in [MEMORY.md](MEMORY.md)
are taken from this run. Its data is [benchmarks.json](benchmarks.json). The chapters on replication, on a raft group and on Lua have runs of their own (` + "`make bench PART=replbench`, `PART=raftbench`, `PART=outages`, `PART=machines`, `PART=luabench`" + `), and
say when that was.

Parts of it alone, without writing anything: ` + "`make bench ONLY=memory`, `make bench-locks`, `make bench-sales`, `make bench-memory`, `make bench-aof`, `make bench-lua`; `make bench-list` lists all" + `.
`

// quickRemark marks figures of a quick run, so that they are not taken for real ones.
const quickRemark = "**Quick run: one round of little work. It shows that everything runs; the figures mean little.**"

// page returns docs/BENCHMARKS.md.
func page(d Data) string {
	var b strings.Builder
	b.WriteString(preamble + "\n")
	if d.Quick {
		b.WriteString(quickRemark + "\n\n")
	}
	fmt.Fprintf(&b, "- Machine: %s; load average %s at the start\n- Redis: %s\n- lockserver: %s\n- Begun %s, took %s\n\n",
		d.Machine, d.Load, d.Redis, d.Lockserver, d.Made, minutes(d.Seconds))
	b.WriteString("![processor time a request](benchmarks.svg)\n\n")
	var checks []benchkit.Check
	for _, r := range d.Runs {
		if a := r.Apart; a != nil {
			fmt.Fprintf(&b, "---\n\nMeasured apart, %s, in %s: %s, load average %s at the start; %s.\n\n",
				a.Made, minutes(a.Seconds), a.Machine, a.Load, a.Lockserver)
			if a.Quick {
				b.WriteString(quickRemark + "\n\n")
			}
		}
		b.WriteString(strings.Join(r.Text, "\n") + "\n\n")
		checks = append(checks, r.Checks...)
	}
	b.WriteString(benchkit.Targets(checks) + "\n")
	return b.String()
}

// minutes writes a duration in seconds as whole minutes.
func minutes(seconds int) string {
	n := (seconds + 30) / 60
	if n == 1 {
		return "1 minute"
	}
	return fmt.Sprintf("%d minutes", n)
}
