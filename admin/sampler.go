package admin

import (
	"strings"
	"time"

	"lockserver/admin/console"
	"lockserver/admin/history"
	"lockserver/commands"
	"lockserver/internal/histogram"
	"lockserver/internal/lockclass"
	"lockserver/server"
)

// The largest numbers of series of one kind with a stored past: the latest sales, and the first classes of
// locks besides "other". The book's size limits them, too.
const (
	mostRemembered = 32
	mostClasses    = 11
)

// sampler turns the counters of the server, which only rise, into figures of a step of time. All that it
// reads exists for scrapes: no command on locks does anything for it.
type sampler struct {
	shards []Source
	past   *history.Book
	last   [history.Steps]*counters // of the end of the last step; nil: there was none
}

// counters are those of all shards at a moment.
type counters struct {
	at       time.Time // by the machine's clock
	info     map[string]float64
	all      lockclass.Figures
	classes  map[string]*lockclass.Figures
	held     int64
	limited  int64 // calls that limiters refused
	oldestUS int64 // the age of the oldest wait
}

// remembering adds to the history until the port closes.
func (p *Port) remembering() {
	tick := time.NewTicker(history.Fine.Every())
	defer tick.Stop()
	s := sampler{shards: p.shards, past: &p.past}
	s.sample(time.Now())
	for {
		select {
		case <-p.closing:
			return
		case <-tick.C:
			s.sample(time.Now())
		}
	}
}

// sample adds the figures of the steps that end now. Their points are at the time of the server's data, as
// all other moments in the console. The steps are of the machine's time, because a test can stop the other.
func (s *sampler) sample(machine time.Time) {
	now, c := time.UnixMilli(s.shards[0].NowMS()), &counters{at: machine, info: make(map[string]float64), classes: make(map[string]*lockclass.Figures)}
	for _, source := range s.shards {
		f := source.Figures()
		c.add(&f)
	}
	for step := range s.last {
		if last := s.last[step]; last == nil {
			s.last[step] = c
		} else if took := machine.Sub(last.at); took >= history.Step(step).Every()-history.Fine.Every()/2 {
			s.add(history.Step(step), now, took.Seconds(), last, c)
			s.last[step] = c
		}
	}
	s.past.Forget(now)
}

// add adds the figures of a shard.
func (c *counters) add(f *server.Figures) {
	for line := range strings.SplitSeq(f.Info, "\r\n") {
		name, text, _ := strings.Cut(line, ":")
		switch value, _ := number(text); name {
		case "instantaneous_ops_per_sec", "used_memory":
			c.info[name] += value
		case "used_memory_rss", "used_cpu_sys", "used_cpu_user": // of the process
			c.info[name] = value
		}
	}
	for i := range f.LockClasses {
		class := &f.LockClasses[i]
		c.all.Merge(class)
		if len(f.LockClasses) == 1 || i >= mostClasses && class.Name != lockclass.Other {
			continue
		}
		if c.classes[class.Name] == nil {
			c.classes[class.Name] = new(lockclass.Figures)
		}
		c.classes[class.Name].Merge(class)
	}
	for _, db := range f.Locks {
		c.held += db.Held
	}
	c.limited += f.LimiterRefusals
	c.oldestUS = max(c.oldestUS, f.OldestWaitUS)
}

// add adds a point to each series. now is the time of the point, seconds the length of the step, from the
// counters last to c.
func (s *sampler) add(step history.Step, now time.Time, seconds float64, last, c *counters) {
	cpu := c.info["used_cpu_sys"] + c.info["used_cpu_user"] - last.info["used_cpu_sys"] - last.info["used_cpu_user"]
	s.past.Add(step, console.OpsSeries, now, c.info["instantaneous_ops_per_sec"])
	s.past.Add(step, console.MemorySeries, now, c.info["used_memory"], c.info["used_memory_rss"])
	s.past.Add(step, console.ProcessorSeries, now, max(0, cpu)*100/seconds)
	s.past.Add(step, console.HeldSeries, now, float64(c.held))
	s.past.Add(step, console.LimitersSeries, now, risen(last.limited, c.limited)/seconds)
	s.past.Add(step, console.LocksSeries, now, lockPoint(&last.all, &c.all, seconds, float64(c.oldestUS)/1000)...)
	for name, class := range c.classes {
		before := last.classes[name]
		if before == nil {
			before = new(lockclass.Figures)
		}
		s.past.Add(step, console.ClassSeries(name), now, lockPoint(before, class, seconds, float64(class.OldestUS)/1000)...)
	}
	for _, source := range s.shards {
		reported := 0
		source.EachSale(func(db int, sale *commands.SaleFigures) bool {
			s.past.Add(step, console.SaleSeries(db, sale.Voucher), now, float64(sale.Stock), float64(sale.Sold), float64(sale.Held), float64(sale.Confirmed))
			reported++
			return reported < max(1, mostRemembered/len(s.shards))
		})
	}
}

// lockPoint returns the values of console.LocksSeries for a step: counts a second, and waits in milliseconds.
// oldestMS is the age of the oldest wait.
func lockPoint(last, c *lockclass.Figures, seconds, oldestMS float64) []float64 {
	waits, ended := c.Waits.Since(&last.Waits), risen(last.Holds.Count, c.Holds.Count)
	values := []float64{0, 0, milliseconds(&waits, 50), milliseconds(&waits, 99), oldestMS, float64(c.Waiting),
		risen(last.Timeouts, c.Timeouts) / seconds, risen(last.Refusals, c.Refusals) / seconds, risen(last.Deadlocks, c.Deadlocks) / seconds}
	for reason := range lockclass.Losses {
		lost := risen(last.Lost[reason], c.Lost[reason])
		values = append(values, lost/seconds)
		ended -= lost
	}
	values[0], values[1] = risen(last.Grants, c.Grants)/seconds, max(0, ended)/seconds
	return values
}

// risen returns by how much a counter has risen. A counter that has fallen was reset, and began at zero.
func risen(last, now int64) float64 {
	if now < last {
		last = 0
	}
	return float64(now - last)
}

func milliseconds(h *histogram.Histogram, percent float64) float64 {
	return float64(h.Percentile(percent)) / 1000
}
