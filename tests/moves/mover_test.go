//go:build raft && linux

package moves

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockserver/internal/keyslot"
	"lockserver/internal/resp"
)

// move is a move of slots, as CLUSTER GETSLOTMIGRATIONS of the source tells of it.
type move struct {
	name, state, message string
	number               int // of the moves away from its shard
	from                 int // the shard
	frozenMS             int64
	took                 time.Duration
}

// over reports whether a state is an end.
func over(state string) bool {
	return state == "success" || state == "failed" || state == "cancelled" || state == "canceled"
}

// mover moves slots to and fro.
type mover struct {
	*cluster
	random *rand.Rand
	places []place
	asked  atomic.Int64 // requests for a move
	// changes gets the states of moves as they change, if a reader waits for them.
	changes chan string

	mu    sync.Mutex
	moves []move
	// numbers has the number of the last move away from each shard that was followed to its end.
	numbers map[int]int
	texts   map[string]int // errors of requests, by text
}

func newMover(c *cluster, seed uint64, places []place) *mover {
	return &mover{cluster: c, random: rand.New(rand.NewPCG(seed, 1<<32)), places: places, changes: make(chan string),
		texts: map[string]int{}, numbers: map[int]int{}}
}

// run moves slots away from each shard until stop is closed, and waits for the end of the last moves.
func (m *mover) run(stop <-chan struct{}) {
	var all sync.WaitGroup
	for from := range m.groups {
		random := rand.New(rand.NewPCG(m.random.Uint64(), uint64(from)))
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(random.IntN(300)) * time.Millisecond):
					m.once(from, random)
				}
			}
		})
	}
	all.Wait()
}

// once moves the slots around a slot of a place away from a shard, if the shard has it, and perhaps cancels
// the move.
func (m *mover) once(from int, random *rand.Rand) {
	slot := m.places[random.IntN(len(m.places))].slot
	below, above, cancel := random.IntN(64), random.IntN(64), random.IntN(8) == 0
	to := (from + 1 + random.IntN(len(m.groups)-1)) % len(m.groups)
	place := m.leader(from)
	if place < 0 {
		return
	}
	of, ok := m.owned(place)
	if !ok || !of[slot] {
		return
	}
	first, last := slot, slot
	for ; first > max(0, slot-below) && of[first-1]; first-- {
	}
	for ; last < min(keyslot.Count-1, slot+above) && of[last+1]; last++ {
	}
	after := time.Duration(-1)
	if cancel {
		after = time.Duration(random.IntN(200)) * time.Millisecond
	}
	m.begin(from, to, place, first, last, after)
}

// begin begins a move, and follows it to its end. It cancels the move after a time that is not negative.
func (m *mover) begin(from, to, source, first, last int, cancel time.Duration) (moved move) {
	target := m.leader(to)
	if target < 0 {
		return moved
	}
	shard := ask(m.at(target).Addr(), "CLUSTER", "MYSHARDID").Str
	m.asked.Add(1)
	begun := time.Now()
	v := ask(m.at(source).Addr(), "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last), "NODE", shard)
	if v.Kind != 0 && v.Str != "OK" && !strings.Contains(v.Str, "is not over yet") && !strings.Contains(v.Str, "already migrating") {
		m.refused(v.String())
		return moved
	}
	return m.follow(from, begun, cancel)
}

// forgotten is the state of a move that the leader of its source does not list. Members do not keep the moves
// that are over in their data.
const forgotten = "forgotten"

// follow follows the newest move away from a shard to its end.
func (m *mover) follow(from int, begun time.Time, cancel time.Duration) (moved move) {
	state := ""
	var missing time.Time // since when the move is not listed; zero: it is listed, or no member leads
	for ; ; time.Sleep(2 * time.Millisecond) {
		newest, is := m.newest(from)
		switch {
		case is == unlisted && missing.IsZero():
			missing = time.Now()
		case is == unlisted && time.Since(missing) > 5*time.Second:
			newest.state = forgotten
		case is != unlisted:
			missing = time.Time{}
		}
		if over(newest.state) || newest.state == forgotten {
			newest.took = time.Since(begun)
			m.mu.Lock()
			m.moves = append(m.moves, newest)
			m.numbers[from] = max(m.numbers[from], newest.number)
			m.mu.Unlock()
			return newest
		}
		if newest.state != state {
			state = newest.state
			select {
			case m.changes <- state:
			default:
			}
		}
		if cancel >= 0 && time.Since(begun) > cancel {
			cancel = -1
			if place := m.leader(from); place >= 0 {
				ask(m.at(place).Addr(), "CLUSTER", "CANCELSLOTMIGRATIONS")
			}
		}
		if time.Since(begun) > patience {
			m.refused(fmt.Sprintf("a move from s%d is not over after %v: %+v", from+1, patience, newest))
			return newest
		}
	}
}

// refused counts a text.
func (m *mover) refused(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.texts[text]++
}

// last returns the number of the last move away from a shard that was followed to its end.
func (m *mover) last(from int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.numbers[from]
}

// These say how the leader of a shard knows the newest move.
const (
	listed = iota
	unlisted
	noLeader
)

// newest returns the newest move away from a shard that has not been followed to its end.
func (m *mover) newest(from int) (found move, is int) {
	place := m.leader(from)
	if place < 0 {
		return found, noLeader
	}
	v := ask(m.at(place).Addr(), "CLUSTER", "GETSLOTMIGRATIONS")
	if v.Kind != resp.Array {
		return found, noLeader
	}
	for _, e := range v.Elems {
		f := fields(e)
		_, text, _ := strings.Cut(f["name"], "/")
		number, _ := strconv.Atoi(text)
		if f["operation"] != "EXPORT" || number <= m.last(from) {
			continue
		}
		frozen, _ := strconv.ParseInt(f["frozen_ms"], 10, 64)
		return move{name: f["name"], number: number, state: f["state"], message: f["message"], from: from, frozenMS: frozen}, listed
	}
	return found, unlisted
}

// fields are the names and values of a map.
func fields(v resp.Value) map[string]string {
	all := map[string]string{}
	for i := 0; i+1 < len(v.Elems); i += 2 {
		text := v.Elems[i+1].Str
		if v.Elems[i+1].Kind == resp.Integer {
			text = strconv.FormatInt(v.Elems[i+1].Int, 10)
		}
		all[v.Elems[i].Str] = text
	}
	return all
}

// awaitNone waits until no member tells of a move that is not over.
func (m *mover) awaitNone(t *testing.T) {
	t.Helper()
	for place := range m.running {
		var last string
		eventually(t, fmt.Sprintf("all moves are over at the member %d", place), func() bool {
			v := ask(m.at(place).Addr(), "CLUSTER", "GETSLOTMIGRATIONS")
			for _, e := range v.Elems {
				if f := fields(e); !over(f["state"]) {
					if last != v.String() {
						last = v.String()
						t.Logf("member %d: %s", place, last)
					}
					return false
				}
			}
			return v.Kind != 0
		})
	}
}

// states counts the moves by their state.
func (m *mover) states() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]int{}
	for _, v := range m.moves {
		all[v.state]++
	}
	return all
}

// frozen returns how long the slots of each move were frozen.
func (m *mover) frozen() (all times) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range m.moves {
		all = append(all, time.Duration(v.frozenMS)*time.Millisecond)
	}
	return all
}

// long returns the moves that were frozen for longer than a slot may be.
func (m *mover) long() (all []move) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range m.moves {
		if v.frozenMS > frozenAtMost.Milliseconds() {
			all = append(all, v)
		}
	}
	return all
}
