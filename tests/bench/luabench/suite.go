// Package luabench measures scripts that compute without calling commands, beside a real redis-server: ten
// small Lua programs, and cjson with its memory.
//
// It owns the programs and the targets. It must not know how either server runs Lua: it sends EVAL and reads
// the operating system's data about the processes. Both must give the same answer, or nothing is reported. To
// add a program, add a row to programs.go.
package luabench

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"lockserver/tests/bench/benchkit"
)

// The targets, as multiples of Redis.
const (
	mostTime       = 5.0 // for the ten programs: the geometric mean
	mostTimeCJSON  = 2.0
	mostMemoryJSON = 2.0 // for programs that keep their data
)

// lessWork is the factor by which a quick run does less.
const lessWork = 20

// bench is one run.
type bench struct {
	benchkit.Run
	pair [2]benchkit.Product // Redis first
}

// Suite returns this package as a row of the driver's table.
func Suite() benchkit.Suite {
	b := &bench{}
	return benchkit.Suite{
		Name: "luabench", Asks: "what do Lua scripts cost that compute, beside Redis?",
		Needs: []string{benchkit.NeedsRedis}, Written: benchkit.Apart, Prepare: b.prepare,
		Sections: []benchkit.Section{
			{Name: "lua", Measures: "ten small programs: loops, arithmetic, calls, tables, strings", Run: b.programs},
			{Name: "cjson", Measures: "cjson.encode and cjson.decode: processor time and memory", Run: b.conversions},
		},
	}
}

func (b *bench) prepare(_ context.Context, r benchkit.Run) ([]string, error) {
	b.Run = r
	slow := []string{"--busy-reply-threshold", "0"}
	b.pair = [2]benchkit.Product{
		{Name: "Redis", Path: r.Redis, Args: append([]string{"--appendonly", "no"}, slow...)},
		{Name: "lockserver", Path: r.Lockserver, Args: slow},
	}
	return nil, nil
}

// result holds the costs of a program on both servers, a value for each round.
type result struct {
	ms   benchkit.Rounds // processor time
	peak benchkit.Rounds // the largest resident memory of the process so far, in bytes
}

// compare runs a program on two new servers in turn.
func (b *bench) compare(ctx context.Context, p program) (got result, err error) {
	work := p.work
	if b.Quick {
		work /= lessWork
	}
	document := ""
	if strings.Contains(p.text, "ARGV[2]") {
		if document, err = largeDocument(work); err != nil {
			return got, err
		}
	}
	request := []string{"EVAL", "local n = tonumber(ARGV[1])\n" + p.text, "0", strconv.Itoa(work), document, smallObject}
	var servers [2]*benchkit.Server
	for i, product := range b.pair {
		if servers[i], err = benchkit.StartFresh(ctx, product, b.Dir); err != nil {
			return got, err
		}
		defer servers[i].Stop()
	}
	for range b.Rounds {
		var replies [2]string
		for i, s := range servers {
			if err := ctx.Err(); err != nil {
				return got, err
			}
			before, err := s.CPU()
			if err != nil {
				return got, err
			}
			if replies[i], err = s.Do(request...); err != nil {
				return got, fmt.Errorf("%s: %w", p.name, err)
			}
			after, err := s.CPU()
			if err != nil {
				return got, err
			}
			peak, err := s.Peak()
			if err != nil {
				return got, err
			}
			b.Say("%-42s %-10s %8.1f ms %8.1f MiB", p.name, s.Name, benchkit.InMS(after-before), float64(peak)/(1<<20))
			got.ms[i] = append(got.ms[i], float64(after-before)/float64(time.Millisecond))
			got.peak[i] = append(got.peak[i], float64(peak))
		}
		if replies[0] != replies[1] || replies[0] == "" {
			return got, fmt.Errorf("%s: Redis answers %q, lockserver %q", p.name, replies[0], replies[1])
		}
	}
	return got, nil
}

