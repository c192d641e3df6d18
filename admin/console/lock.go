package console

import (
	"net/http"
	"net/url"
	"strconv"

	"lockserver/internal/call"
)

// lockDetail is the page of one lock.
type lockDetail struct {
	Key      string
	DB       int
	Lock     *lockView // nil: the lock is free
	Why      []whyStep
	Timeline *timeline // nil: the server stores no events, or the user may not see them
	MayForce bool
	MayAsk   bool
	Problem  string
	Done     bool   // this page has just released the lock
	Asked    string // this page has just asked the holders: the number of clients that got the message
}

func lockLink(db int, key string) string { return "/lock?" + lockQuery(db, key) }

func lockQuery(db int, key string) string {
	return url.Values{"db": {strconv.Itoa(db)}, "key": {key}}.Encode()
}

// ReleaseLink returns the address of the form. The lock is named in the address, which can contain any bytes;
// a field of a form cannot.
func (d *lockDetail) ReleaseLink() string { return "/lock/release?" + lockQuery(d.DB, d.Key) }

// AskLink returns the address of the form that asks the holders.
func (d *lockDetail) AskLink() string { return "/lock/ask?" + lockQuery(d.DB, d.Key) }

// loadLock is the page of a lock.
func loadLock(who *viewer, r *http.Request) (any, error) {
	q := r.URL.Query()
	d := &lockDetail{Key: q.Get("key"), DB: database(r), Done: q.Get("released") == "1", Asked: q.Get("asked"), Problem: releaseProblems(q.Get("problem"))}
	if !who.may("LOCK.INFO", d.Key) { // not the same as a free lock
		return nil, call.Error("The ACL does not let " + who.name + " read this key.")
	}
	locks, err := readLocks(who, d.DB, []string{d.Key}, waitersOfLock)
	if err != nil {
		return nil, err
	}
	if len(locks) > 0 {
		d.Lock = &locks[0]
		if d.Why, err = explain(who, d.Lock); err != nil {
			return nil, err
		}
	}
	if who.may("LOCK.HISTORY") {
		if d.Timeline, err = readTimeline(who, d.DB, d.Key, windowOf(q), d.Lock); err != nil {
			return nil, err
		}
	}
	d.MayForce = who.may("LOCK.FORCE", d.Key) && who.may("GUARD", d.Key, "1", "LOCK.FORCE", d.Key)
	d.MayAsk = who.may("LOCK.ASK", d.Key)
	return d, nil
}

// releaseProblems returns why a lock was not released, by the word in the address.
func releaseProblems(word string) string {
	switch word {
	case "name":
		return "What you typed is not the name of this lock. Nothing was released."
	case "changed":
		return "Another owner holds the lock by now. Nothing was released: look again."
	case "unsure":
		return "Nothing was sent: the box was not checked."
	case "unasked":
		return "The server refused to ask the holders."
	case "refused":
		return "The server refused to release the lock."
	}
	return ""
}
