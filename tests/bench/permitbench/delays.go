package permitbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"lockserver/tests/bench/benchkit"
)

// body is a part of the value of an entry's field: 64 bytes together with the number.
const body = "0123456789012345678901234567890123456789012345678901"

func appendDelayed(b []byte, n int, option string, ms int64) []byte {
	return benchkit.Command(b, 8).Arg("DELAY.ADD").Arg("delayed").Arg(option).Int(ms).Arg("ID").Numbered("id", n, "").Arg("body").Numbered(body, n, "")
}

// delays measures pending entries, and due entries.
func (b *bench) delays(ctx context.Context) error {
	b.Report.Text("## Delayed entries")
	s, err := benchkit.StartFresh(ctx, b.lockserver, b.Dir)
	if err != nil {
		return err
	}
	defer s.Stop()
	n := 0
	grown, err := b.grownBy(ctx, s, func() (err error) {
		n, err = s.Fill(ctx, benchkit.Traffic{Want: benchkit.Always("$"), Append: func(b []byte, n int) []byte {
			return appendDelayed(b, n, "PX", 3_600_000+int64(n%100_000))
		}}, b.sizes.pending)
		return err
	})
	if err != nil {
		return err
	}
	each := float64(grown) / float64(n)
	bytes := func(x float64) string { return benchkit.Fixed(x, 0) + " B" }
	b.Report.Text(fmt.Sprintf("Growth of resident memory by pending entries, each with a body of 64 bytes, read after %v without a request.", b.sizes.rest))
	b.Report.Table([]string{"pending", "resident bytes each", "target"}, [][]string{{benchkit.Grouped(float64(n)), benchkit.Fixed(each, 0),
		b.Report.AtMost("bytes of a pending entry", each, 200, bytes)}})
	if err := b.lateness(ctx, s); err != nil {
		return err
	}
	if err := b.burst(ctx, s, 1, log{}); err != nil {
		return err
	}
	logs := []log{{"everysec", "everysec", b.Dir}, {"always", "always", b.Dir}}
	if dir, err := os.MkdirTemp(inMemory, "permitbench"); err == nil {
		defer os.RemoveAll(dir)
		logs = append(logs, log{"always, log in memory", "always", dir})
	}
	for _, l := range logs {
		if err := b.loggedBurst(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// inMemory is a directory in memory, if the machine has one. A log there is synced at once, so only the
// server's part of a wait is left.
const inMemory = "/dev/shm"

// log says how a server keeps a log. The zero value means no log.
type log struct {
	name  string // its name in the report
	fsync string // appendfsync
	dir   string
}

// loggedBurst runs burst on a server with a log.
func (b *bench) loggedBurst(ctx context.Context, l log) error {
	p := b.lockserver
	p.Args = append(slices.Clip(p.Args), "--appendonly", "yes", "--appendfsync", l.fsync)
	s, err := benchkit.StartFresh(ctx, p, l.dir)
	if err != nil {
		return err
	}
	defer s.Stop()
	return b.burst(ctx, s, 0, l)
}

// fresh returns a function that returns a new number at each call, across all connections.
func fresh() func() int {
	var last atomic.Int64
	return func() int { return int(last.Add(1)) }
}

// addCosts compares DELAY.ADD with the commands that clients use today: XADD, and ZADD for the time. Both get
// new ids, and the same times.
func (b *bench) addCosts(ctx context.Context) error {
	b.Report.Text("## DELAY.ADD")
	const ours, today, rule = "DELAY.ADD", "XADD + ZADD", "DELAY.ADD with EVERY"
	added, timed, ruled := fresh(), fresh(), fresh()
	dueMS := func(n int) int64 { return time.Now().UnixMilli() + 3_600_000 + int64(n%1000) }
	ways := []*way{
		{name: ours, product: b.lockserver, per: 1, traffic: benchkit.Traffic{Want: benchkit.Always("$"), Append: func(b []byte, n int) []byte {
			return appendDelayed(b, added(), "AT", dueMS(n))
		}}},
		{name: today, product: b.lockserver, per: 2, traffic: benchkit.Traffic{Want: func(n int) string {
			return [...]string{"$", ":1"}[n%2]
		}, Append: func(b []byte, n int) []byte {
			if n%2 == 0 {
				return benchkit.Command(b, 5).Arg("XADD").Arg("stream").Arg("*").Arg("body").Numbered(body, n, "")
			}
			return benchkit.Command(b, 4).Arg("ZADD").Arg("times").Int(dueMS(n/2)).Numbered("id", timed(), "")
		}}},
		{name: rule, product: b.lockserver, per: 1, traffic: benchkit.Traffic{Want: benchkit.Always("$"), Append: func(b []byte, n int) []byte {
			id := ruled()
			return benchkit.Command(b, 10).Arg("DELAY.ADD").Arg("recurring").Arg("AT").Int(dueMS(n)).Arg("EVERY").Arg("3600000").Arg("ID").Numbered("id", id, "").
				Arg("body").Numbered(body, id, "")
		}}},
	}
	end, err := b.startAll(ctx, ways)
	defer end()
	if err != nil {
		return err
	}
	_, err = b.compare(ctx, ways, []target{{1, ours, today, whole, 1.5}, {16, ours, today, whole, 1.5}, {16, rule, ours, whole, 0}}, beneath{})
	return err
}

// lateness adds entries that become due one after the other, while other clients write, and measures how late
// each is added. All other entries are still pending.
func (b *bench) lateness(ctx context.Context, s *benchkit.Server) error {
	begin := time.Now().Add(time.Second).UnixMilli()
	due := func(n int) int64 { return begin + int64(n)*b.sizes.watch.Milliseconds()/int64(b.sizes.due) }
	n, err := s.Fill(ctx, benchkit.Traffic{Want: benchkit.Always("$"), Append: func(b []byte, n int) []byte {
		return benchkit.Command(b, 8).Arg("DELAY.ADD").Arg("late").Arg("AT").Int(due(n)).Arg("ID").Numbered("id", n, "").Arg("due").Int(due(n))
	}}, b.sizes.due)
	if err != nil {
		return err
	}
	fleet, err := benchkit.DialFleet(s.Addr, conns)
	if err != nil {
		return err
	}
	defer fleet.Close()
	machine := probe(ctx)
	for time.Now().UnixMilli() < due(n)+100 {
		if _, err := fleet.Send(ctx, sets, 20_000, 1); err != nil {
			return err
		}
	}
	own := lateness(machine(), b.sizes.watch/time.Duration(b.sizes.due), n)
	late, err := lateBy(s)
	if err != nil {
		return err
	}
	if len(late) == 0 {
		return errors.New("no delayed entry was added")
	}
	slices.Sort(late)
	ms := func(of []time.Duration, q float64) float64 { return benchkit.InMS(benchkit.Percentile(of, q)) }
	p99, most := ms(late, 0.99), ms(late, 1)
	b.Report.Text("An entry cannot be added earlier than the machine wakes the server. A probe sleeps for a millisecond again and again, in the same time. Its lateness is " +
		"what entries at these times would have, if each was added as soon as the probe woke.")
	b.Report.Table([]string{"fell due under load", "late, p50", "p99", "most", "the probe, p99", "most", "target of p99", "above the probe's p99"}, [][]string{{strconv.Itoa(len(late)),
		benchkit.Milliseconds(ms(late, 0.5)), benchkit.Milliseconds(p99), benchkit.Milliseconds(most),
		benchkit.Milliseconds(ms(own, 0.99)), benchkit.Milliseconds(ms(own, 1)),
		b.Report.AtMost("lateness of an entry, p99", p99, 5, benchkit.Milliseconds),
		b.Report.AtMost("lateness of an entry, p99, above that of a probe", max(0, p99-ms(own, 0.99)), 5, benchkit.Milliseconds)}})
	return nil
}

// lateness returns n sorted times: how late events would be that are due at the given interval, if each
// happened at the end of the first short sleep after it. If a sleep lasts too long, all events that are due
// in the rest of it are late.
func lateness(overslept []time.Duration, every time.Duration, n int) (late []time.Duration) {
	for _, over := range overslept {
		for left := over; left > 0; left -= every {
			late = append(late, left)
		}
	}
	slices.Sort(late)
	if len(late) >= n {
		return late[len(late)-n:]
	}
	return append(make([]time.Duration, n-len(late)), late...)
}

var sets = benchkit.Traffic{Want: benchkit.Always("+OK"), Append: func(b []byte, n int) []byte {
	return benchkit.Command(b, 3).Arg("SET").Numbered("key:", n%100_000, "").Arg(body)
}}

// readEntries returns the IDs of entries with the times at which they were due, as words.
const readEntries = `
local words = {}
for _, entry in ipairs(redis.call('xrange', KEYS[1], ARGV[1], '+', 'COUNT', 5000)) do
	words[#words + 1] = entry[1]
	words[#words + 1] = entry[2][2]
end
return table.concat(words, ' ')`

// lateBy returns how late each entry of the stream "late" was added.
func lateBy(s *benchkit.Server) (late []time.Duration, err error) {
	for from := "-"; ; {
		text, err := s.Do("EVAL", readEntries, "1", "late", from)
		if err != nil {
			return nil, err
		}
		words := strings.Fields(text)
		if len(words) == 0 {
			return late, nil
		}
		for i := 0; i+1 < len(words); i += 2 {
			id, _, _ := strings.Cut(words[i], "-")
			atMS, err1 := strconv.ParseInt(id, 10, 64)
			dueMS, err2 := strconv.ParseInt(words[i+1], 10, 64)
			if err1 != nil || err2 != nil {
				return nil, fmt.Errorf("XRANGE: unexpected %q", words[i:i+2])
			}
			late = append(late, time.Duration(atMS-dueMS)*time.Millisecond)
		}
		from = "(" + words[len(words)-2]
	}
}

// burst makes many entries due in one millisecond, and measures the PINGs of another process meanwhile. other
// is the number of other streams, with entries that are not due.
func (b *bench) burst(ctx context.Context, s *benchkit.Server, other int, l log) error {
	lead := time.Second + time.Duration(b.sizes.burst)*30*time.Microsecond // time to add them all
	at := time.Now().Add(lead).UnixMilli()
	n, err := s.Fill(ctx, benchkit.Traffic{Want: benchkit.Always("$"), Append: func(b []byte, n int) []byte {
		return benchkit.Command(b, 8).Arg("DELAY.ADD").Arg("burst").Arg("AT").Int(at).Arg("ID").Numbered("id", n, "").Arg("body").Numbered(body, n, "")
	}}, b.sizes.burst)
	if err != nil {
		return err
	}
	file := ""
	if l.dir != "" {
		file = filepath.Join(l.dir, "probe-of-"+l.fsync)
	}
	if err := benchkit.Rest(ctx, time.Until(time.UnixMilli(at))-200*time.Millisecond); err != nil {
		return err
	}
	relax, _ := prefer(s.PID()) // if this fails, the report shows how much the machine adds
	defer relax()
	end, err := b.watch(ctx, s, file)
	if err != nil {
		return err
	}
	left, err := s.InfoNumber("delays", "delayed_streams")
	for err == nil && left > other {
		if err = benchkit.Rest(ctx, 10*time.Millisecond); err == nil {
			left, err = s.InfoNumber("delays", "delayed_streams")
		}
	}
	took := time.Now().UnixMilli() - at
	saw, ended := end()
	relax()
	if err = errors.Join(err, ended); err != nil {
		return err
	}
	log := ""
	if l.name != "" {
		log = ", " + l.name
	}
	priority := "normal"
	if saw.Preferred {
		priority = "real time"
	}
	syncs := time.Duration(0)
	if l.fsync == "always" {
		syncs = 2 // the sync that runs when the PING comes, and the next one
	}
	above := benchkit.InMS(max(0, saw.Longest-saw.Overslept-syncs*saw.Synced))
	b.Report.Table([]string{"due in one millisecond" + log, "all added after", "longest PING of another process meanwhile",
		"a sync of another file, at most", "its sleep, late at most", "priority", "target", "above its sleep and the syncs"}, [][]string{{benchkit.Grouped(float64(n)),
		benchkit.Milliseconds(float64(took)), benchkit.Milliseconds(benchkit.InMS(saw.Longest)), benchkit.Milliseconds(benchkit.InMS(saw.Synced)),
		benchkit.Milliseconds(benchkit.InMS(saw.Overslept)), priority,
		b.Report.AtMost("longest request while entries fall due"+log, benchkit.InMS(saw.Longest), 10, benchkit.Milliseconds),
		b.Report.AtMost("longest request while entries fall due"+log+", above a probe's sleep and syncs", above, 10, benchkit.Milliseconds)}})
	return nil
}

// probe measures the delays of the machine with short sleeps of this program. The returned function ends
// that, and returns the delay of each sleep.
func probe(ctx context.Context) func() []time.Duration {
	ctx, end := context.WithCancel(ctx)
	each := make(chan []time.Duration, 1)
	go func() { each <- benchkit.Oversleeps(ctx) }()
	return func() []time.Duration {
		end()
		return <-each
	}
}
