package console

import (
	"net/http"
	"time"
)

// view is a page: the function that loads it, and the template that shows it.
type view struct {
	path, title, template string
	needs                 []string // the command that a user must be allowed to run to see the page
	eachDB                bool     // the page shows one database
	every                 time.Duration
	load                  func(who *viewer, r *http.Request) (any, error)
	// points returns the values for its charts each time; nil: it has no charts.
	points func(who *viewer, body any) map[string][]float64
}

// isFor reports whether a user may see the page.
func (v *view) isFor(who *viewer) bool { return who.backend.Runs(who.name, v.needs...) }

// views are the pages.
func views() []view {
	return []view{
		{path: "/overview", title: "Overview", template: "overview.html", needs: []string{"LOCK.STATS"}, every: time.Second, load: loadOverview, points: overviewPoints},
		{path: "/locks", title: "Locks", template: "locks.html", needs: []string{"LOCK.LIST"}, eachDB: true, every: 2 * time.Second, load: loadLocks},
		{path: "/graph", title: "Wait graph", template: "graph.html", needs: []string{"LOCK.WAITERS"}, eachDB: true, every: time.Second, load: loadGraph},
		{path: "/lock", title: "Lock", template: "lock.html", needs: []string{"LOCK.LIST"}, every: time.Second, load: loadLock},
		{path: "/sales", title: "Sales", template: "sales.html", needs: []string{"SECKILL.LIST", "0"}, eachDB: true, every: time.Second, load: loadSales, points: salePoints},
		{path: "/delayed", title: "Delayed", template: "delayed.html", needs: []string{"DELAY.LIST", ""}, every: time.Second, load: loadDelayed},
		{path: "/limiters", title: "Limiters", template: "limiters.html", needs: []string{"LOCK.HOT"}, every: time.Second, load: loadLimiters, points: limitersPoints},
		{path: "/members", title: "Members", template: "members.html", needs: []string{"INFO"}, every: time.Second, load: loadMembers},
		{path: "/server", title: "Server", template: "server.html", needs: []string{"INFO"}, every: time.Second, load: loadServer, points: serverPoints},
	}
}

// link is an entry of the navigation.
type link struct {
	Path, Name string
	Here       bool
}
