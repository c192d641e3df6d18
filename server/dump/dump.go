// Package dump has DUMP and RESTORE, which carry a single value as a payload, and MIGRATE, which makes
// another server restore it.
//
// It owns these commands, the keys that MIGRATE has sent, and its connections. Package persistence owns the
// format of a payload, and the store what happens to a key. All that it may know of the server is Transfer:
// how payloads are made and read, and how a client waits for a MIGRATE.
//
// To add an option: a word in the row of RESTORE, and a field of restoreCall; for MIGRATE a field of
// migration.
package dump

import (
	"errors"
	"fmt"
	"math"

	"lockserver/commands"
	"lockserver/internal/decimal"
	"lockserver/internal/keyevent"
	"lockserver/persistence"
	"lockserver/persistence/rdb"
	"lockserver/server/gate"
	"lockserver/store"
)

// Transfer is the server, as far as these commands need it.
type Transfer interface {
	// Compresses reports whether payloads are compressed (rdbcompression).
	Compresses() bool
	// TrustsChecksums reports whether a payload is accepted even with a wrong checksum.
	TrustsChecksums() bool
	// Warn logs a fault in a payload that was corrected.
	Warn(text string)
	// InCluster reports whether clients find the server as a member of a Redis Cluster.
	InCluster() bool
	// State returns the server's state for these commands.
	State() *State
	// InGroup reports whether the server is a member of a raft group. Data may be replaced there.
	InGroup() bool
	// Copied returns the gate for the copies on other servers. Due returns its position that must be safe
	// before the client's present data may be sent; 0: no position.
	Copied() *gate.Gate
	Due(c *commands.Ctx) int64
	// Waiting returns the client of a command that has just begun to wait.
	Waiting(c *commands.Ctx) Client
	// Observe is called when State.Watches may have changed.
	Observe()
	// Background runs f in a goroutine of its own, and the end of the server waits for it. Ending is closed
	// when the server ends. Do runs f as a unit, outside of any command.
	Background(f func())
	Ending() <-chan struct{}
	Do(f func())
	// AfterPause delays f until writes are no longer held. It returns false if they are not held.
	AfterPause(f func()) bool
	// MayRemove reports whether a key may be removed: not on a replica, nor after a failure. Removed
	// publishes a removal.
	MayRemove() bool
	Removed(db *store.DB, key []byte)
}

// Rows returns the commands of this package. hostOf finds the server that runs a command.
func Rows(hostOf func(c *commands.Ctx) Transfer) []commands.Row {
	with := func(run func(c *commands.Ctx, host Transfer) error) func(*commands.Ctx) error {
		return func(c *commands.Ctx) error { return run(c, hostOf(c)) }
	}
	return []commands.Row{
		{Name: "dump", Group: commands.Generic, Since: "2.6.0", Flags: commands.ReadOnly, Run: with(dump),
			Summary:    "Returns a key's value as a payload for RESTORE.",
			Complexity: "O(N) for N elements",
			Tips:       []string{"nondeterministic_output"},
			Args:       []commands.Arg{commands.Key("key", commands.RO|commands.Access)}},
		restoreRow("restore", "2.6.0", "Makes a key out of a payload of DUMP.", with(restore)),
		asking(restoreRow("restore-asking", "3.0.0", "RESTORE, as a node of a Redis Cluster sends it when a key is migrated.", with(restore))),
		migrateRow(with(migrate)),
	}
}

// asking gives a row the facts of RESTORE-ASKING in Redis.
func asking(row commands.Row) commands.Row {
	row.Group, row.SysCmd, row.Flags, row.Cats = commands.Server, true, row.Flags|commands.Asking, row.Cats|commands.CatKeyspace
	return row
}

// restoreRow returns the row of RESTORE for one of its names.
func restoreRow(name, since, summary string, run func(*commands.Ctx) error) commands.Row {
	return commands.Row{Name: name, Group: commands.Generic, Since: since, Flags: commands.Write | commands.DenyOOM, Run: run,
		Cats:       commands.CatDangerous,
		Summary:    summary,
		Complexity: "O(N) for N elements, O(N*log(N)) for a sorted set",
		Args: []commands.Arg{commands.Key("key", commands.OW|commands.Update), commands.Int("ttl"), commands.Str("serialized-value"),
			commands.Opt(commands.Flag("REPLACE").From("3.0.0")),
			commands.Opt(commands.Flag("ABSTTL").From("5.0.0")),
			commands.Opt(commands.Int("seconds").After("IDLETIME").From("5.0.0")),
			commands.Opt(commands.Int("frequency").After("FREQ").From("5.0.0"))}}
}

