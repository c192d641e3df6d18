package server

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/server/wait"
	"lockserver/tests/testkit"
)

// renewedLock is a lock in renewalModel.
type renewedLock struct {
	owner   string
	holds   int64
	token   int64
	endMS   int64
	watched bool
}

// dueRenewal is the next renewal at a key: the lock that it was for, and the client that it lives with, -1
// if that has gone.
type dueRenewal struct {
	owner string
	token int64
	by    int
	atMS  int64
}

// lockPlace is a key of a database.
type lockPlace struct {
	db  int
	key string
}

// renewalModel is which locks the server renews, and when, by looking at all of them.
type renewalModel struct {
	nowMS, leaseMS int64
	locks          map[lockPlace]*renewedLock
	renewals       map[lockPlace]*dueRenewal
	attachedOwners map[int]map[string]bool // by client
}

func (m *renewalModel) everyMS() int64 { return m.leaseMS / 3 }

func (m *renewalModel) isAttached(owner string) bool {
	for _, owners := range m.attachedOwners {
		if owners[owner] {
			return true
		}
	}
	return false
}

// isFor reports whether what is to be renewed at a place still stands there.
func (m *renewalModel) isFor(at lockPlace) bool {
	r, l := m.renewals[at], m.locks[at]
	return r != nil && l != nil && l.owner == r.owner && l.token == r.token
}

// isRenewed reports whether the lock at a place will be renewed. A token that was changed by hand may have
// hidden the lock when the last client that kept it left. If the token is then changed back, what is to be
// renewed stands there again, but no client keeps it.
func (m *renewalModel) isRenewed(at lockPlace) bool {
	return m.isFor(at) && (m.renewals[at].by >= 0 || m.isAttached(m.locks[at].owner))
}

func (m *renewalModel) remove(at lockPlace) {
	delete(m.locks, at)
	delete(m.renewals, at)
}

// lock is LOCK by a client with a token that the server has replied; leaseMS 0: without a time.
func (m *renewalModel) lock(at lockPlace, owner string, by int, leaseMS, token int64) {
	l := m.locks[at]
	if l == nil {
		l = &renewedLock{owner: owner}
		m.locks[at] = l
	}
	l.holds++
	l.token, l.watched = token, leaseMS == 0
	if leaseMS != 0 {
		l.endMS = m.nowMS + leaseMS
		delete(m.renewals, at)
		return
	}
	l.endMS = m.nowMS + m.leaseMS
	m.renewals[at] = &dueRenewal{owner, token, by, m.nowMS + m.everyMS()}
}

// overwrite is the change that COPY and RESTORE make.
func (m *renewalModel) overwrite(at lockPlace, l renewedLock) { m.locks[at] = &l }

// attach is LOCK.ATTACH, and returns its reply.
func (m *renewalModel) attach(client int, owner string) (locks int) {
	if m.attachedOwners[client] == nil {
		m.attachedOwners[client] = map[string]bool{}
	}
	m.attachedOwners[client][owner] = true
	for at, l := range m.locks {
		if l.owner != owner {
			continue
		}
		locks++
		if l.watched && !m.isFor(at) {
			l.endMS = max(l.endMS, m.nowMS+m.leaseMS)
			m.renewals[at] = &dueRenewal{owner, l.token, -1, m.nowMS + m.everyMS()}
		}
	}
	return locks
}

func (m *renewalModel) detach(client int, owner string) {
	if !m.attachedOwners[client][owner] {
		return
	}
	delete(m.attachedOwners[client], owner)
	if m.isAttached(owner) {
		return
	}
	maps.DeleteFunc(m.renewals, func(at lockPlace, r *dueRenewal) bool { return r.by < 0 && r.owner == owner && m.isFor(at) })
}

// leave is the end of a client.
func (m *renewalModel) leave(client int) {
	for owner := range m.attachedOwners[client] {
		m.detach(client, owner)
	}
	for at, r := range m.renewals {
		if r.by != client {
			continue
		}
		if r.by = -1; !m.isFor(at) || !m.isAttached(r.owner) {
			delete(m.renewals, at)
		}
	}
}

