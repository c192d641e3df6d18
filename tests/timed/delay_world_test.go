package timed

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

const (
	delaySteps = 150
	streams    = 3
	delayIDs   = 12
)

// delayWorld is a server with delayed entries, and its model.
type delayWorld struct {
	base
	model *delayModel
	saved *delayModel // the content of the snapshot on disk, or nil
	value int         // the last value; each entry has its own
	// orphans means that a sorted set was removed without its hash.
	orphans bool
}

// newDelayWorld starts the server of a seed.
func newDelayWorld(seed uint64) (w *delayWorld, err error) {
	w = &delayWorld{model: newDelayModel()}
	w.base, err = newBase(seed)
	if err == nil {
		w.model.sinceMS = w.nowMS()
	}
	return w, err
}

// live plays the world. The error is a violation if the server is wrong.
func (w *delayWorld) live() error {
	steps := []struct {
		weight int
		step   func() error
	}{{24, w.add}, {6, w.recur}, {10, w.cancel}, {12, w.move}, {8, w.list}, {25, w.pass}, {3, w.stepBack}, {3, w.others}, {2, w.save}, {3, w.restart}, {1, w.crash}, {1, w.failOver}}
	for range delaySteps {
		n := w.random.IntN(98)
		for _, s := range steps {
			if n -= s.weight; n < 0 {
				if err := s.step(); err != nil {
					return fmt.Errorf("seed %d: %w", w.seed, err)
				}
				break
			}
		}
		if err := w.compare(); err != nil {
			return fmt.Errorf("seed %d: %w", w.seed, err)
		}
	}
	if err := w.endRules(); err != nil {
		return fmt.Errorf("seed %d: %w", w.seed, err)
	}
	w.clock.Advance(time.Hour)
	if err := w.compare(); err != nil {
		return fmt.Errorf("seed %d: %w", w.seed, err)
	}
	for i := range streams {
		keys := []string{"EXISTS", fmt.Sprintf("{s%d}:delayed", i), fmt.Sprintf("{s%d}:delayed:entries", i)}
		if w.orphans {
			keys = keys[:2]
		}
		if v, err := w.admin.Call(keys...); err != nil || v.Int != 0 {
			return &violation{fmt.Sprintf("seed %d: keys are left when all entries are added (%v)", w.seed, err)}
		}
	}
	return nil
}

func (w *delayWorld) nowMS() int64 { return w.clock.NowUS() / 1000 }

// expect sends a command and compares its reply with the model's.
func (w *delayWorld) expect(reply string, args ...string) error {
	v, err := w.admin.Call(args...)
	if err != nil {
		return err
	}
	w.counts[strings.ToLower(args[0])]++
	if v.String() != reply {
		return &violation{fmt.Sprintf("%q replied %s and not %s", args, v, reply)}
	}
	return nil
}

// where picks a stream and an id. All due entries are added before a command runs.
func (w *delayWorld) where() (stream, id string) {
	w.model.fire(w.nowMS())
	return fmt.Sprint("s", w.random.IntN(streams)), fmt.Sprint("id", w.random.IntN(delayIDs))
}

// due picks a time, as words of a command and in milliseconds since 1970. Many entries have the same time.
func (w *delayWorld) due() (words []string, dueMS int64) {
	if w.random.IntN(2) == 0 {
		ms := w.random.Int64N(4) * 25
		return []string{"PX", fmt.Sprint(ms)}, (w.clock.NowUS()+999)/1000 + ms
	}
	dueMS = (w.nowMS()/50 + w.random.Int64N(4)) * 50
	return []string{"AT", fmt.Sprint(dueMS)}, dueMS
}

func (w *delayWorld) add() error {
	stream, id := w.where()
	words, dueMS := w.due()
	w.value++
	value := fmt.Sprint("value ", w.value)
	args := append([]string{"DELAY.ADD", stream}, words...)
	if _, waits := w.model.waiting[stream][id]; waits {
		return w.expect("$nil", append(args, "ID", id, "v", value)...)
	}
	w.model.put(stream, id, value, dueMS, nil)
	return w.expect(strconv.Quote(id), append(args, "ID", id, "v", value)...)
}

func (w *delayWorld) cancel() error {
	stream, id := w.where()
	reply := "0"
	if _, waits := w.model.waiting[stream][id]; waits {
		reply = "1"
		delete(w.model.waiting[stream], id)
	}
	return w.expect(reply, "DELAY.CANCEL", stream, id)
}

