package commands

import (
	"math"
	"strconv"

	"lockserver/internal/keyevent"
	"lockserver/internal/recur"
	"lockserver/store"
	"lockserver/store/stream"
	"lockserver/store/zset"
)

// maxDueMS bounds the time at which an entry is due: up to this value the score of a sorted set is exact.
const maxDueMS = 1 << 50

// delayCall is one call of DELAY.ADD.
type delayCall struct {
	stream, id []byte     // id nil: an id is to be generated
	dueMS      int64      // -1: the rule says it
	rule       *delayRule // nil: the entry does not recur
	fields     [][]byte
	once       delayRequest
}

// readDue reads PX or AT, and returns the time in milliseconds since 1970. A relative time ends up to a
// millisecond late, never early.
func readDue(c *Ctx, a *Scanner) (dueMS int64) { return readDueOf(c, a, a.Option()) }

// readDueOf is readDue behind the word PX or AT.
func readDueOf(c *Ctx, a *Scanner, word string) (dueMS int64) {
	n := a.IntOr(ErrDelayTime)
	if word == "PX" {
		if n <= maxDueMS {
			n += c.CeilNowMS()
		}
		if n < c.CeilNowMS() {
			n = -1
		}
	} else if word != "AT" {
		a.Syntax()
	}
	if n < 0 || n > maxDueMS {
		a.Fail(ErrDelayTime)
	}
	return n
}

func (d *delayCall) read(c *Ctx, a *Scanner) error {
	d.stream = a.Key()
	d.readWhen(c, a)
	if a.IsNext("ID") {
		if d.id = a.Bytes(); len(d.id) == 0 {
			a.Fail(ErrDelayID)
		}
		d.once = delayRequest{stream: d.stream, entry: d.id, letter: 'a'}
		d.once.readOnce(a)
	}
	d.fields = a.Rest()
	if len(d.fields) == 0 || len(d.fields)%2 != 0 {
		a.Arity()
	}
	const overhead = 32  // of stored bytes for each, at most
	size := 2 * overhead // of dueField
	for _, f := range d.fields {
		size += len(f) + overhead
	}
	if size > stream.MaxEntryBytes {
		a.Fail(ErrStreamEntry)
	}
	return a.Err()
}

// readWhen reads a time, a rule, or both.
func (d *delayCall) readWhen(c *Ctx, a *Scanner) {
	d.dueMS = -1
	word := a.Peek()
	if len(word) == len("PX") {
		d.dueMS = readDue(c, a)
	}
	if word = a.Peek(); len(word) == len("EVERY") || len(word) == len("CRON") {
		var rule delayRule
		if rule.readRule(a) {
			d.rule = &rule
			return
		}
	}
	if d.dueMS < 0 {
		a.Syntax()
	}
}

// begin computes the first time of an entry with a rule.
func (d *delayCall) begin(c *Ctx) (err error) {
	if d.rule != nil {
		d.dueMS, err = d.rule.begin(c, d.dueMS)
	}
	return err
}

// delayAdd stores an entry until it is due.
func delayAdd(c *Ctx) error {
	var d delayCall
	if err := d.read(c, c.Args()); err != nil {
		return err
	}
	if _, err := c.streamToWrite(d.stream); err != nil {
		return err
	}
	if err := d.begin(c); err != nil {
		return err
	}
	if again, err := d.once.done(c); err != nil || again {
		c.Out.Bulk(d.id)
		return err
	}
	setKey, hashKey := delayKey(c, d.stream), entriesKey(c, d.stream)
	set, isSet := c.DB.OpenZSet(setKey)
	entries, isHash := c.DB.OpenHash(hashKey)
	if !isSet || !isHash {
		return ErrWrongType
	}
	pending := delays{set.ZSet(), entries.Hash()}
	if d.id == nil {
		d.id = pending.newID(c)
	} else if _, ok := pending.find(d.id); ok {
		c.Out.Null()
		return nil
	}
	var rule []byte
	if d.rule != nil {
		rule = d.rule.appendRule(nil)
	}
	place, err := nextPlace(pending.set, d.dueMS)
	if err != nil {
		return err
	}
	// plant:delay-add
	buf := appendMember(c.entry[:0], place, d.id)
	size := len(buf)
	buf = appendEntry(buf, place, rule, d.fields)
	c.keepEntry(buf)
	set.Set(buf[:size], float64(d.dueMS))
	if pending.set == nil {
		entries = c.DB.EditHash(hashKey) // a new key may have moved others
	}
	entries.Set(d.id, buf[size:])
	c.Notify(keyevent.Generic, "delay.add", d.stream)
	c.Notify(keyevent.ZSet, "zadd", setKey)
	c.Notify(keyevent.Hash, "hset", hashKey)
	d.once.keep(c)
	c.Out.Bulk(d.id)
	return nil
}