// advance lets time pass. When something falls due, what does so within a 32nd of the time between two
// renewals is renewed with it.
func (m *renewalModel) advance(ms int64) {
	for end := m.nowMS + ms; m.nowMS < end; {
		m.nowMS++
		falls := false
		for _, r := range m.renewals {
			falls = falls || r.atMS <= m.nowMS
		}
		for at, r := range m.renewals {
			if !falls || r.atMS > m.nowMS+m.everyMS()/wait.Together {
				continue
			}
			l := m.locks[at]
			if l.endMS <= m.nowMS || !m.isFor(at) || r.by < 0 && !m.isAttached(r.owner) {
				delete(m.renewals, at)
				continue
			}
			l.endMS, r.atMS = max(l.endMS, m.nowMS+m.leaseMS), m.nowMS+m.everyMS()
		}
		for at, l := range m.locks {
			if l.endMS <= m.nowMS {
				m.remove(at)
			}
		}
	}
}

// renewalWorld does random things to a server and to renewalModel.
type renewalWorld struct {
	t       *testing.T
	random  *rand.Rand
	clock   *ManualClock
	clients []*testkit.Client
	selects []int
	m       renewalModel
	story   []string
}

const (
	worldDBs, worldKeys, worldFill = 3, 40, 300
	worldLeaseMS                   = 3000
)

func (w *renewalWorld) tell(words ...any) {
	w.story = append(w.story, fmt.Sprint(append([]any{w.m.nowMS, " "}, words...)...))
}

// at sends a command of a client in a database.
func (w *renewalWorld) at(client, db int, words ...string) string {
	if w.selects[client] != db {
		require.Equal(w.t, "+OK", w.clients[client].Do("SELECT", strconv.Itoa(db)).String())
		w.selects[client] = db
	}
	reply := w.clients[client].Do(words...)
	w.tell("client ", client, " db ", db, " ", words, " -> ", reply.String())
	return reply.String()
}

func (w *renewalWorld) place() lockPlace {
	return lockPlace{w.random.IntN(worldDBs), "k" + strconv.Itoa(w.random.IntN(worldKeys))}
}

// held is a place with a lock, if there is any.
func (w *renewalWorld) held() (at lockPlace, l *renewedLock) {
	all := slices.SortedFunc(maps.Keys(w.m.locks), func(a, b lockPlace) int {
		return cmp.Or(cmp.Compare(a.db, b.db), cmp.Compare(a.key, b.key)) // a seed does the same things each time
	})
	if len(all) == 0 {
		return w.place(), nil
	}
	at = all[w.random.IntN(len(all))]
	return at, w.m.locks[at]
}

func (w *renewalWorld) open(srv *instance, client int) {
	w.clients[client], w.selects[client] = testkit.Dial(w.t, srv.Dial), 0
	require.Equal(w.t, "+PONG", w.clients[client].Do("PING").String()) // it is there, and counted
}

