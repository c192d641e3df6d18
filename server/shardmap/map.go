package shardmap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"lockserver/internal/call"
	"lockserver/persistence"
	"lockserver/server/cluster"
)

// Options configures a Map.
type Options struct {
	// Cluster and Shard are the names of the cluster and of this server's shard.
	Cluster, Shard string
	// Peers are addresses of clients, each as host:port, of some members of other shards. The rest is learnt.
	Peers []string
	// Path is the file that keeps the map; empty: the map is not kept.
	Path string
	Log  *slog.Logger
	// Dial connects to a member, and logs in there.
	Dial func(ctx context.Context, address string) (*call.Conn, error)
}

// Map has the knowledge of a member of all shards. Its methods may be called at any time, on any goroutine.
type Map struct {
	options Options

	mu         sync.Mutex
	own        Shard     // Generation 0: the log of this member gives it no slots
	changedOwn time.Time // when the generation of own was last seen to change
	others     map[string]*known
	changed    func()
	faults     map[string]string // faults of answers, by the address of the member that gave the answer
	kept       string            // the content of the file
	begun      time.Time
}

// known has the newest statement about another shard.
type known struct {
	Shard
	last   string // the ID of the last leader
	silent bool   // no member of the shard has named a leader when all were asked
	// heard is when a member of the shard answered last, or when this member began to ask.
	heard time.Time
}

// New returns a map with what the file has. A file that cannot be read is logged: the map begins with nothing
// then.
func New(o Options) *Map {
	m := &Map{options: o, others: make(map[string]*known), faults: make(map[string]string), changed: func() {}, begun: time.Now()}
	if o.Path == "" {
		return m
	}
	text, err := os.ReadFile(o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return m
	}
	if err == nil {
		_, err = m.take(string(text), o.Path)
	}
	if err != nil {
		o.Log.Warn("the map of the cluster's shards could not be read: it is learnt anew", "file", o.Path, "cause", err)
	}
	m.kept = m.toKeep()
	return m
}

// Attach sets what is called when something has changed that clients see. It is called without a lock.
func (m *Map) Attach(changed func()) {
	m.mu.Lock()
	m.changed = changed
	m.mu.Unlock()
}

// SetOwn tells what this member knows of its own shard.
func (m *Map) SetOwn(s Shard) {
	m.mu.Lock()
	s.Name = m.options.Shard
	if s.Generation != m.own.Generation {
		m.changedOwn = time.Now()
	}
	m.own = s
	changed := m.changed
	m.mu.Unlock()
	changed()
}

// errOtherCluster is returned for a member of a cluster with another name.
func errOtherCluster(name string) error {
	return fmt.Errorf("it is a member of the cluster '%s'", name)
}

// take takes what another member says, or the file. from is where the text comes from. leads says that the
// other member knows a leader of its own shard.
func (m *Map) take(text, from string) (leads bool, err error) {
	of, by, shards, err := decode(text)
	if err == nil && of != m.options.Cluster {
		err = errOtherCluster(of)
	}
	m.mu.Lock()
	if err == nil && by == m.options.Shard {
		err = m.isNamesake(shards)
	}
	changed := false
	if err == nil {
		delete(m.faults, from)
		for _, s := range shards {
			leads = leads || s.Name == by && s.Leader != ""
			if s.Name == by && from != m.options.Path {
				err = m.meetAnew(&s)
			}
			changed = m.learn(s) || changed
		}
		if k := m.others[by]; k != nil && from != m.options.Path {
			k.heard = time.Now()
		}
	}
	tell := m.changed
	m.mu.Unlock()
	if err != nil && from != m.options.Path {
		m.fault(from, err)
	}
	if changed {
		tell()
	}
	return leads, err
}

// fault records why the answer of the server at an address does not count.
func (m *Map) fault(at string, why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults[at] = fmt.Sprintf("the server at %s is asked for the cluster's shards, and its answer does not count: %v", at, why)
}

