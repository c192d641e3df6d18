package console

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"lockserver/internal/call"
	"lockserver/internal/resp"
)

// The sizes of a page of locks, and of one search.
const (
	locksAPage    = 50
	searchPiece   = 1000 // locks that the server looks at in one go, which takes less than a millisecond
	searchPieces  = 25
	waitersARow   = 3
	waitersOfLock = 100
	// waitersSeen is how many waiters are read for the locks with the longest queues. contendedShown is how
	// many of these locks are added to the first page.
	waitersSeen    = 1000
	contendedShown = 20
)

// lockView is one lock.
type lockView struct {
	Key, Owner string
	DB         int
	Shard      int // 0: the server has no shards
	Client     clientView
	Holds      int64
	Limit      int64 // permits of a semaphore; 0: it is a lock
	Token      int64
	Latch      bool  // it is a latch, without an owner: Holds is its count
	Shared     bool  // it has the holders of a semaphore or of a shared lock, each with a token
	EndsMS     int64 // when the lease ends; 0: never
	SinceMS    int64
	Watchdog   bool
	Class      string // empty: no classes are defined
	Trace      string // the trace of the owner's call; empty: it named none
	Waiting    int64
	Waiters    []waiterView
	Holding    int64 // the number of holders; Holders are the first of them
	Holders    []holderView
}

// holderView is a holder of a lock, or of permits.
type holderView struct {
	Owner    string
	Client   clientView
	Holds    int64
	Token    int64
	EndsMS   int64 // 0: never
	SinceMS  int64 // 0: not known
	Watchdog bool
	Shared   bool
}

// clientView is the client that acquired a lock, or waits.
type clientView struct {
	ID            int64
	Name, Address string
}

// waiterView is a waiter in a queue.
type waiterView struct {
	Place               int
	Owner               string
	Client              clientView
	SinceMS, DeadlineMS int64
	Permits             int64 // of a semaphore; 0: it waits for a lock
	Notify              bool  // it waits without a blocked connection
	Priority            int64 // 0: the usual one
}

// Shown is the name of the waiter in a list: its owner, or its client if it waits for a latch.
func (w *waiterView) Shown() string { return cmp.Or(w.Owner, w.Client.Name, w.Client.Address) }

// lockPage is the list of locks.
type lockPage struct {
	DB        int
	Databases databaseNav
	Query     string
	By        string // key or owner: where Query is searched
	Locks     []lockView
	Next      string // the cursor of the next page; empty: there is no next page
	First     bool
	Looked    int   // locks that were looked at
	Held      int64 // holders of locks and permits in the database; 0: none, or the user may not know
	Deadlock  []cycleView
}

// cycleView is a deadlock cycle that was refused.
type cycleView struct {
	AtMS   int64
	Client clientView
	Links  []cycleLink
}

// cycleLink is an owner of a cycle, and the lock that it waits for.
type cycleLink struct{ Owner, Lock string }