// step is one random thing.
func (w *renewalWorld) step(srv *instance) {
	m, c := &w.m, w.random.IntN(len(w.clients))
	owner := "owner:" + strconv.Itoa(w.random.IntN(5))
	at, l := w.held()
	to := w.place()
	switch n := w.random.IntN(100); {
	case n < 30:
		w.lock(c, to, owner)
	case n < 34 && l != nil: // again
		w.lock(c, at, l.owner)
	case n < 42 && l != nil:
		w.unlock(c, at, l)
	case n < 46 && l != nil:
		px, leaseMS := w.lease()
		require.Equal(w.t, "1", w.at(c, at.db, append([]string{"RENEW", at.key, l.owner}, px...)...))
		if l.endMS = m.nowMS + m.leaseMS; leaseMS != 0 {
			l.endMS, l.watched = m.nowMS+leaseMS, false
			delete(m.renewals, at)
		}
	case n < 50 && l != nil:
		w.at(c, at.db, []string{"DEL", "LOCK.FORCE", "UNLINK"}[w.random.IntN(3)], at.key)
		m.remove(at)
	case n < 53 && l != nil: // by hand: it is another lock, and perhaps later the same again
		l.token += int64(1 - 2*w.random.IntN(2))
		w.at(c, at.db, "HSET", at.key, "$token", strconv.FormatInt(l.token, 10))
	case n < 55 && l != nil: // by hand, and nothing is different
		w.at(c, at.db, "HSET", at.key, l.owner, strconv.FormatInt(l.holds, 10))
	case n < 57 && l != nil:
		ms := 1 + w.random.Int64N(2*worldLeaseMS)
		w.at(c, at.db, "PEXPIRE", at.key, strconv.FormatInt(ms, 10))
		l.endMS = m.nowMS + ms
	case n < 72:
		w.moves(c, n, at, to, l)
	case n < 76:
		require.Equal(w.t, strconv.Itoa(m.attach(c, owner)), w.at(c, 0, "LOCK.ATTACH", owner))
	case n < 78:
		w.at(c, 0, "LOCK.DETACH", owner)
		m.detach(c, owner)
	case n < 80:
		w.tell("close ", c)
		w.clients[c].Close()
		m.leave(c)
		want := strconv.Itoa(len(w.clients) - 1)
		require.Eventually(w.t, func() bool { return infoField(w.t, w.clients[(c+1)%len(w.clients)], "connected_clients") == want },
			time.Minute, time.Millisecond)
		w.open(srv, c)
	case n < 90: // other keys come and go, so that locks get other slots
		fill := "f" + strconv.Itoa(w.random.IntN(worldFill))
		if w.at(c, to.db, "DEL", fill) == "0" {
			w.at(c, to.db, "SET", fill, "x")
		}
	default:
		ms := 1 + w.random.Int64N(worldLeaseMS/4)
		if w.random.IntN(40) == 0 {
			ms = 2 * worldLeaseMS
		}
		w.clock.Advance(time.Duration(ms) * time.Millisecond)
		m.advance(ms)
		w.tell("now it is ", m.nowMS)
	}
}

// lease is a time for PX, 0 if there is none.
func (w *renewalWorld) lease() (words []string, ms int64) {
	if w.random.IntN(4) > 0 {
		return nil, 0
	}
	ms = 1 + w.random.Int64N(2*worldLeaseMS)
	return []string{"PX", strconv.FormatInt(ms, 10)}, ms
}

func (w *renewalWorld) lock(c int, at lockPlace, owner string) {
	px, leaseMS := w.lease()
	reply := w.at(c, at.db, append([]string{"LOCK", at.key, owner}, px...)...)
	if l := w.m.locks[at]; l != nil && l.owner != owner {
		require.Equal(w.t, "$nil", reply)
		return
	}
	token, err := strconv.ParseInt(reply, 10, 64)
	require.NoError(w.t, err)
	w.m.lock(at, owner, c, leaseMS, token)
}

func (w *renewalWorld) unlock(c int, at lockPlace, l *renewedLock) {
	reply := w.at(c, at.db, "UNLOCK", at.key, l.owner)
	if l.holds--; l.holds > 0 {
		require.Equal(w.t, "0", reply)
		return
	}
	require.Equal(w.t, "1", reply)
	w.m.remove(at)
}

