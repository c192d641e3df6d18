package engine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"
	"lockserver/server/raft"
)

// Identity identifies the disk that an engine works on: it belongs to one member of one group. Two parts are
// random.
//
// The incarnation is made with the disk's content. So a member that lost its disk is not mistaken for its
// former self, with acknowledgements and votes that are forgotten. The id of the group is made when the
// group forms. Both are in the group's configuration, and members exchange them at the beginning of each
// connection.
//
// An empty member takes the id of the first group that calls it by its incarnation. A group knows that only
// of a member that it has asked before. It asks when the group forms, when the member is added, or when the
// leader finds that a member's disk is new.
type Identity struct {
	id          string
	incarnation string
	older       bool // the disk has what a version without identities wrote
	// damaged is the directory with the files of a damaged disk; nil: no disk was damaged.
	damaged   *damaged
	founders  []raft.Peer
	charter   *Charter
	version   string
	stable    hraft.StableStore
	logs      hraft.LogStore
	snapshots hraft.SnapshotStore
	log       *slog.Logger

	mu      sync.Mutex
	group   string // under mu; empty: it is not known
	taking  bool   // under mu: it is being written
	refused map[string]*refusal

	checks checks
	// report is how the member is; nil: its engine is closed.
	report atomic.Pointer[func() raft.Report]
}

// reports sets what tells how the member is; nil: nothing does.
func (y *Identity) reports(report func() raft.Report) {
	if report == nil {
		y.report.Store(nil)
		return
	}
	y.report.Store(&report)
}

// The keys of the stable store, do not change.
var (
	keyIncarnation = []byte("lockserver/incarnation")
	keyGroup       = []byte("lockserver/group")
	keyOlder       = []byte("lockserver/older")
	keyTerm        = []byte("CurrentTerm") // the library's
)

// begin makes an incarnation for a new disk.
func (y *Identity) begin() error {
	empty, err := y.isEmpty()
	if err != nil {
		return err
	}
	if !empty {
		y.older = true
		if err := y.stable.Set(keyOlder, []byte("1")); err != nil {
			return err
		}
	}
	y.incarnation = newID()
	return y.stable.Set(keyIncarnation, []byte(y.incarnation))
}

// newID is a random name.
func newID() string { return strings.ToLower(rand.Text()[:16]) }

// readGroup finds the id of a group that this member has formed if it could not record the id any more.
func (y *Identity) readGroup() error {
	var first hraft.Log
	err := y.logs.GetLog(1, &first)
	if errors.Is(err, hraft.ErrLogNotFound) {
		return nil
	}
	if err != nil || first.Type != hraft.LogConfiguration {
		return err
	}
	return y.learn(groupOf(hraft.DecodeConfiguration(first.Data).Servers))
}

// isEmpty reports whether the disk has nothing of any group's data.
func (y *Identity) isEmpty() (bool, error) {
	last, err := y.logs.LastIndex()
	if err != nil || last > 0 {
		return false, err
	}
	kept, err := y.snapshots.List()
	return err == nil && len(kept) == 0, err
}

// Group is the id of the group; empty: it is not known.
func (y *Identity) Group() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.group
}

// errTaking is returned while the id of the group is being written.
var errTaking = errors.New("this member is taking the id of a group at this moment")

// learn takes the id of the group that this member is in, unless it is known already. It is not held while
// it writes: others ask for the id meanwhile.
func (y *Identity) learn(group string) error {
	y.mu.Lock()
	if group == "" || y.group != "" {
		defer y.mu.Unlock()
		if group != "" && group != y.group {
			return otherGroup(group, y.group)
		}
		return nil
	}
	if y.taking {
		y.mu.Unlock()
		return errTaking
	}
	y.taking = true
	y.mu.Unlock()
	err := y.stable.Set(keyGroup, []byte(group))
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.taking = false; err != nil {
		return err
	}
	y.group = group
	y.log.Info("raft: this member is in the group with the id "+group, "group", group, "incarnation", y.incarnation)
	return nil
}

// The words of a greeting that are about identities, do not change: the charter, the id of the caller's
// group, the incarnation of the caller, and that of the called as the caller's configuration has it; "-" for
// what is not known. The answer has the id of the group and the incarnation of the called.

// words are those for a member of the group's configuration; false: the group has no id, and its members may
// be of a version that knows no identities.
func (y *Identity) words(to hraft.ServerAddress) (string, bool) {
	group := y.Group()
	if group == "" {
		return "", false
	}
	called, _ := parseAddress(to)
	return fmt.Sprintf("%s %s %s %s", y.charter.said(), group, y.incarnation, said(called.Incarnation)), true
}

// said is how a word that may be empty is said.
func said(word string) string {
	if word == "" {
		return unknown
	}
	return word
}

// Errors of members that do not belong together.
var (
	errNoIdentity = errors.New("this member's disk is empty, and the caller is a version that does not name its group: upgrade all members")
	errEmptyHere  = errors.New("the disk of this member is new: it has nothing of the group, and no vote until the member that leads has made it one again")
)

// otherGroup says that a member is of another group.
func otherGroup(theirs, ours string) error {
	return fmt.Errorf("it is of another group, with the id %s, and this member is of the group %s: each has data of its own. Give groups names of their own "+
		"(raft-group); a server that is to change its group needs an empty directory raft", theirs, ours)
}

