package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"lockserver/internal/call"
	"lockserver/internal/resp"
)

// The series of the charts of the server, which package admin stores.
const (
	OpsSeries       = "ops"    // commands a second
	MemorySeries    = "memory" // bytes: of the data, and of the process
	ProcessorSeries = "cpu"    // processor time in percent of one core
	HeldSeries      = "held"   // locks and permits that are held
	// LocksSeries is about all locks. It begins with grants and releases a second. Then come, in
	// milliseconds, the median and the 99th percentile of waits that ended, and the age of the oldest wait.
	// The others are the number of waits, timeouts, refusals and deadlock cycles a second, and losses a
	// second by reason, in the order of lockclass.LossNames.
	LocksSeries = "locks"
)

// ClassSeries is the name of the series as LocksSeries of a class of locks.
func ClassSeries(class string) string { return "class:" + class }

// hotShown is the number of hot locks on the overview.
const hotShown = 10

// overviewPage is the server over the last hour.
type overviewPage struct {
	Class           string // the class that is shown; empty: all locks
	Classes         []classView
	Held, Waiting   int64
	P99MS, OldestMS float64 // of waits since the start, and of the oldest wait now
	Hot             []hotLock
	HotTotal        float64 // milliseconds of waiting for all locks
	NoHot           string
	MayServer       bool // the user may see memory and processor time
}

// classView is a class of locks since the start.
type classView struct {
	Name                                 string
	Grants, Waiting, Timeouts, Deadlocks int64
	Lost                                 int64
	WaitP50, WaitP99, HoldP50, HoldP99   float64 // milliseconds
	OldestMS                             float64 // of the waits now
}

// hotLock is a lock with much waiting.
type hotLock struct {
	Key      string
	DB       int
	MS       float64 // for which owners waited
	Now      *lockView
	Readable bool // the user may see its page
}

// Series is the name of the series of locks that the page shows.
func (p *overviewPage) Series() string {
	if p.Class == "" {
		return LocksSeries
	}
	return ClassSeries(p.Class)
}

// chart is a chart of a page. Kind says in console.js which values of the series it draws, and how.
type chart struct{ ID, Title, Series, Kind string }

// Charts are the charts of the page, in the order of reading.
func (p *overviewPage) Charts() []chart {
	locks := p.Series()
	list := []chart{
		{"grants", "Grants and releases a second", locks, "grants"}, {"waits", "How long waits take", locks, "waits"}, {"waiting", "Waiting", locks, "waiting"},
		{"refused", "Not granted, a second", locks, "refused"}, {"lost", "Lost, a second", locks, "lost"}, {"held", "Held, all locks and permits", HeldSeries, "held"},
	}
	if p.MayServer {
		list = append(list, chart{"ops", "Commands a second", OpsSeries, "ops"}, chart{"memory", "Memory", MemorySeries, "memory"},
			chart{"cpu", "Processor time", ProcessorSeries, "cpu"})
	}
	return list
}

// ClassLink is the address of the page for a class; empty: all locks.
func (p *overviewPage) ClassLink(class string) string {
	if class == "" {
		return "/overview"
	}
	return "/overview?" + url.Values{"class": {class}}.Encode()
}

// loadOverview loads the first page.
func loadOverview(who *viewer, r *http.Request) (any, error) {
	v, err := who.conn.Do("LOCK.STATS")
	if err != nil {
		return nil, err
	}
	f := call.FieldsOf(v)
	p := &overviewPage{Class: r.URL.Query().Get("class"), Held: f.Int("held"), Waiting: f.Int("waiting"), P99MS: f.Number("wait-p99"),
		MayServer: who.may("INFO")}
	if point := who.past.Latest(LocksSeries); point != nil {
		p.OldestMS = point[5]
	}
	classes := call.FieldsOf(f["classes"])
	for name, v := range classes {
		of := call.FieldsOf(v)
		view := classView{Name: name, Grants: of.Int("grants"), Waiting: of.Int("waiting"), Timeouts: of.Int("timeouts"), Deadlocks: of.Int("deadlocks"),
			WaitP50: of.Number("wait-p50"), WaitP99: of.Number("wait-p99"), HoldP50: of.Number("hold-p50"), HoldP99: of.Number("hold-p99")}
		for _, n := range call.FieldsOf(of["lost"]) {
			view.Lost += n.Int
		}
		if point := who.past.Latest(ClassSeries(name)); point != nil {
			view.OldestMS = point[5]
		}
		p.Classes = append(p.Classes, view)
	}
	slices.SortFunc(p.Classes, func(a, b classView) int { return cmp.Or(cmp.Compare(b.Grants, a.Grants), cmp.Compare(a.Name, b.Name)) })
	if _, known := classes[p.Class]; !known || len(classes) < 2 {
		p.Class = ""
	}
	return p, p.readHot(who)
}

// readHot reads the locks with the most waiting, as far as the user may read them, and their holders now.
func (p *overviewPage) readHot(who *viewer) error {
	if !who.may("LOCK.HOT") {
		p.NoHot = "The ACL does not let " + who.name + " run LOCK.HOT."
		return nil
	}
	v, err := who.conn.Do("LOCK.HOT", "BY", "wait", "COUNT", strconv.Itoa(hotShown))
	if err != nil {
		return err
	}
	f := call.FieldsOf(v)
	p.HotTotal = f.Number("total")
	var commands [][]string
	for _, e := range f.List("keys") {
		of := call.FieldsOf(e)
		hot := hotLock{Key: of.Text("key"), DB: int(of.Int("db")), MS: (of.Number("least") + of.Number("most")) / 2}
		hot.Readable = who.may("LOCK.INFO", hot.Key) && who.may("SELECT", "0")
		p.Hot = append(p.Hot, hot)
		commands = append(commands, []string{"SELECT", strconv.Itoa(hot.DB)}, []string{"LOCK.INFO", hot.Key, "COUNT", "1"})
	}
	if len(commands) == 0 {
		return nil
	}
	replies, err := who.conn.All(commands...)
	if err != nil {
		return err
	}
	nowMS := who.backend.NowMS()
	for i := range p.Hot {
		if of := replies[2*i+1]; of.Kind == resp.Map && !replies[2*i].IsError() {
			view := newLockView(p.Hot[i].Key, p.Hot[i].DB, call.FieldsOf(of), nowMS)
			p.Hot[i].Now = &view
		}
	}
	return nil
}

// overviewPoints returns the latest point of each chart that the user may see.
func overviewPoints(who *viewer, body any) map[string][]float64 {
	p := body.(*overviewPage)
	names := []string{HeldSeries, p.Series()}
	if p.MayServer {
		names = append(names, OpsSeries, MemorySeries, ProcessorSeries)
	}
	points := make(map[string][]float64)
	for _, name := range names {
		if point := who.past.Latest(name); point != nil {
			points[name] = point
		}
	}
	return points
}