// moves takes locks elsewhere.
func (w *renewalWorld) moves(c, n int, at, to lockPlace, l *renewedLock) {
	m := &w.m
	switch {
	case n < 60 && l != nil && at.key != to.key:
		require.Equal(w.t, "+OK", w.at(c, at.db, "RENAME", at.key, to.key))
		to.db = at.db
		r := m.renewals[at]
		m.remove(to)
		m.remove(at)
		if m.locks[to] = l; r != nil {
			m.renewals[to] = r
		}
	case n < 63 && l != nil && at.db != to.db:
		to.key = at.key
		moved := w.at(c, at.db, "MOVE", at.key, strconv.Itoa(to.db))
		require.Equal(w.t, m.locks[to] == nil, moved == "1")
		if r := m.renewals[at]; moved == "1" {
			m.remove(at)
			if m.locks[to] = l; r != nil {
				m.renewals[to] = r
			}
		}
	case n < 66 && l != nil && at != to:
		require.Equal(w.t, "1", w.at(c, at.db, "COPY", at.key, to.key, "DB", strconv.Itoa(to.db), "REPLACE"))
		m.overwrite(to, *l)
	case n < 69 && l != nil:
		dump := w.clients[c].Do("DUMP", at.key)
		if w.selects[c] == at.db {
			require.Equal(w.t, "+OK", w.at(c, to.db, "RESTORE", to.key, strconv.FormatInt(l.endMS-1, 10), dump.Str, "REPLACE", "ABSTTL"))
			m.overwrite(to, *l)
		}
	case n < 71:
		w.at(c, 0, "SWAPDB", strconv.Itoa(at.db), strconv.Itoa(to.db))
		locks, renewals := map[lockPlace]*renewedLock{}, map[lockPlace]*dueRenewal{}
		other := map[int]int{at.db: to.db, to.db: at.db}
		for _, from := range slices.Collect(maps.Keys(m.locks)) {
			there := from
			if db, ok := other[from.db]; ok {
				there.db = db
			}
			locks[there] = m.locks[from]
			if r := m.renewals[from]; r != nil {
				renewals[there] = r
			}
		}
		m.locks, m.renewals = locks, renewals
	case w.random.IntN(10) == 0:
		w.at(c, to.db, "FLUSHDB")
		for at := range m.locks {
			if at.db == to.db {
				m.remove(at)
			}
		}
	}
}

// check compares a key with the model.
func (w *renewalWorld) check(at lockPlace) {
	was := len(w.story)
	info, end := w.at(0, at.db, "LOCK.INFO", at.key), w.at(0, at.db, "PEXPIRETIME", at.key)
	w.story = w.story[:was]
	l := w.m.locks[at]
	if l == nil {
		require.Equal(w.t, "$nil -2", info+" "+end, w.last(at))
		return
	}
	require.Equal(w.t, strconv.FormatInt(l.endMS-1, 10), end, w.last(at)) // over in the millisecond behind it
	renewed := 0
	if w.m.isRenewed(at) {
		renewed = 1
	}
	require.Contains(w.t, info, fmt.Sprintf(`["owner" "%s" "holds" %d "token" %d "ttl" %d "watchdog" %d "client" `,
		l.owner, l.holds, l.token, l.endMS-w.m.nowMS, renewed), w.last(at))
}

// last returns the last step at a key.
func (w *renewalWorld) last(at lockPlace) string {
	text := fmt.Sprintf("%v: %+v %+v\n", at, w.m.locks[at], w.m.renewals[at])
	for _, line := range w.story[max(0, len(w.story)-60):] {
		text += line + "\n"
	}
	return text
}

var (
	renewalSeed  = flag.Uint64("renewal-seed", 1, "the seed of TestRenewals; 0: one by chance")
	renewalSteps = flag.Int("renewal-steps", 400, "how many steps TestRenewals makes")
)

// TestRenewals: the server renews those locks that it should, and no others, whatever becomes of them, of
// who holds them, and of the keys around them.
func TestRenewals(t *testing.T) {
	t.Parallel()
	seed := *renewalSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	began := time.UnixMilli(1_750_000_000_000)
	w := &renewalWorld{t: t, random: random, clock: NewManualClock(began), clients: make([]*testkit.Client, 4), selects: make([]int, 4)}
	w.m = renewalModel{nowMS: began.UnixMilli(), leaseMS: worldLeaseMS, locks: map[lockPlace]*renewedLock{},
		renewals: map[lockPlace]*dueRenewal{}, attachedOwners: map[int]map[string]bool{}}
	srv := startWith(t, Options{Clock: w.clock}, func(c *config.Config) { c.LockWatchdogTimeoutMS = worldLeaseMS })
	for i := range w.clients {
		w.open(srv, i)
	}
	for step := range *renewalSteps {
		w.step(srv)
		for range 3 {
			w.check(w.place())
		}
		if step%20 > 0 {
			continue
		}
		require.Equal(t, strconv.Itoa(len(w.m.renewals)), infoField(t, w.clients[0], "lock_watchdogs"), w.last(w.place()))
		for db := range worldDBs {
			for key := range worldKeys {
				w.check(lockPlace{db, "k" + strconv.Itoa(key)})
			}
		}
	}
}
