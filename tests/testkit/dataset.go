package testkit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// Place is a key of one database.
type Place struct {
	DB  int
	Key string
}

// Entry is the value of a key.
type Entry struct {
	Type string
	// Value is the whole value as a text that does not depend on the server's internal order.
	Value string
	// DeadlineMS is when the key expires, in milliseconds since 1970; -1 means never.
	DeadlineMS int64
}

// Dataset holds all keys of a server.
type Dataset map[Place]Entry

// ReadDataset reads all databases. Afterwards the connection has another database, and its old protocol
// version. No client may write meanwhile.
func ReadDataset(c *Client) Dataset {
	c.t.Helper()
	databases, err := strconv.Atoi(c.Do("CONFIG", "GET", "databases").Elems[1].Str)
	require.NoError(c.t, err)
	var listing [][]string
	for db := range databases {
		listing = append(listing, []string{"SELECT", strconv.Itoa(db)}, []string{"KEYS", "*"})
	}
	data := Dataset{}
	for i, keys := range c.Pipeline(listing) {
		if i%2 == 0 || len(keys.Elems) == 0 {
			require.False(c.t, keys.IsError(), "%s", keys)
			continue
		}
		c.Do("SELECT", strconv.Itoa(i/2))
		c.readDB(data, i/2, keys.Elems)
	}
	return data
}

func (c *Client) readDB(data Dataset, db int, keys []resp.Value) {
	c.t.Helper()
	var ask [][]string
	for _, k := range keys {
		ask = append(ask, []string{"TYPE", k.Str}, []string{"PEXPIRETIME", k.Str})
	}
	facts := c.Pipeline(ask)
	for i, k := range keys {
		typ, deadline := facts[2*i].Str, facts[2*i+1].Int
		if typ == "none" {
			continue // the key has expired meanwhile
		}
		require.NotContains(c.t, data, Place{db, k.Str}, "KEYS lists a key twice")
		data[Place{db, k.Str}] = Entry{typ, c.readValue(typ, k.Str), deadline}
	}
}

// readValue reads a value as a text.
func (c *Client) readValue(typ, key string) string {
	c.t.Helper()
	switch typ {
	case "string":
		return c.Do("GET", key).String()
	case "hash":
		v := c.Do("HGETALL", key)
		return texts(Normalise([]string{"HGETALL"}, v).Elems)
	case "set":
		v := c.Do("SMEMBERS", key)
		return texts(Normalise([]string{"SMEMBERS"}, v).Elems)
	case "list":
		return texts(c.Do("LRANGE", key, "0", "-1").Elems)
	case "zset":
		return texts(c.sameScores(c.Do("ZRANGE", key, "0", "-1", "WITHSCORES").Elems))
	case "stream":
		return c.readStream(key)
	case "MBbloom--":
		return c.Do("DUMP", key).String()
	}
	require.Failf(c.t, "unknown type", "%q is a %s", key, typ)
	return ""
}

// noProducers is the text of Redis 8.6 for a stream that never had a producer; other versions leave it out.
const noProducers = "idmp-duration=100 idmp-maxsize=100 pids-tracked=0 iids-tracked=0 iids-added=0 "

// readStream reads the entries of a stream and its other state, including the groups.
func (c *Client) readStream(key string) string {
	c.t.Helper()
	var b, producers strings.Builder
	info := c.Do("XINFO", "STREAM", key)
	require.False(c.t, info.IsError(), "XINFO STREAM %q: %s", key, info)
	brief := false // the state of producers expires soon
	for i := 0; i+1 < len(info.Elems); i += 2 {
		switch name := info.Elems[i].Str; name {
		case "length", "last-generated-id", "entries-added", "max-deleted-entry-id", "groups", "recorded-first-entry-id":
			fmt.Fprintf(&b, "%s=%s ", name, info.Elems[i+1])
		case "idmp-duration", "idmp-maxsize", "iids-added": // the memory of duplicates is not data
			fmt.Fprintf(&producers, "%s=%s ", name, info.Elems[i+1])
			brief = brief || name == "idmp-duration" && info.Elems[i+1].Int < 60
		case "pids-tracked", "iids-tracked":
			if !brief { // these fields do not change during the read
				fmt.Fprintf(&producers, "%s=%s ", name, info.Elems[i+1])
			}
		}
	}
	if producers.String() != noProducers {
		b.WriteString(producers.String())
	}
	b.WriteString(texts(c.Do("XRANGE", key, "-", "+").Elems))
	for _, group := range c.Do("XINFO", "GROUPS", key).Elems {
		b.WriteString(" " + texts(group.Elems) + ":")
		for _, p := range c.Do("XPENDING", key, group.Elems[1].Str, "-", "+", "1000000").Elems {
			fmt.Fprintf(&b, " %s %s %s", p.Elems[0], p.Elems[1], p.Elems[3]) // without the idle time
		}
	}
	return b.String()
}

// texts formats values without the types of the lists around them, because these types differ between the
// versions of the protocol.
func texts(elems []resp.Value) string { return resp.Value{Kind: resp.Array, Elems: elems}.String() }

// sameScores gives scores the same digits for all versions of Redis: 7.0 writes 17 digits. Version 3 of the
// protocol has pairs, which are not changed.
func (c *Client) sameScores(elems []resp.Value) []resp.Value {
	c.t.Helper()
	for i := 1; i < len(elems) && elems[i].Kind == resp.Bulk; i += 2 {
		score, err := strconv.ParseFloat(elems[i].Str, 64)
		require.NoError(c.t, err)
		elems[i].Str = strconv.FormatFloat(score, 'g', -1, 64)
	}
	return elems
}

// Diff lists the differences of two datasets, one on each line; deadlines may differ by toleranceMS.
func (d Dataset) Diff(other Dataset, toleranceMS int64) []string {
	places := slices.Collect(maps.Keys(d))
	for p := range other {
		if _, ok := d[p]; !ok {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.DB, b.DB), cmp.Compare(a.Key, b.Key))
	})
	var lines []string
	for _, p := range places {
		a, inA := d[p]
		b, inB := other[p]
		switch {
		case !inB:
			lines = append(lines, fmt.Sprintf("db %d key %q: %s | missing", p.DB, p.Key, a))
		case !inA:
			lines = append(lines, fmt.Sprintf("db %d key %q: missing | %s", p.DB, p.Key, b))
		case a.Type != b.Type || a.Value != b.Value || !sameDeadline(a.DeadlineMS, b.DeadlineMS, toleranceMS):
			alike := commonPrefix(a.Value, b.Value)
			lines = append(lines, fmt.Sprintf("db %d key %q: %s | %s", p.DB, p.Key, a.from(alike), b.from(alike)))
		}
	}
	return lines
}

// String returns the entry on one line, shortened if it is long.
func (e Entry) String() string { return e.from(0) }

// from returns the same, beginning shortly before a position in the value.
func (e Entry) from(at int) string {
	const before, longest = 100, 2000
	val := e.Value
	if at > 2*before {
		val = "..." + val[at-before:]
	}
	if len(val) > longest {
		val = val[:longest] + "..."
	}
	return fmt.Sprintf("%s %s dies %d", e.Type, val, e.DeadlineMS)
}

// commonPrefix returns the length of the common beginning of two texts.
func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func sameDeadline(a, b, toleranceMS int64) bool {
	if a < 0 || b < 0 {
		return a == b
	}
	d := a - b
	return -toleranceMS <= d && d <= toleranceMS
}