// largeDocument returns ARGV[2]: an array of n objects.
func largeDocument(n int) (string, error) {
	type object struct {
		ID     int      `json:"id"`
		Name   string   `json:"name"`
		Tags   []string `json:"tags"`
		Price  float64  `json:"price"`
		Active bool     `json:"active"`
		Text   string   `json:"text"`
	}
	objects := make([]object, n)
	for i := range objects {
		objects[i] = object{i, "customer " + strconv.Itoa(i), []string{"a", "b", "c"}, float64(i) * 1.25, true, "some text of a certain length"}
	}
	text, err := json.Marshal(objects)
	return string(text), err
}

// times returns cells with a figure of both servers and their ratio.
func times(r benchkit.Rounds, show func(float64) string) []string {
	redis, ours := r.Medians()
	low, high := r.Spread()
	return []string{show(redis), show(ours), fmt.Sprintf("%s (%s-%s)", benchkit.Times(r.Ratio()), benchkit.Fixed(low, 2), benchkit.Fixed(high, 2))}
}

func (b *bench) programs(ctx context.Context) error {
	var rows [][]string
	sum := 0.0
	for i, p := range programs() {
		got, err := b.compare(ctx, p)
		if err != nil {
			return err
		}
		redis, ours := got.ms.Medians()
		b.Report.AddPair(fmt.Sprintf("lua.%d.ms", i+1), redis, ours)
		sum += math.Log(got.ms.Ratio())
		rows = append(rows, append(append([]string{p.name}, times(got.ms, benchkit.Milliseconds)...), ""))
	}
	mean := math.Exp(sum / float64(len(rows)))
	b.Report.AddFigure("lua.mean", mean)
	mark := b.Report.AtMost("processor time of ten Lua programs, geometric mean", mean, mostTime, benchkit.Times)
	rows = append(rows, []string{"geometric mean", "", "", benchkit.Times(mean), mark})
	b.Report.Text(fmt.Sprintf("## Lua\n\nScripts that only compute, by `EVAL`: processor time of the server process from before the request until its reply. "+
		"Each program has two fresh servers, which take turns. Both answer the same number. Medians of %d round(s), in brackets the lowest and highest ratio of a round. "+
		"`make bench-lua` measures this and prints it.", b.Rounds))
	b.Report.Table([]string{"program", "Redis", "lockserver", "ratio", "target"}, rows)
	return nil
}

func (b *bench) conversions(ctx context.Context) error {
	var rows, memory [][]string
	for i, p := range conversions() {
		got, err := b.compare(ctx, p)
		if err != nil {
			return err
		}
		redis, ours := got.ms.Medians()
		b.Report.AddPair(fmt.Sprintf("cjson.%d.ms", i+1), redis, ours)
		mark := b.Report.AtMost("processor time of cjson: "+p.name, got.ms.Ratio(), mostTimeCJSON, benchkit.Times)
		rows = append(rows, append(append([]string{p.name}, times(got.ms, benchkit.Milliseconds)...), mark))
		redis, ours = got.peak.Medians()
		b.Report.AddPair(fmt.Sprintf("cjson.%d.peak_bytes", i+1), redis, ours)
		mark = ""
		if p.keeps {
			mark = b.Report.AtMost("memory of cjson: "+p.name, got.peak.Ratio(), mostMemoryJSON, benchkit.Times)
		}
		memory = append(memory, append(append([]string{p.name}, times(got.peak, benchkit.Mebibytes)...), mark))
	}
	b.Report.Text("### cjson\n\nThe same for programs that call `cjson`. The text of many objects has 5 MB.")
	head := []string{"processor time", "Redis", "lockserver", "ratio", "target"}
	b.Report.Table(head, rows)
	b.Report.Text("The most resident memory that the process has had until the end of each round. " +
		"It holds all of the server. The two that keep nothing have no target: lockserver takes more when it is empty, and a script makes 16 MiB before a collection.")
	head[0] = "memory"
	b.Report.Table(head, memory)
	return nil
}
