package console

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"lockserver/internal/call"
)

// databaseNav leads to the other databases of a page.
type databaseNav struct {
	Path  string
	Shown int
	All   []int // the databases with any keys, and the database that is shown; nil: the user may not know
}

// databaseView is a database on the page of the server.
type databaseView struct {
	ID                 int
	Keys, Timed        int64
	LocksKnown         bool // the following fields are known
	Held, Waiting      int64
	WaitP99MS          float64
	Expired, Deadlocks int64 // expired leases, refused deadlock cycles
}

// database returns the number of the database that a request is for.
func database(r *http.Request) int {
	db, err := strconv.Atoi(r.URL.Query().Get("db"))
	if err != nil || db < 0 {
		return 0
	}
	return db
}

// databases asks the server for the databases with keys.
func databases(who *viewer, path string, shown int) databaseNav {
	nav := databaseNav{Path: path, Shown: shown}
	if !who.may("INFO", "keyspace") {
		return nav
	}
	v, err := who.conn.Do("INFO", "keyspace")
	if err != nil {
		return nav
	}
	nav.All = []int{shown}
	for _, db := range keyspace(parseInfo(v.Str)) {
		if db.ID != shown {
			nav.All = append(nav.All, db.ID)
		}
	}
	slices.Sort(nav.All)
	return nav
}

// keyspace reads the section of INFO with the databases.
func keyspace(info map[string]string) (list []databaseView) {
	for name, value := range info {
		text, ok := strings.CutPrefix(name, "db")
		id, err := strconv.Atoi(text)
		if !ok || err != nil {
			continue
		}
		f := pairs(value)
		list = append(list, databaseView{ID: id, Keys: number(f["keys"]), Timed: number(f["expires"])})
	}
	slices.SortFunc(list, func(a, b databaseView) int { return a.ID - b.ID })
	return list
}

// pairs reads "a=1,b=2".
func pairs(text string) map[string]string {
	m := make(map[string]string)
	for pair := range strings.SplitSeq(text, ",") {
		if k, v, ok := strings.Cut(pair, "="); ok {
			m[k] = v
		}
	}
	return m
}

// readDatabases reads the databases with any keys, and their locks if the user may see these.
func (p *serverPage) readDatabases(who *viewer) {
	p.Databases, p.NoLocks = keyspace(p.Info), "LOCK.STATS is not for this user"
	if !who.may("LOCK.STATS") {
		return
	}
	v, err := who.conn.Do("LOCK.STATS")
	if err != nil {
		// The user has no right for a database, or another server leads.
		p.NoLocks = cmp.Or(notLeading(err.Error()).Title, p.NoLocks)
		return
	}
	of := call.FieldsOf(call.FieldsOf(v)["databases"])
	for name := range of { // an empty database also has figures of the past
		id := int(number(name))
		if !slices.ContainsFunc(p.Databases, func(d databaseView) bool { return d.ID == id }) {
			p.Databases = append(p.Databases, databaseView{ID: id})
		}
	}
	slices.SortFunc(p.Databases, func(a, b databaseView) int { return a.ID - b.ID })
	for i := range p.Databases {
		d := &p.Databases[i]
		f := call.FieldsOf(of[strconv.Itoa(d.ID)])
		d.LocksKnown, d.Held, d.Waiting, d.WaitP99MS = true, f.Int("held"), f.Int("waiting"), f.Number("wait-p99")
		d.Expired, d.Deadlocks = f.Int("expired"), f.Int("deadlocks")
	}
}