// PageLink is the address of the page that begins at a cursor.
func (p *lockPage) PageLink(cursor string) string {
	q := url.Values{"db": {strconv.Itoa(p.DB)}}
	if p.Query != "" {
		q.Set("q", p.Query)
		q.Set("by", p.By)
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	return "/locks?" + q.Encode()
}

// loadLocks loads the page of locks: the latest locks, and on the first page also the locks with the longest
// queues. Locks with more waiters come first.
func loadLocks(who *viewer, r *http.Request) (any, error) {
	q := r.URL.Query()
	p := &lockPage{DB: database(r), Query: strings.TrimSpace(q.Get("q")), By: q.Get("by"), First: q.Get("cursor") == ""}
	if p.By != "owner" {
		p.By = "key"
	}
	keys, err := p.search(who.conn, q.Get("cursor"))
	if err == nil && p.First && p.Query == "" && who.may("LOCK.WAITERS") {
		keys, err = addContended(who.conn, p.DB, keys)
	}
	if err != nil {
		return nil, err
	}
	if p.Locks, err = readLocks(who, p.DB, keys, waitersARow); err != nil {
		return nil, err
	}
	slices.SortStableFunc(p.Locks, func(a, b lockView) int { return cmp.Compare(b.Waiting, a.Waiting) })
	if who.may("LOCK.STATS") {
		if v, err := who.conn.Do("LOCK.STATS"); err == nil {
			of := call.FieldsOf(call.FieldsOf(v)["databases"])
			p.Held = call.FieldsOf(of[strconv.Itoa(p.DB)]).Int("held")
		}
	}
	p.Databases = databases(who, "/locks", p.DB)
	if who.may("LOCK.DEADLOCKS") {
		p.Deadlock, err = readCycles(who.conn, 5)
	}
	return p, err
}

// addContended adds the locks with the longest queues, as seen in the queues of the clients that have waited
// longest.
func addContended(c *call.Conn, db int, keys []string) ([]string, error) {
	replies, err := c.All([]string{"SELECT", strconv.Itoa(db)}, []string{"LOCK.WAITERS", "COUNT", strconv.Itoa(waitersSeen)})
	if err == nil {
		err = call.Failure(replies...)
	}
	if err != nil {
		return nil, err
	}
	waiting := make(map[string]int)
	for _, w := range replies[1].Elems {
		for _, pair := range call.FieldsOf(w)["locks"].Elems {
			waiting[pair.Elems[0].Str]++
		}
	}
	most := slices.SortedFunc(maps.Keys(waiting), func(a, b string) int {
		return cmp.Or(cmp.Compare(waiting[b], waiting[a]), strings.Compare(a, b))
	})
	for _, key := range most[:min(len(most), contendedShown)] {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// search returns the keys of the locks to show. A lock with exactly the name in Query comes first.
func (p *lockPage) search(c *call.Conn, cursor string) (keys []string, err error) {
	words := []string{"COUNT", strconv.Itoa(locksAPage)}
	pieces := 1
	if p.Query != "" {
		words = []string{"COUNT", strconv.Itoa(searchPiece)}
		pieces = searchPieces
		if p.By == "owner" {
			words = append(words, "OWNER", p.Query)
		} else {
			words = append(words, "MATCH", pattern(p.Query))
			keys = append(keys, p.Query)
		}
	}
	if cursor == "" {
		cursor = "0"
	}
	for piece := 0; piece < pieces && len(keys) < locksAPage; piece++ {
		replies, err := c.All([]string{"SELECT", strconv.Itoa(p.DB)}, append([]string{"LOCK.LIST", "CURSOR", cursor}, words...))
		if err == nil {
			err = call.Failure(replies...)
		}
		if err != nil {
			return nil, err
		}
		cursor = replies[1].Elems[0].Str
		for _, lock := range replies[1].Elems[1].Elems {
			if key := call.FieldsOf(lock).Text("key"); (p.Query == "" || p.By == "owner" || key != p.Query) &&
				(len(keys) == 0 || keys[len(keys)-1] != key) { // a shared lock is listed once for each holder
				keys = append(keys, key)
			}
		}
		if p.Looked += searchPiece; cursor == "0" {
			return keys, nil
		}
	}
	p.Next = cursor
	return keys, nil
}

// pattern returns a pattern that finds the query anywhere in a name, unless the query is a pattern itself.
func pattern(query string) string {
	if strings.ContainsAny(query, "*?[") {
		return query
	}
	return "*" + strings.ReplaceAll(query, `\`, `\\`) + "*"
}

// readLocks reads locks. It leaves out locks that are gone, and locks that the user may not read.
func readLocks(who *viewer, db int, keys []string, waiters int) (locks []lockView, err error) {
	commands := [][]string{{"SELECT", strconv.Itoa(db)}}
	for _, key := range keys {
		commands = append(commands, []string{"LOCK.INFO", key, "COUNT", strconv.Itoa(waiters)})
	}
	replies, err := who.conn.All(commands...)
	if err != nil {
		return nil, err
	}
	if err := call.Failure(replies[0]); err != nil {
		return nil, err
	}
	nowMS := who.backend.NowMS()
	for i, v := range replies[1:] {
		if v.Kind == resp.Map {
			l := newLockView(keys[i], db, call.FieldsOf(v), nowMS)
			l.Shard = who.conn.ShardOf(l.Key)
			locks = append(locks, l)
		}
	}
	return locks, nil
}

func newLockView(key string, db int, f call.Fields, nowMS int64) lockView {
	l := lockView{Key: key, DB: db, Owner: f.Text("owner"), Client: newClientView(f["client"]), Holds: f.Int("holds"), Limit: f.Int("limit"), Token: f.Int("token"),
		EndsMS: endOf(f, nowMS), SinceMS: f.Int("held-since"), Watchdog: f.Flag("watchdog"), Waiting: f.Int("waiting"), Trace: traceOf(f), Class: f.Text("class")}
	var sharers []string
	for _, h := range f["holders"].Elems {
		of := newHolderView(call.FieldsOf(h), nowMS)
		sharers = append(sharers, of.Owner)
		l.Holds += of.Holds
		l.Holders = append(l.Holders, of)
		if l.SinceMS == 0 || of.SinceMS > 0 && of.SinceMS < l.SinceMS {
			l.SinceMS = of.SinceMS // of the longest of them
		}
	}
	l.Holding = max(f.Int("holding"), int64(len(sharers)))
	switch {
	case f.Text("mode") == "latch":
		l.Latch, l.Holds = true, f.Int("count")
	case len(sharers) > 0:
		l.Owner, l.Shared = named(sharers, int(l.Holding)), true
		if l.Limit > 0 { // also those of holders that are not listed
			l.Holds = max(0, l.Limit-f.Int("available"))
		}
	default:
		l.Holders, l.Holding = []holderView{newHolderView(f, nowMS)}, 1
	}
	for i, w := range f["waiters"].Elems {
		f := call.FieldsOf(w)
		l.Waiters = append(l.Waiters, waiterView{Place: i + 1, Owner: f.Text("owner"), Client: newClientView(f["client"]),
			SinceMS: f.Int("waiting-since"), DeadlineMS: f.Int("deadline"), Permits: f.Int("permits"), Notify: f.Flag("notify"), Priority: f.Int("priority")})
	}
	return l
}

func newHolderView(f call.Fields, nowMS int64) holderView {
	return holderView{Owner: f.Text("owner"), Client: newClientView(f["client"]), Holds: f.Int("holds"), Token: f.Int("token"), EndsMS: endOf(f, nowMS),
		SinceMS: f.Int("held-since"), Watchdog: f.Flag("watchdog"), Shared: f.Text("mode") == "shared"}
}

// endOf returns when the lease of a lock or of a holder ends; 0: never.
func endOf(f call.Fields, nowMS int64) int64 {
	ttl := f.Int("ttl")
	if ttl < 0 {
		return 0
	}
	// Rounded to a twentieth of a second: otherwise the delays of each request would look like changes.
	return (nowMS + ttl + 25) / 50 * 50
}

// traceOf returns the trace id in a traceparent, by which viewers find the trace.
func traceOf(f call.Fields) string {
	if parts := strings.Split(f.Text("trace"), "-"); len(parts) == 4 {
		return parts[1]
	}
	return ""
}

// named returns the name of the first shared holder, and the number of the other holders.
func named(owners []string, all int) string {
	const most = 3
	first := owners[:min(len(owners), most)]
	text := strings.Join(first, ", ")
	if rest := max(all, len(owners)) - len(first); rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

func newClientView(v resp.Value) clientView {
	f := call.FieldsOf(v)
	return clientView{ID: f.Int("id"), Name: f.Text("name"), Address: f.Text("address")}
}

// readCycles reads the latest deadlock cycles that were refused.
func readCycles(c *call.Conn, most int) (cycles []cycleView, err error) {
	v, err := c.Do("LOCK.DEADLOCKS", "COUNT", strconv.Itoa(most))
	if err != nil {
		return nil, err
	}
	for _, e := range v.Elems {
		f := call.FieldsOf(e)
		view := cycleView{AtMS: f.Int("time"), Client: newClientView(f["client"])}
		words := f["cycle"].Elems
		for i := 0; i < len(words); i += 2 {
			l := cycleLink{Owner: words[i].Str}
			if i+1 < len(words) {
				l.Lock = words[i+1].Str
			}
			view.Links = append(view.Links, l)
		}
		cycles = append(cycles, view)
	}
	return cycles, nil
}