func (w *delayWorld) move() error {
	stream, id := w.where()
	words, dueMS := w.due()
	reply := "0"
	if p, waits := w.model.waiting[stream][id]; waits {
		reply = "1"
		w.model.put(stream, id, p.value, dueMS, p.rule)
	}
	return w.expect(reply, append([]string{"DELAY.MOVE", stream, id}, words...)...)
}

func (w *delayWorld) list() error {
	stream, id := w.where()
	if err := w.expect(w.model.list(stream), "DELAY.LIST", stream); err != nil {
		return err
	}
	reply := "*nil"
	if p, waits := w.model.waiting[stream][id]; waits {
		reply = fmt.Sprintf(`[%d ["v" %q]%s]`, p.dueMS, p.value, p.rule.text())
	}
	if err := w.expect(reply, "DELAY.GET", stream, id); err != nil {
		return err
	}
	return w.expect(fmt.Sprint(len(w.model.waiting[stream])), "DELAY.COUNT", stream)
}

func (w *delayWorld) pass() error {
	w.clock.Advance(time.Duration(w.random.IntN(60_000)) * time.Microsecond)
	w.model.pass(w.nowMS())
	return nil
}

func (w *delayWorld) stepBack() error {
	w.model.fire(w.nowMS())
	if _, err := w.admin.Call("PING"); err != nil { // all due entries are added before it runs
		return err
	}
	w.counts["steps back"]++
	w.clock.Set(time.UnixMicro(w.clock.NowUS() - w.random.Int64N(100_000)))
	return nil
}

// others changes the keys like clients that know nothing about delayed entries.
func (w *delayWorld) others() error {
	stream, _ := w.where()
	set, entries := "{"+stream+"}:delayed", "{"+stream+"}:delayed:entries"
	there := len(w.model.waiting[stream]) > 0
	var calls [][]string
	switch to := fmt.Sprint("s", w.random.IntN(streams)); w.random.IntN(6) {
	case 0:
		calls = [][]string{{"DEL", set, entries}}
		delete(w.model.waiting, stream)
	case 1:
		calls = [][]string{{"UNLINK", set}}
		w.orphans = true
		delete(w.model.waiting, stream)
	case 2:
		calls = [][]string{{"FLUSHALL"}}
		w.model = &delayModel{waiting: map[string]map[string]pending{}, streams: map[string][]added{}, sinceMS: w.model.sinceMS}
	case 3:
		calls = [][]string{{"SWAPDB", "0", "1"}, {"SWAPDB", "0", "1"}}
	case 4:
		if there && to != stream {
			calls = [][]string{{"MULTI"}, {"RENAME", set, "{" + to + "}:delayed"}, {"RENAME", entries, "{" + to + "}:delayed:entries"}, {"EXEC"}}
			w.model.waiting[to] = w.model.waiting[stream]
			delete(w.model.waiting, stream)
		}
	case 5:
		if there { // the first one becomes due at once
			p := w.model.sorted(stream)[0]
			v, err := w.admin.Call("ZRANGE", set, "0", "0")
			if err != nil {
				return err
			}
			p.dueMS = 1
			w.model.waiting[stream][p.id] = p
			calls = [][]string{{"ZADD", set, "1", v.Elems[0].Str}}
		}
	}
	if len(calls) == 0 {
		return nil
	}
	w.counts["others"]++
	_, err := w.admin.CallPipeline(calls)
	return err
}

// compare compares the streams with the model.
func (w *delayWorld) compare() error {
	w.model.fire(w.nowMS())
	for i := range streams {
		stream := fmt.Sprint("s", i)
		v, err := w.admin.Call("XRANGE", stream, "-", "+")
		if err != nil {
			return err
		}
		var got, want []string
		for i, e := range v.Elems {
			fields := e.Elems[1].Elems
			text := fields[1].Str
			if len(fields) > 2 {
				text += " due " + fields[3].Str
				w.counts["recurred"]++
			}
			got = append(got, text)
			ms, _, _ := strings.Cut(e.Elems[0].Str, "-")
			if n, _ := strconv.ParseInt(ms, 10, 64); i < len(w.model.streams[stream]) && n < w.model.streams[stream][i].dueMS {
				return &violation{fmt.Sprintf("entry %s of %s is early: it was due at %d", e.Elems[0].Str, stream, w.model.streams[stream][i].dueMS)}
			}
		}
		for _, a := range w.model.streams[stream] {
			want = append(want, a.value)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return &violation{fmt.Sprintf("at %d the stream %s has\n%q\nand not\n%q", w.nowMS(), stream, got, want)}
		}
		w.counts["added"] = max(w.counts["added"], len(got))
	}
	return nil
}