// judge says what is wrong with a caller, by the words that it said, and what it is answered. A member that
// is empty may take the group's id.
func (y *Identity) judge(words []string) (answer string, err error) {
	charter, group, called := words[0], words[1], words[3]
	empty, err := y.isEmpty()
	if err != nil {
		return "", err
	}
	ours := y.Group()
	switch {
	case ours != "" && group != unknown && group != ours:
		return "", otherGroup(group, ours)
	// plant:called-disk
	case called == y.incarnation:
	case empty:
		return "", errEmptyHere
	case called != unknown:
		return "", fmt.Errorf("its group knows this member by the disk %s, and this one is %s", called, y.incarnation)
	}
	if empty {
		err = y.learn(group)
	} else if ours == "" {
		err = y.charter.meet(charter)
	}
	return said(y.Group()) + " " + y.incarnation, err
}

// judgeOlder says what is wrong with a caller that tells nothing but a charter.
func (y *Identity) judgeOlder(charter string) error {
	empty, err := y.isEmpty()
	switch {
	case err != nil:
		return err
	case empty:
		return errNoIdentity
	case !y.older:
		return errors.New("the caller does not name its group: it is of an older version, or its group has no id yet")
	}
	return y.charter.meet(charter)
}

// heard says what is wrong with the answer of a member that was called.
func (y *Identity) heard(to hraft.ServerAddress, answer string) error {
	group, incarnation, ok := strings.Cut(strings.TrimSpace(answer), " ")
	if !ok {
		return errors.New("it does not name its group")
	}
	if ours := y.Group(); group != unknown && ours != "" && group != ours {
		return otherGroup(group, ours)
	}
	// plant:answered-disk
	if called, _ := parseAddress(to); called.Incarnation != "" && called.Incarnation != incarnation {
		return fmt.Errorf("it has the disk %s, and the group knows it by %s", incarnation, called.Incarnation)
	}
	return nil
}

// Meet does what members do at the beginning of a connection, for transports without connections. at is the
// address of to in the group's configuration. The error says why a call of from is refused.
func Meet(from, to *Identity, at hraft.ServerAddress) error {
	words, ok := from.words(at)
	answer, err := "", error(nil)
	if ok {
		if answer, err = to.judge(strings.Fields(words)); err == nil {
			err = from.heard(at, answer)
		}
	} else {
		err = to.judgeOlder(from.charter.said())
	}
	if err != nil {
		to.refuse(from.id, "", err)
		from.refuse("", peerOf("", at).Raft, fmt.Errorf("it refuses this member: %w", err))
	}
	return err
}

// refusal is a connection that was refused, here or by another.
type refusal struct {
	raft.Refusal
	unnamed      bool // the caller did not say which member it is
	last, logged time.Time
}

const (
	// rememberRefusals is for how long INFO shows a refusal.
	rememberRefusals = 30 * time.Second
	// sayRefusals is how often the log does.
	sayRefusals = time.Minute
	// mostRefusals bounds how many are remembered.
	mostRefusals = 32
)

// refuse records a refused connection. Either this member refused the caller with the name id, or the
// member at an address refused this member.
func (y *Identity) refuse(id, address string, why error) {
	if !y.record(refusal{Refusal: raft.Refusal{ID: id, Raft: address, Why: why.Error()}}) {
		return
	}
	if address == "" {
		y.log.Error("raft: a connection is refused", "member", id, "cause", why)
	} else {
		y.log.Error("raft: a member cannot be called", "address", address, "cause", why)
	}
}

// refusedBy records that another member refuses this one.
func (y *Identity) refusedBy(id, why string) {
	if y.record(refusal{Refusal: raft.Refusal{ID: id, Why: "it refuses this member: " + why}}) {
		y.log.Error("raft: another member refuses this one", "member", id, "cause", why)
	}
}

// turnedAway records a caller at a host that did not say which member it is.
func (y *Identity) turnedAway(host string, why error) {
	if y.record(refusal{Refusal: raft.Refusal{Raft: host, Why: why.Error()}, unnamed: true}) {
		y.log.Warn("raft: a connection is refused: the caller has not said which member it is", "address", host, "cause", why)
	}
}

// record keeps a refusal for a time. It reports whether the log is to have it.
func (y *Identity) record(r refusal) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	key, now := fmt.Sprint(r.unnamed, r.ID, " ", r.Raft, " ", r.Why), time.Now()
	is := y.refused[key]
	if is == nil {
		y.forget(now)
		is = &r
		y.refused[key] = is
	}
	is.last = now
	if !is.logged.IsZero() && now.Sub(is.logged) < sayRefusals {
		return false
	}
	is.logged = now
	return true
}

// forget makes space for one more refusal. Refusals of members stay longer than those of unnamed callers.
func (y *Identity) forget(now time.Time) {
	oldest := ""
	for key, r := range y.refused {
		if now.Sub(r.last) > sayRefusals {
			delete(y.refused, key)
		} else if o := y.refused[oldest]; o == nil || r.unnamed && !o.unnamed || r.unnamed == o.unnamed && r.last.Before(o.last) {
			oldest = key
		}
	}
	if len(y.refused) >= mostRefusals {
		delete(y.refused, oldest)
	}
}

// refusals returns the recent refusals.
func (y *Identity) refusals() (all []raft.Refusal) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, r := range y.refused {
		if !r.unnamed && time.Since(r.last) < rememberRefusals {
			all = append(all, r.Refusal)
		}
	}
	return all
}