// isNamesake returns an error if the answer of a member of a shard with the name of this one has no member in
// common with it.
func (m *Map) isNamesake(shards []Shard) error {
	at := slices.IndexFunc(shards, func(s Shard) bool { return s.Name == m.options.Shard })
	if at < 0 || m.own.Generation == 0 {
		return nil
	}
	for _, a := range shards[at].Members {
		if slices.ContainsFunc(m.own.Members, func(b Member) bool { return a.Host == b.Host && a.Port == b.Port }) {
			return nil
		}
	}
	return fmt.Errorf("it is in another group that has the name of this shard, '%s': cluster-shard names one group", m.options.Shard)
}

// meetAnew forgets a shard if a member of it says that it is another group than the known one. The shard was
// formed anew then. The error says that the former group has answered a moment ago, too.
func (m *Map) meetAnew(s *Shard) error {
	was := m.others[s.Name]
	if was == nil || !was.isOther(s) {
		return nil
	}
	delete(m.others, s.Name)
	if time.Since(was.heard) < oldAfter {
		return fmt.Errorf("two groups have the name '%s', or the shard was formed anew a moment ago: cluster-shard names one group", s.Name)
	}
	return nil
}

// isOther reports whether two statements about a shard are about two groups.
func (s *Shard) isOther(than *Shard) bool {
	return s.Group != "" && than.Group != "" && s.Group != than.Group
}

// learn takes a statement about a shard, if it is newer than the known one, and reports whether clients see
// a change. Statements of others about this member's own shard do not count.
func (m *Map) learn(s Shard) (changed bool) {
	// plant:slots-learn
	if s.Name == m.options.Shard {
		return false
	}
	was := m.others[s.Name]
	switch {
	case was == nil:
		was = &known{heard: time.Now()}
		m.others[s.Name] = was
	case s.isOther(&was.Shard), !s.newer(&was.Shard):
		return false
	}
	before := was.Shard
	was.Shard = s
	was.last = cmp.Or(s.Leader, was.last)
	if s.Leader != "" && s.Term > before.Term {
		was.silent = false
	}
	return before.Generation != s.Generation || before.Leader != s.Leader || !slices.Equal(before.Members, s.Members) || !slices.Equal(before.Slots, s.Slots)
}

// hear records whether a member of a shard has named a leader when all were asked.
func (m *Map) hear(shard string, leads bool) {
	m.mu.Lock()
	k := m.others[shard]
	changed := k != nil && k.silent == leads
	if changed {
		k.silent = !leads
	}
	tell := m.changed
	m.mu.Unlock()
	if changed {
		tell()
	}
}

// View is the map at one moment.
type View struct {
	Own Served
	// Lost are slots of this member's own shard that another shard serves, because both claim them.
	Lost   []cluster.Range
	Others []Served
}

// Served is a shard with the slots that it serves: a slot that two shards claim is one's alone.
type Served struct {
	Shard
	Leads string // the ID of the leader, or of the last one; empty: no leader was known
	Up    bool   // a leader is known, and it or another member has said so when it was asked last
}

// View returns the map.
func (m *Map) View() (v View) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.inOrder()
	var taken []cluster.Range
	for _, s := range all {
		// plant:slots-claimed
		slots := cluster.Without(s.Slots, taken)
		taken = cluster.Join(taken, slots)
		served := Served{Shard: *s, Leads: s.Leader, Up: s.Leader != ""}
		served.Slots = slots
		if s == &m.own {
			v.Own, v.Lost = served, cluster.Without(s.Slots, slots)
			continue
		}
		k := m.others[s.Name]
		served.Leads, served.Up = cmp.Or(s.Leader, k.last), served.Up && !k.silent
		if s.find(served.Leads) == nil {
			served.Leads = s.Members[0].ID
		}
		v.Others = append(v.Others, served)
	}
	slices.SortFunc(v.Others, func(a, b Served) int { return cmp.Compare(a.Name, b.Name) })
	return v
}