// save writes a snapshot. A crash goes back to it.
func (w *delayWorld) save() error {
	w.model.fire(w.nowMS())
	w.saved = w.model.clone()
	v, err := w.admin.Call("SAVE")
	if err == nil && v.IsError() {
		err = errors.New(v.Str)
	}
	return err
}

// restart ends the server, and starts it again some time later, from its log or from a snapshot at its end.
func (w *delayWorld) restart() error {
	if !w.logs() {
		if err := w.save(); err != nil {
			return err
		}
	}
	w.counts["restarts"]++
	return w.again()
}

// crash ends a server without a log. It continues from its last snapshot.
func (w *delayWorld) crash() error {
	if w.logs() || w.saved == nil {
		return nil
	}
	w.counts["crashes"]++
	w.model = w.saved.clone()
	return w.again()
}

func (w *delayWorld) again() error {
	w.admin.Close()
	if err := w.srv.Close(); err != nil {
		return err
	}
	w.clock.Set(time.UnixMicro(w.clock.NowUS() + w.random.Int64N(60_000)))
	var err error
	w.srv, w.admin, err = w.start(w.clock, w.dir)
	w.model.sinceMS = w.nowMS()
	return err
}

// failOver lets a replica take over. Its clock is ahead or behind: until it leads, it adds nothing.
func (w *delayWorld) failOver() error {
	w.counts["failovers"]++
	w.model.fire(w.nowMS())
	clock := server.NewManualClock(time.UnixMicro(w.clock.NowUS() + w.random.Int64N(100_000) - 30_000))
	dir, err := os.MkdirTemp("", "timed")
	if err != nil {
		return err
	}
	srv, admin, err := w.start(clock, dir)
	if err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(w.srv.Addr().String())
	if _, err := admin.Call("REPLICAOF", host, port); err != nil {
		return err
	}
	same := func() bool {
		if !strings.Contains(info(admin), "master_link_status:up") {
			return false
		}
		for i := range streams {
			for _, name := range []string{"s%d", "{s%d}:delayed", "{s%d}:delayed:entries"} {
				a, err := w.admin.Call("DUMP", fmt.Sprintf(name, i))
				b, err2 := admin.Call("DUMP", fmt.Sprintf(name, i))
				if err != nil || err2 != nil || a.String() != b.String() {
					return false
				}
			}
		}
		return true
	}
	for end := time.Now().Add(patience); !same(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return &violation{"a replica has other data than its master"}
		}
	}
	clock.Advance(time.Duration(w.random.IntN(50)) * time.Millisecond)
	if !same() {
		return &violation{"a replica has added an entry by itself"}
	}
	if v, err := admin.Call("REPLICAOF", "NO", "ONE"); err != nil || v.IsError() {
		return fmt.Errorf("REPLICAOF NO ONE: %s %w", v, err)
	}
	w.close()
	w.srv, w.admin, w.clock, w.dir, w.saved = srv, admin, clock, dir, nil
	w.model.sinceMS = w.nowMS()
	return nil
}

var (
	delayWorlds = flag.Uint64("delay-worlds", 15, "how many worlds TestDelays tries")
	delaySeed   = flag.Uint64("delay-seed", 0, "the one world that TestDelays tries; 0: many")
)

// tryDelays plays the world of a seed, and adds its events to counts.
func tryDelays(seed uint64, counts map[string]int) error {
	w, err := newDelayWorld(seed)
	if err != nil {
		return err
	}
	defer func() { w.close() }()
	err = w.live()
	for what, n := range w.counts {
		counts[what] += n
	}
	return err
}

// TestDelays searches for an entry that is added twice, early, late, in a wrong order, or never.
func TestDelays(t *testing.T) {
	first, last := uint64(1), *delayWorlds
	if *delaySeed != 0 {
		first, last = *delaySeed, *delaySeed
	}
	counts := map[string]int{}
	for seed := first; seed <= last; seed++ {
		require.NoError(t, tryDelays(seed, counts))
	}
	t.Log(counts)
	for _, what := range []string{"added", "recurred", "recurring ONCE", "recurring SKIP", "recurring ALL", "delay.add", "delay.cancel", "delay.move", "delay.list", "others", "steps back", "restarts", "crashes", "failovers"} {
		require.True(t, counts[what] > 0 || *delaySeed != 0, what)
	}
}
