package commands

import (
	"math"

	"lockserver/internal/decimal"
	"lockserver/internal/keyevent"
)

// An id has 64 bits: a sign of 0, 31 bits with the seconds since 2022-01-01 UTC, and 32 bits of a counter
// that restarts each day. The counter is the string icr:<name>:<yyyy:MM:dd>. So the count of a day can be
// read, and an application that calls INCR on this key shares it.
const (
	idPrefix      = "icr:"
	idDay         = ":2006:01:02" // a layout for time.Format
	idEpochS      = 1_640_995_200 // 2022-01-01 UTC
	idCounterBits = 32
	maxIDCounter  = math.MaxUint32
	maxIDSeconds  = math.MaxInt32
	// maxIDCount is the largest number of ids that a call may ask for.
	maxIDCount = 100_000
)

// nextID replies new ids. Two ids of a name differ because no count of a day is used twice. They rise because
// the second does not go back while the server runs, and the count does not go back during the day of that
// second.
func nextID(c *Ctx) error {
	a := c.Args()
	name, count, many := a.Bytes(), int64(1), false
	if a.More() && a.Option() == "COUNT" {
		count, many = a.IntRange(1, maxIDCount), true
	}
	if a.More() {
		a.Syntax()
	}
	if err := a.Err(); err != nil {
		return err
	}
	nowS := c.NowMS() / 1000
	if nowS < idEpochS || nowS-idEpochS > maxIDSeconds {
		return ErrIDClock
	}
	second := c.Host.RisingSecond(nowS)
	var buf [64]byte
	key := idKey(buf[:0], name, second)
	text, exists, err := c.findString(key)
	if err != nil {
		return err
	}
	last, ok := int64(0), true
	if exists {
		last, ok = decimal.ParseInt(text)
	}
	switch {
	case !ok || last < 0:
		return ErrIDCounter
	case last > maxIDCounter-count:
		return ErrIDsGone
	}
	c.DB.EditString(key).SetInt(last + count)
	c.Notify(keyevent.String, "incrby", key)
	high := (second - idEpochS) << idCounterBits
	if many {
		c.Out.Array(int(count))
	}
	for i := range count {
		c.Out.Int(high | (last + 1 + i))
	}
	return nil
}
