package audit

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Attempts of clients: logins that succeed or fail, and commands that ACL refuses. A client can make millions
// of each, so similar attempts share two lines: the first is written at once, and another at the end of a
// period counts the others. A period is a second, and a minute for failed logins, because clients without a
// password can cause those, and must not push other lines out of the file.

const (
	// mostAlike limits the different attempts of a period that have lines of their own. The others share a
	// line.
	mostAlike = 500
	// mostNames limits the tried names of one address in a period that are written.
	mostNames = 10
	// failuresSeconds is the period of failed logins.
	failuresSeconds = 60
)

// alike holds the properties that attempts with a common line share. A client chooses none of them freely.
// from is the address of a failed login.
type alike struct{ event, user, command, reason, from string }

// counted holds the attempts of a period that are alike.
type counted struct {
	alike
	more   int      // number of attempts after the first, which has its line
	last   Client   // the client of the last one
	detail []any    // of the last attempt
	names  []string // tried names of failed logins; at most mostNames
	write  written  // writes to the server's log; nil: not written there
}

// written is a function that writes a line about attempts to the server's log.
type written func(c *Client, attrs []any)

// attempts holds the attempts of a period. The zero value is ready.
type attempts struct {
	period int64
	of     []counted
	at     map[alike]int // index in of
	rest   int           // beyond mostAlike
}

// Refusal is a command that ACL has refused.
type Refusal struct {
	// Command is the command's full name, Reason the missing right: to a command, key, channel or database.
	// Context is where the command came from, as in ACL LOG.
	Command, Reason, Context string
	// Object is the key, channel or database; nil: the command itself.
	Object []byte
}

// Refused logs that ACL refused a command of the client.
func (l *Log) Refused(c Client, r Refusal) {
	detail := []any{"command", r.Command, "reason", r.Reason, "context", r.Context}
	if r.Object != nil {
		detail = append(detail, "object", cutText(r.Object))
	}
	l.attempt(alike{event: "refused", user: c.User, command: r.Command, reason: r.Reason}, c, detail, l.serverRefused)
}

func (l *Log) serverRefused(c *Client, attrs []any) {
	if suppressed, ok := l.refusals.Allow(l.now(), mostLoginLines); ok {
		l.Server.Info("a command was refused: its user lacks the right", append(attrs, c.attrs(suppressed)...)...)
	}
}

// Login logs that the client has become its user. by is the way: "password" or "certificate".
func (l *Log) Login(c Client, by string) {
	l.attempt(alike{event: "login", user: c.User, reason: by}, c, []any{"by", by}, l.serverLogin)
}

// serverLogin writes a line at verbose, because programs log in all the time.
func (l *Log) serverLogin(c *Client, attrs []any) {
	if !l.Server.Enabled(context.Background(), LevelVerbose) {
		return
	}
	if suppressed, ok := l.entries.Allow(l.now(), mostLoginLines); ok {
		l.Server.Log(context.Background(), LevelVerbose, "a client has logged in", append(attrs, c.attrs(suppressed)...)...)
	}
}

// attempt writes a line, or counts the attempt for the line at the end of the period.
func (l *Log) attempt(kind alike, c Client, detail []any, write written) {
	l.startPeriod(&l.attempts, 1)
	if of := l.attempts.add(kind, c, detail); of != nil {
		of.write = write
		l.toOperators(kind.event, &c, c.User, detail...)
		write(&c, detail)
	}
}

// FailedLogin logs that a client could not log in with a name.
func (l *Log) FailedLogin(c Client, name []byte) {
	c.User = cutText(name)
	l.startPeriod(&l.failures, failuresSeconds)
	kind := alike{event: "failed-login", from: network(c.Addr)}
	if l.failures.add(kind, c, nil) != nil {
		l.toOperators(kind.event, &c, c.User)
	}
	l.failures.named(kind, c.User)
	if suppressed, ok := l.logins.Allow(l.now(), mostLoginLines); ok {
		l.Server.Info("a client could not log in: wrong name or password, or the user is off", c.attrs(suppressed)...)
	}
}

// network returns the part of a client's address that it cannot choose freely: all of IPv4, half of IPv6.
func network(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	ip, err := netip.ParseAddr(host)
	if ip = ip.Unmap(); err != nil || !ip.Is6() {
		return host
	}
	prefix, _ := ip.WithZone("").Prefix(64)
	return prefix.String()
}

// add counts an attempt. It returns the attempt if it is the first of its kind in the period.
func (a *attempts) add(kind alike, c Client, detail []any) (first *counted) {
	if i, ok := a.at[kind]; ok {
		of := &a.of[i]
		of.more++
		of.last, of.detail = c, detail
		return nil
	}
	if len(a.of) >= mostAlike {
		a.rest++
		return nil
	}
	if a.at == nil {
		a.at = make(map[alike]int)
	}
	a.at[kind] = len(a.of)
	a.of = append(a.of, counted{alike: kind})
	return &a.of[len(a.of)-1]
}

// named adds a tried name.
func (a *attempts) named(kind alike, name string) {
	i, ok := a.at[kind]
	if !ok {
		return
	}
	if of := &a.of[i]; len(of.names) < mostNames && !slices.Contains(of.names, name) {
		of.names = append(of.names, name)
	}
}

// now returns the time by which lines are counted.
func (l *Log) now() time.Time {
	if l.Now != nil {
		return l.Now()
	}
	return time.Now()
}

// startPeriod ends the previous period, if the time is in the next period.
func (l *Log) startPeriod(a *attempts, seconds int64) {
	if period := l.now().Unix() / seconds; period != a.period {
		l.count(a)
		a.period = period
	}
}

// CountAttempts writes the lines that count the attempts of a finished period. The server calls it once a
// second.
func (l *Log) CountAttempts() {
	l.count(&l.attempts)
	l.startPeriod(&l.failures, failuresSeconds)
}

// Close writes the lines that count the attempts up to now.
func (l *Log) Close() {
	l.count(&l.attempts)
	l.count(&l.failures)
}

// count writes the lines that count attempts, and resets the counts.
func (l *Log) count(a *attempts) {
	for i := range a.of {
		of := &a.of[i]
		if of.more == 0 {
			continue
		}
		detail := append(of.detail, "more", of.more)
		if of.names != nil {
			detail = append(detail, "names", of.names)
		}
		l.toOperators(of.event, &of.last, of.last.User, detail...)
		if of.write != nil {
			of.write(&of.last, detail)
		}
	}
	if a.rest > 0 && l.Operators != nil {
		l.Operators.Info("attempts", slog.Int("more", a.rest))
	}
	clear(a.of)
	clear(a.at)
	a.of, a.rest = a.of[:0], 0
}
