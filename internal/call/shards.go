package call

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"lockserver/internal/keyslot"
	"lockserver/internal/resp"
)

// shards are the connections of Join.
type shards struct {
	of   []*Conn
	home func(slot int) int
}

// Join returns a connection to all shards of a cluster, which owns a connection to each; home is the place of
// a slot's shard among them. A command with a key goes to the shard of the key. A command that lists goes to
// all shards, and its reply has what all of them list. Other commands without a key go to the first.
func Join(of []*Conn, home func(slot int) int) *Conn {
	if len(of) == 1 {
		return of[0]
	}
	return &Conn{shards: &shards{of, home}}
}

// Parts are the connections to the shards, in the order of Join; c itself if it was not joined.
func (c *Conn) Parts() []*Conn {
	if c.shards == nil {
		return []*Conn{c}
	}
	return c.shards.of
}

// ShardOf is the number of a key's shard, counted from 1; 0 if c was not joined.
func (c *Conn) ShardOf(key string) int {
	if c.shards == nil {
		return 0
	}
	return c.shards.at(key) + 1
}

// at is the place of a key's shard.
func (s *shards) at(key string) int { return s.home(keyslot.Of([]byte(key))) }

// joining says how the replies of all shards to a command become one.
type joining func(words []string, replies []resp.Value) resp.Value

// listings are the commands that go to all shards. Commands that are neither here nor in keyless have their
// key behind their name.
var listings = map[string]joining{
	"select": anyReply, "hello": anyReply, "auth": anyReply, "client setname": anyReply, "client setinfo": anyReply,
	"lock.list": joinPieces, "seckill.list": joinPieces, "lock.stats": joinFigures, "lock.hot": joinHot, "info": joinInfo,
	"lock.waiters":   joinBy(field("waiting-since"), 1),
	"lock.deadlocks": joinBy(field("time"), -1),
	"slowlog get":    joinBy(func(v resp.Value) float64 { return float64(v.Elems[1].Int) }, -1),
	"client list": func(_ []string, replies []resp.Value) resp.Value {
		for _, v := range replies[1:] {
			replies[0].Str += strings.TrimPrefix(v.Str, "txt:")
		}
		return replies[0]
	},
}

// joiningOf returns the row of listings for a command, or nil.
func joiningOf(words []string) joining {
	name := strings.ToLower(words[0])
	if f := listings[name]; f != nil || len(words) < 2 {
		return f
	}
	return listings[name+" "+strings.ToLower(words[1])]
}

// anyReply is for commands with the same reply from each shard.
func anyReply(_ []string, replies []resp.Value) resp.Value { return replies[0] }

// keyless are commands that go to the first shard.
var keyless = []string{"acl", "client", "cluster", "command", "config", "ping", "raft", "slowlog"}

// errCursor answers a cursor that no reply has had.
var errCursor = resp.Value{Kind: resp.Error, Str: "ERR invalid cursor"}

// all does what Conn.All does.
func (s *shards) all(commands [][]string) ([]resp.Value, error) {
	replies := make([]resp.Value, len(commands))
	batches, places := make([][][]string, len(s.of)), make([][]int, len(s.of)) // by shard: commands, and their places
	add := func(shard, place int, words []string) {
		batches[shard], places[shard] = append(batches[shard], words), append(places[shard], place)
	}
	got := make(map[int][]resp.Value) // by place: the replies of all shards
	for i, words := range commands {
		if joiningOf(words) == nil {
			at := 0
			if len(words) > 1 && !slices.Contains(keyless, strings.ToLower(words[0])) {
				at = s.at(keyIn(words))
			}
			add(at, i, words)
			continue
		}
		pieces, ok := s.divide(words)
		if !ok {
			replies[i] = errCursor
			continue
		}
		got[i] = make([]resp.Value, len(s.of))
		for shard, words := range pieces {
			if words != nil {
				add(shard, i, words)
			}
		}
	}
	var mu sync.Mutex
	var failed error
	var asked sync.WaitGroup
	for shard, batch := range batches {
		if len(batch) == 0 {
			continue
		}
		asked.Go(func() {
			found, err := s.of[shard].All(batch...)
			mu.Lock()
			defer mu.Unlock()
			failed = cmp.Or(failed, err)
			for n, v := range found {
				if place := places[shard][n]; got[place] != nil {
					got[place][shard] = v
				} else {
					replies[place] = v
				}
			}
		})
	}
	asked.Wait()
	for place, of := range got {
		if i := slices.IndexFunc(of, resp.Value.IsError); i >= 0 {
			replies[place] = of[i]
		} else {
			replies[place] = joiningOf(commands[place])(commands[place], of)
		}
	}
	return replies, failed
}

// keyIn is the key of a command: the word behind KEY in LOCK.HISTORY, otherwise the word behind the name.
func keyIn(words []string) string {
	if i := option(words, "KEY"); strings.EqualFold(words[0], "LOCK.HISTORY") && i > 0 {
		return words[i]
	}
	return words[1]
}

// option is the place of the word behind an option's name; 0: the command does not have it.
func option(words []string, name string) int {
	for i := 1; i+1 < len(words); i++ {
		if strings.EqualFold(words[i], name) {
			return i + 1
		}
	}
	return 0
}

// ended is the cursor of a shard that has sent its whole list.
const ended = "-"

// divide returns the command for each shard; nil for a shard that has listed all. The cursor of a listing in
// pieces has that of each shard, with commas, and each piece is smaller by the number of shards.
func (s *shards) divide(words []string) (pieces [][]string, ok bool) {
	pieces = make([][]string, len(s.of))
	at := option(words, "CURSOR")
	if strings.EqualFold(words[0], "SECKILL.LIST") && len(words) > 1 {
		at = 1
	}
	if at == 0 {
		for i := range pieces {
			pieces[i] = words
		}
		return pieces, true
	}
	cursors := strings.Split(words[at], ",")
	if words[at] == "0" {
		cursors = slices.Repeat(cursors, len(s.of))
	}
	if len(cursors) != len(s.of) {
		return nil, false
	}
	for i, cursor := range cursors {
		if cursor == ended {
			continue
		}
		piece := slices.Clone(words)
		piece[at] = cursor
		if count := option(words, "COUNT"); count > 0 {
			n, _ := strconv.Atoi(words[count])
			piece[count] = strconv.Itoa((n + len(s.of) - 1) / len(s.of))
		}
		pieces[i] = piece
	}
	return pieces, true
}