// newID returns an id that no entry of the stream has.
func (d *delays) newID(c *Ctx) []byte {
	for {
		id := strconv.AppendUint(c.Scratch(), c.Rand.Uint64()|1<<63, 16)
		if d.entries == nil || !d.entries.Has(id) {
			return id
		}
	}
}

// delayCancel removes an entry that is pending.
func delayCancel(c *Ctx) error {
	a := c.Args()
	stream, id := a.Key(), a.Bytes()
	once := delayRequest{stream: stream, entry: id, letter: 'c'}
	once.readOnce(a)
	if a.More() {
		a.Syntax()
	}
	if err := a.Err(); err != nil {
		return err
	}
	if again, err := once.done(c); err != nil || again {
		c.Out.Int(1)
		return err
	}
	t, ok, err := findTicket(c, stream, id, c.DB.FindToWrite)
	if err != nil || !ok {
		c.Out.Int(0)
		return err
	}
	setKey, hashKey := delayKey(c, stream), entriesKey(c, stream)
	set := c.DB.EditZSet(setKey)
	set.Remove(appendMember(nil, t.place, id))
	entries := c.DB.EditHash(hashKey)
	entries.Delete(id)
	c.Notify(keyevent.Generic, "delay.cancel", stream)
	c.NotifyTaken(keyevent.ZSet, "zrem", setKey, set.ZSet() == nil)
	c.NotifyTaken(keyevent.Hash, "hdel", hashKey, entries.Hash() == nil)
	once.keep(c)
	c.Out.Int(1)
	return nil
}

// findTicket is delays.find for a stream: it calls findDelays first.
func findTicket(c *Ctx, stream, id []byte, find func(key []byte) store.Ref) (t ticket, ok bool, err error) {
	d, err := findDelays(c, stream, find)
	if err != nil {
		return t, false, err
	}
	t, ok = d.find(id)
	return t, ok, nil
}

// delayMove makes an entry due at another time. It becomes the last of the entries that are due at that time.
func delayMove(c *Ctx) error {
	a := c.Args()
	stream, id := a.Key(), a.Bytes()
	dueMS := readDue(c, a)
	once := delayRequest{stream: stream, entry: id, letter: 'm'}
	once.readOnce(a)
	if a.More() {
		a.Syntax()
	}
	if err := a.Err(); err != nil {
		return err
	}
	if again, err := once.done(c); err != nil || again {
		c.Out.Int(1)
		return err
	}
	d, err := findDelays(c, stream, c.DB.FindToWrite)
	if err != nil {
		return err
	}
	t, ok := d.find(id)
	if !ok {
		c.Out.Int(0)
		return nil
	}
	place, err := nextPlace(d.set, dueMS)
	if err != nil {
		return err
	}
	value := appendEntry(nil, place, t.rule, t.fields) // before the keys change
	setKey, hashKey := delayKey(c, stream), entriesKey(c, stream)
	set := c.DB.EditZSet(setKey)
	// plant:delay-move
	set.Set(appendMember(nil, place, id), float64(dueMS))
	if place != t.place {
		set.Remove(appendMember(nil, t.place, id))
		entries := c.DB.EditHash(hashKey)
		entries.Update(id, value)
		c.Notify(keyevent.Hash, "hset", hashKey)
	}
	c.Notify(keyevent.Generic, "delay.move", stream)
	c.Notify(keyevent.ZSet, "zadd", setKey)
	once.keep(c)
	c.Out.Int(1)
	return nil
}

// delayGet replies with the time and the fields of an entry.
func delayGet(c *Ctx) error {
	a := c.Args()
	stream, id := a.Key(), a.Bytes()
	if err := a.Err(); err != nil {
		return err
	}
	t, ok, err := findTicket(c, stream, id, c.DB.Peek)
	if err != nil {
		return err
	}
	if !ok {
		c.Out.NullArray()
		return nil
	}
	t.write(c, nil)
	return nil
}

// write writes an array: the id, unless that is nil, when the entry is due, its fields, and its rule if it
// recurs.
func (t *ticket) write(c *Ctx, id []byte) {
	var rule [][]byte
	if t.rule != nil {
		if r, ok := parseRule(t.rule); ok {
			rule = r.words()
		}
	}
	n := 2
	if id != nil {
		n++
	}
	if rule != nil {
		n++
	}
	c.Out.Array(n)
	if id != nil {
		c.Out.Bulk(id)
	}
	c.Out.Int(t.dueMS)
	writeBulks(c, t.fields)
	if rule != nil {
		writeBulks(c, rule)
	}
}

// writeBulks writes an array of words.
func writeBulks(c *Ctx, words [][]byte) {
	c.Out.Array(len(words))
	for _, w := range words {
		c.Out.Bulk(w)
	}
}

