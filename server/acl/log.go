package acl

import "lockserver/server/info"

// Context says where a refused command came from.
type Context uint8

// The contexts. "module" does not occur, because there are no modules.
const (
	TopLevel Context = iota
	InMulti
	InScript
)

var contextNames = [...]string{TopLevel: "toplevel", InMulti: "multi", InScript: "lua"}

var reasonNames = [...]string{DeniedCommand: "command", DeniedKey: "key", DeniedAuth: "auth", DeniedChannel: "channel", DeniedDatabase: "database"}

// String returns the name of the context in ACL LOG.
func (c Context) String() string { return contextNames[c] }

// String returns the name of the reason in ACL LOG.
func (r Reason) String() string { return reasonNames[r] }

// logEntry is a refusal, which may have occurred several times within a minute.
type logEntry struct {
	reason  Reason
	context Context
	// object is the command, key or channel, or the name of the command that logs in.
	object, user string
	client       string // CLIENT INFO of the last client
	count        int64
	id           int64
	madeMS       int64
	lastMS       int64
}

const (
	groupMS   = 60_000 // refusals that are alike within this time share an entry
	groupScan = 10     // and are looked for among this many of the last entries
)

// Log holds refusals. Denied counts them by reason, including dropped entries.
type Log struct {
	Denied  [DeniedChannel + 1]int64
	most    int64      // limit of entries
	entries []logEntry // the last one at the end
	nextID  int64
}

// add records a refusal. client is only called if the entry is kept.
func (l *Log) add(e logEntry, nowMS int64, client func() string) {
	l.Denied[e.reason]++
	if l.most == 0 {
		l.entries = nil
		return
	}
	e.lastMS = nowMS
	at := l.alike(&e)
	if at >= 0 {
		e = l.entries[at]
		l.entries = append(l.entries[:at], l.entries[at+1:]...)
	} else {
		e.id, e.madeMS = l.nextID, nowMS
		l.nextID++
	}
	e.count++
	e.lastMS, e.client = nowMS, client()
	l.entries = append(l.entries, e)
	if at < 0 {
		l.trim()
	}
}

// alike returns the index of an entry that a new refusal belongs to, or -1.
func (l *Log) alike(e *logEntry) int {
	for i := len(l.entries) - 1; i >= max(0, len(l.entries)-groupScan); i-- {
		o := &l.entries[i]
		if o.reason == e.reason && o.context == e.context && o.object == e.object && o.user == e.user &&
			max(e.lastMS-o.lastMS, o.lastMS-e.lastMS) <= groupMS {
			return i
		}
	}
	return -1
}

// trim drops the oldest entries above the limit.
func (l *Log) trim() {
	if over := int64(len(l.entries)) - l.most; over > 0 {
		kept := copy(l.entries, l.entries[over:])
		clear(l.entries[kept:])
		l.entries = l.entries[:kept]
	}
}

// Info writes the counts of INFO.
func (l *Log) Info(t *info.Text) {
	for _, reason := range []struct {
		name string
		of   Reason
	}{{"auth", DeniedAuth}, {"cmd", DeniedCommand}, {"key", DeniedKey}, {"channel", DeniedChannel}, {"db", DeniedDatabase}} {
		t.Line("acl_access_denied_"+reason.name, l.Denied[reason.of])
	}
}
