package crash

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"lockserver/persistence/aof"
	"lockserver/persistence/rdb"
	"lockserver/store"
)

// state is the data that the tests of the log use: strings by database and key. The key "log" of database 0
// lists the numbers of all units that made the state.
type state map[place]string

type place struct {
	db  int
	key string
}

// journalKey is where each unit records its number.
var journalKey = place{0, "log"}

// run executes a command on the selected database.
func (s state) run(db *int, args [][]byte) error {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = string(a)
	}
	n := len(words)
	switch {
	case n == 2 && words[0] == "SELECT":
		to, err := strconv.Atoi(words[1])
		*db = to
		return err
	case n == 3 && words[0] == "SET":
		s[place{*db, words[1]}] = words[2]
	case n == 3 && words[0] == "APPEND":
		s[place{*db, words[1]}] += words[2]
	case n == 2 && words[0] == "DEL":
		delete(s, place{*db, words[1]})
	default:
		return fmt.Errorf("not a command of the workload: %.100q", words)
	}
	return nil
}

// units returns how many units made the state. It is an error if their numbers have a gap.
func (s state) units() (int, error) {
	numbers := strings.Split(strings.TrimSuffix(s[journalKey], ","), ",")
	if s[journalKey] == "" {
		numbers = nil
	}
	for i, n := range numbers {
		if n != strconv.Itoa(i) {
			return 0, fmt.Errorf("unit %s where unit %d should be", n, i)
		}
	}
	return len(numbers), nil
}

func (s state) digest() uint64 {
	h, text := fnv.New64a(), []byte(nil)
	for _, p := range slices.SortedFunc(maps.Keys(s), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.db, b.db), strings.Compare(a.key, b.key))
	}) {
		text = binary.AppendUvarint(text[:0], uint64(p.db))
		for _, word := range []string{p.key, s[p]} { // with its length, so that different states have different texts
			text = append(binary.AppendUvarint(text, uint64(len(word))), word...)
		}
		_, _ = h.Write(text)
	}
	return h.Sum64()
}

// save writes the state as a base: a snapshot, or commands.
func (s state) save(w io.Writer, asRDB bool) error {
	if !asRDB {
		for p, v := range s {
			if _, err := fmt.Fprintf(w, "*2\r\n$6\r\nSELECT\r\n$1\r\n%d\r\n*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n",
				p.db, len(p.key), p.key, len(v), v); err != nil {
				return err
			}
		}
		return nil
	}
	out := rdb.NewWriter(w, rdb.WriterOptions{})
	for p, v := range s {
		out.SelectDB(p.db)
		out.Key([]byte(p.key), 0)
		out.String([]byte(v))
	}
	return out.Close()
}

// loader loads a log into a state.
type loader struct {
	state state
	db    int
}

// Begin implements aof.Input.
func (l *loader) Begin(string) error {
	l.db = 0
	return nil
}

// Command implements aof.Input.
func (l *loader) Command(args [][]byte) error { return l.state.run(&l.db, args) }

// Snapshot implements aof.Input.
func (l *loader) Snapshot(r io.Reader) (int64, error) {
	in := rdb.NewReader(r, rdb.ReaderOptions{})
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			return in.Offset(), nil
		}
		if err != nil {
			return 0, err
		}
		l.state[place{e.DB, string(e.Key)}] = string(e.Bytes)
	}
}

var _ aof.Input = (*loader)(nil)

// history records the units in their order.
type history struct {
	chance  *rand.Rand
	now     state
	db      int      // the database of most changes: a new file must select it again
	digests []uint64 // by the number of units so far
}

func newHistory(chance *rand.Rand) *history {
	h := &history{chance: chance, now: state{}}
	h.digests = []uint64{h.now.digest()}
	return h
}

// unit performs one unit and returns its effects: it records its number and changes up to three keys.
func (h *history) unit() []store.Effect {
	var unit []store.Effect
	add := func(db int, words ...string) {
		e := store.Effect{DB: db}
		for _, w := range words {
			e.Args = append(e.Args, []byte(w))
		}
		unit = append(unit, e)
	}
	add(0, "APPEND", journalKey.key, strconv.Itoa(len(h.digests)-1)+",")
	for range h.chance.IntN(4) {
		if h.chance.IntN(4) == 0 {
			h.db = h.chance.IntN(3)
		}
		key := fmt.Sprint("key", h.chance.IntN(6))
		if h.chance.IntN(4) == 0 {
			add(h.db, "DEL", key)
		} else {
			add(h.db, "SET", key, h.value())
		}
	}
	h.chance.Shuffle(len(unit), func(i, j int) { unit[i], unit[j] = unit[j], unit[i] })
	for _, e := range unit {
		if err := h.now.run(&e.DB, e.Args); err != nil {
			panic(err)
		}
	}
	h.digests = append(h.digests, h.now.digest())
	return unit
}

// value returns a value that is usually short, and sometimes longer than a page.
func (h *history) value() string {
	n := h.chance.IntN(30)
	if h.chance.IntN(12) == 0 {
		n = h.chance.IntN(12_000)
	}
	return strings.Repeat(string(rune('a'+h.chance.IntN(26))), n)
}

// check returns an error unless a recovered state is that of at least atLeast units.
func (h *history) check(got state, atLeast int) error {
	n, err := got.units()
	switch {
	case err != nil:
		return err
	case n < atLeast:
		return fmt.Errorf("%d units were acknowledged, %d are left", atLeast, n)
	case n >= len(h.digests):
		return fmt.Errorf("%d units are there, %d were done", n, len(h.digests)-1)
	case got.digest() != h.digests[n]:
		return fmt.Errorf("the data is not what the first %d units made", n)
	}
	return nil
}