func dump(c *commands.Ctx, host Transfer) error {
	r := c.DB.Find(c.Args().Key())
	if !r.OK() {
		c.Out.Null()
		return nil
	}
	c.Out.Bulk(persistence.Dump(nil, r, host.Compresses()))
	return nil
}

// restoreCall holds the parameters of RESTORE.
type restoreCall struct {
	key, ttl, payload []byte
	replace, absolute bool
	idleS             int64 // -1: not given
	freq              int64 // -1: not given
}

// read checks all options after the payload; the time to live is checked later, as in Redis. FREQ and
// IDLETIME exclude each other, and the second of them is the error.
func (r *restoreCall) read(a *commands.Scanner) {
	r.key, r.ttl, r.payload = a.Key(), a.Bytes(), a.Bytes()
	r.idleS, r.freq = -1, -1
	for a.More() {
		switch word := a.Option(); {
		case word == "REPLACE":
			r.replace = true
		case word == "ABSTTL":
			r.absolute = true
		case word == "IDLETIME" && a.Left() > 0 && r.freq < 0:
			if r.idleS = a.Int(); r.idleS < 0 {
				a.Fail(commands.ErrRestoreIdle)
			}
		case word == "FREQ" && a.Left() > 0 && r.idleS < 0:
			if r.freq = a.Int(); r.freq < 0 || r.freq > math.MaxUint8 {
				a.Fail(commands.ErrRestoreFreq)
			}
		default:
			a.Syntax()
		}
	}
}

// deadline returns when the key expires, in milliseconds since 1970; 0: never. As in Redis a deadline that is
// too late for the clock overflows into the past.
func (r *restoreCall) deadline(nowMS int64) (atMS int64, err error) {
	n, ok := decimal.ParseInt(r.ttl)
	switch {
	case !ok:
		return 0, commands.ErrNotInteger
	case n < 0:
		return 0, commands.ErrRestoreTTL
	case n == 0 || r.absolute:
		return n, nil
	case n > math.MaxInt64-nowMS:
		return 1, nil
	}
	return nowMS + n, nil
}

// idle returns the idle time of the value in seconds; -1: not given. As in Redis, the clock for it has 24
// bits and overflows, so long times cannot be kept.
func (r *restoreCall) idle(nowS int64) int64 {
	if r.idleS < 0 {
		return -1
	}
	const most = 1<<24 - 1
	now := nowS & most
	at := now - r.idleS*1000/1000 // this overflows, too
	if at < 0 {
		at += most
	}
	if at &= most; at > now {
		return now + most - at
	}
	return now - at
}

// restore decodes the payload to its end before it changes anything.
func restore(c *commands.Ctx, host Transfer) error {
	var r restoreCall
	a := c.Args()
	r.read(a)
	if err := a.Err(); err != nil {
		return err
	}
	if !r.replace && c.DB.FindToWrite(r.key).OK() {
		return commands.ErrBusyKey
	}
	atMS, err := r.deadline(c.NowMS())
	if err != nil {
		return err
	}
	if host.TrustsChecksums() {
		r.payload = rdb.Reseal(r.payload)
	}
	value, err := persistence.ReadPayloadWarn(c.DB.Store(), r.payload, func(text string) { host.Warn(fmt.Sprintf("RESTORE %.64q: %s", r.key, text)) })
	switch {
	case errors.Is(err, rdb.ErrPayloadFooter):
		return commands.ErrDumpPayload
	case err != nil:
		return commands.ErrDumpFormat
	}
	c.Out.OK()
	if value == nil || atMS != 0 && !c.DB.Store().Takes(atMS) && c.DB.Store().Past(atMS) { // it has expired already
		if r.replace && c.DB.Delete(r.key) {
			c.Notify(keyevent.Generic, "del", r.key)
		}
		return nil
	}
	c.DB.Restore(r.key, value, store.Restoring{AtMS: atMS, IdleS: r.idle(c.NowMS() / 1000), Freq: int(r.freq),
		Payload: func() []byte { return persistence.Dump(nil, value.Ref(), host.Compresses()) }})
	c.Notify(keyevent.Generic, "restore", r.key)
	return nil
}