// inOrder are all shards, ordered by which of them gets a slot that two claim: the one with the newer
// generation, or else the one with the lower name.
func (m *Map) inOrder() []*Shard {
	all := []*Shard{&m.own}
	for _, k := range m.others {
		all = append(all, &k.Shard)
	}
	slices.SortFunc(all, func(a, b *Shard) int {
		return cmp.Or(-cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// Text returns the map as other members read it.
func (m *Map) Text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text(true)
}

// text is Text, with or without this member's own shard. The caller holds the lock.
func (m *Map) text(own bool) string {
	var all []Shard
	if own && m.own.Generation > 0 && len(m.own.Members) > 0 {
		all = append(all, m.own)
	}
	for _, name := range slices.Sorted(maps.Keys(m.others)) {
		all = append(all, m.others[name].Shard)
	}
	return encode(m.options.Cluster, m.options.Shard, all)
}

// toKeep is the text for the file. It has no index, which changes all the time: what is said anew is newer.
// The caller holds the lock, or has the map alone.
func (m *Map) toKeep() string {
	all := make([]Shard, 0, len(m.others))
	for _, name := range slices.Sorted(maps.Keys(m.others)) {
		s := m.others[name].Shard
		s.Index = 0
		all = append(all, s)
	}
	return encode(m.options.Cluster, m.options.Shard, all)
}

// keep writes the file, if something has changed.
func (m *Map) keep() {
	if m.options.Path == "" {
		return
	}
	m.mu.Lock()
	text := m.toKeep()
	same := text == m.kept
	m.kept = text
	m.mu.Unlock()
	if same {
		return
	}
	err := persistence.ReplaceFile(m.options.Path, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if err != nil {
		m.options.Log.Warn("the map of the cluster's shards could not be kept for the next start", "file", m.options.Path, "cause", err)
	}
}

// oldAfter is how long a shard may be silent before the map of it counts as old.
const oldAfter = 30 * time.Second

// Old returns a line for each shard that has been silent for more than oldAfter, and the time since the
// oldest of the last answers.
func (m *Map) Old() (age time.Duration, lines []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := func(since time.Time, what string) {
		silent := time.Since(since)
		if age = max(age, silent); silent > oldAfter {
			lines = append(lines, fmt.Sprintf("%s for %d s", what, int(silent.Seconds())))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.others)) {
		old(m.others[name].heard, fmt.Sprintf("the shard '%s' has not answered, and the map of it may be old,", name))
	}
	if len(m.others) == 0 && len(m.options.Peers) > 0 {
		old(m.begun, "no shard is known, and no server at an address of cluster-peers has answered,")
	}
	return age, lines
}

// Faults returns what an operator has to correct, a line for each fault.
func (m *Map) Faults() (lines []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, from := range slices.Sorted(maps.Keys(m.faults)) {
		lines = append(lines, m.faults[from])
	}
	all := m.inOrder()
	for i, a := range all {
		for _, b := range all[:i] {
			if m.outdated(a, b) {
				continue
			}
			if both := cluster.Without(a.Slots, cluster.Without(a.Slots, b.Slots)); len(both) > 0 {
				lines = append(lines, fmt.Sprintf("the shards '%s' and '%s' both own the slots %s: '%s' serves them, and '%s' answers -CLUSTERDOWN for them",
					b.Name, a.Name, cluster.RangesText(both), b.Name, a.Name))
			}
		}
	}
	return lines
}

// outdated reports whether one of two shards is this member's own, and has got or given slots since the other
// one was heard. Such slots have moved, so both may seem to own them until the other one is heard again.
func (m *Map) outdated(a, b *Shard) bool {
	other := a
	switch {
	case a == &m.own:
		other = b
	case b != &m.own:
		return false
	}
	return m.others[other.Name].heard.Before(m.changedOwn)
}