// mostListed is how many entries DELAY.LIST replies with if it has no COUNT.
const mostListed = 100

// delayList lists entries in the order in which they are due.
func delayList(c *Ctx) error {
	a := c.Args()
	stream := a.Key()
	fromMS, count := int64(0), int64(mostListed)
	for a.More() {
		switch a.Option() {
		case "FROM":
			if fromMS = a.IntOr(ErrDelayTime); fromMS < 0 {
				a.Fail(ErrDelayTime)
			}
		case "COUNT":
			if count = a.IntOr(ErrNotPositive); count < 1 {
				a.Fail(ErrNotPositive)
			}
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	d, err := findDelays(c, stream, c.DB.Peek)
	if err != nil {
		return err
	}
	list, n := c.Out.DeferArray(), 0
	if z := d.set; z != nil {
		from, _ := z.ByScore(zset.ScoreRange{Min: float64(fromMS), Max: math.Inf(1)})
		z.Range(from, z.Len(), func(member []byte, _ float64) bool {
			if t, id, ok := d.entryOf(member); ok {
				t.write(c, id)
				n++
			}
			return int64(n) < count
		})
	}
	c.Out.SetArray(list, n)
	return nil
}

// delayCount replies with the number of entries that are pending.
func delayCount(c *Ctx) error {
	d, err := findDelays(c, c.Args().Key(), c.DB.Peek)
	if err != nil {
		return err
	}
	c.Out.Int(int64(d.pending()))
	return nil
}

// atMost returns the number of fields or the number of members, whichever is less. A client may have added
// some by hand.
func (d *delays) atMost() int {
	if d.set == nil || d.entries == nil {
		return 0
	}
	return min(d.set.Len(), d.entries.Len())
}

// pending returns the number of entries. A member that a client has added by hand does not count, nor does a
// field without a member, or with a value of another form. If there may be more than mostListed entries,
// pending returns atMost.
func (d *delays) pending() (n int) {
	if most := d.atMost(); most == 0 || most > mostListed {
		return most
	}
	d.set.Range(0, d.set.Len(), func(member []byte, _ float64) bool {
		if _, _, ok := d.entryOf(member); ok {
			n++
		}
		return true
	})
	return n
}

// entryOf returns the entry of a member of the set, and its id; false if the member has no entry.
func (d *delays) entryOf(member []byte) (t ticket, id []byte, ok bool) {
	place, id, ok := parseMember(member)
	if !ok {
		return t, nil, false
	}
	t, ok = d.find(id)
	return t, id, ok && place == t.place
}

// Delayed returns the number of streams of a database with pending entries, and the number of these entries.
func Delayed(db *store.DB) (streams int, entries int64) {
	db.Keys().EachAlarmSet(store.DelayAlarm, func(key string) {
		if s, ok := FindDelayed(db, key); ok {
			streams++
			entries += s.Pending
		}
	})
	return streams, entries
}

// DelayedStream is a stream with pending entries.
type DelayedStream struct {
	Key     string
	Pending int64
	NextMS  int64 // when the next entry is due, in milliseconds since 1970
}

// FindDelayed returns the stream of a list of delayed entries; key is the name of the list.
func FindDelayed(db *store.DB, key string) (s DelayedStream, ok bool) {
	set, hash := db.Peek([]byte(key)), db.Peek([]byte(key+store.EntriesSuffix))
	stream, ok := store.DelayedStream([]byte(key))
	if !ok || set.Kind() != store.ZSet || hash.Kind() != store.Hash {
		return s, false
	}
	_, score := set.ZSet().At(0, nil)
	return DelayedStream{string(stream), int64((&delays{set.ZSet(), hash.Hash()}).atMost()), store.DueMS(score)}, true
}

// DelayedTimes returns the next n times at which a recurring entry is due; nil if the entry does not recur.
func DelayedTimes(db *store.DB, stream, id []byte, n int) (times []int64) {
	key := append(append([]byte(store.DelayedPrefix), stream...), store.DelayedSuffix...)
	set, hash := db.Peek(key), db.Peek(append(key, store.EntriesSuffix...))
	if set.Kind() != store.ZSet || hash.Kind() != store.Hash {
		return nil
	}
	t, ok := (&delays{set.ZSet(), hash.Hash()}).find(id)
	if !ok || t.rule == nil {
		return nil
	}
	r, ok := parseRule(t.rule)
	if !ok || r.compile(&recur.Zones{}) != nil {
		return nil
	}
	for at := t.dueMS; ok && len(times) < n && (r.times == 0 || int64(len(times)) < r.times); {
		times = append(times, at)
		at, ok = r.after(max(at, r.atMS))
	}
	return times
}
