package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	hraft "github.com/hashicorp/raft"
	"lockserver/server/raft"
)

// Members compare checksums of their data. Each tells its own in its Hello, and when it has a new one asks
// the others for theirs. So each member finds out by itself whether it has the data of the majority, and
// which others do not.

const (
	// keptChecksums is how many of the newest own checksums are kept and sent.
	keptChecksums = 4
	// compareEvery is how soon members are asked again that have no checksum of the index yet, at first and
	// at most; mostCompareEvery is that of members that cannot be reached.
	compareEvery     = 100 * time.Millisecond
	moreCompareEvery = 2 * time.Second
	mostCompareEvery = 30 * time.Second
	// undecidedAfter is for how long members are awaited that answer and have no checksum, before it counts
	// that those which have one differ.
	undecidedAfter = time.Minute
)

// keyVerdict of the stable store has what was found last. Its format, do not change: the finding, a space,
// and the index; empty: nothing that keeps the member from serving.
var keyVerdict = []byte("lockserver/verdict")

// keyDiffering of the stable store has the members that were found to differ, so that an alarm outlives the
// process that raised it. Its format, do not change: a line for each member with its id, incarnation, index,
// checksum and finding, with spaces between them.
var keyDiffering = []byte("lockserver/differing")

// keyUsers of the stable store has the group's users, as the machine writes them. Do not change the key.
var keyUsers = []byte("lockserver/users")

// KeepUsers implements raft.Engine.
func (e *Engine) KeepUsers(text string) error {
	if e.options.Identity == nil {
		return nil
	}
	return e.options.Identity.stable.Set(keyUsers, []byte(text))
}

// KeptUsers implements raft.Engine.
func (e *Engine) KeptUsers() string {
	if e.options.Identity == nil {
		return ""
	}
	text, err := stored(e.options.Identity.stable, keyUsers)
	if err != nil {
		e.options.Log.Error("raft: the users that this member has kept cannot be read", "cause", err)
	}
	return string(text)
}

// readVerdict reads what was found before the process started.
func (y *Identity) readVerdict() error {
	c := &y.checks
	c.found, c.news = make(map[string]raft.Check), make(chan struct{}, 1)
	is, err := stored(y.stable, keyVerdict)
	if err != nil {
		return err
	}
	finding, index, _ := strings.Cut(string(is), " ")
	c.verdict.Finding = raft.Finding(finding)
	c.verdict.Index, _ = strconv.ParseUint(index, 10, 64)
	return y.readDiffering()
}

// readDiffering reads which members were found to differ before the process started.
func (y *Identity) readDiffering() error {
	is, err := stored(y.stable, keyDiffering)
	if err != nil {
		return err
	}
	c := &y.checks
	c.kept = string(is)
	for line := range strings.Lines(c.kept) {
		w := strings.Fields(line)
		if len(w) != 5 {
			continue
		}
		index, _ := strconv.ParseUint(w[2], 10, 64)
		c.found[w[0]] = raft.Check{ID: w[0], Incarnation: w[1], Checksum: raft.Checksum{Index: index, Sum: w[3]}, Finding: raft.Finding(w[4])}
	}
	return nil
}

// keepDiffering keeps on the disk which members were found to differ.
func (y *Identity) keepDiffering() error {
	c := &y.checks
	c.mu.Lock()
	var lines []string
	for _, f := range c.found {
		if f.Finding == raft.Differs || f.Finding == raft.Undecided {
			lines = append(lines, fmt.Sprintln(f.ID, f.Incarnation, f.Index, f.Sum, string(f.Finding)))
		}
	}
	slices.Sort(lines)
	text := strings.Join(lines, "")
	same := text == c.kept
	c.kept = text
	c.mu.Unlock()
	if same {
		return nil
	}
	// plant:check-differing
	return y.stable.Set(keyDiffering, []byte(text))
}

// Verdict implements raft.Engine.
func (e *Engine) Verdict() raft.Verdict {
	if e.options.Identity == nil {
		return raft.Verdict{}
	}
	c := &e.options.Identity.checks
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.verdict
}

// Checked implements raft.Engine.
func (e *Engine) Checked(is raft.Checksum) {
	c := &e.options.Identity.checks
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own = append(c.own, is); len(c.own) > keptChecksums {
		c.own = slices.Delete(c.own, 0, 1)
	}
	c.since = time.Now()
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// newest is the newest own checksum, and for how long it is known.
func (c *checks) newest() (is raft.Checksum, age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.own) > 0 {
		is = c.own[len(c.own)-1]
	}
	return is, time.Since(c.since)
}

// status adds what is known to s.
func (c *checks) status(s *raft.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.found {
		s.Checks = append(s.Checks, f)
	}
	s.Compared = c.compared
}

// decide keeps a verdict on the disk if it changes whether this member serves, also over a start.
func (y *Identity) decide(v raft.Verdict) error {
	y.checks.mu.Lock()
	was := y.checks.verdict
	if was.Finding != raft.Differs { // which it is until its disk is another
		y.checks.verdict = v
	}
	y.checks.mu.Unlock()
	bad := v.Finding == raft.Differs || v.Finding == raft.Undecided
	text := ""
	if bad {
		text = fmt.Sprint(string(v.Finding), " ", v.Index)
	}
	// plant:check-keep
	if was.Finding != raft.Differs && v != was && (bad || was.Finding == raft.Undecided) {
		return y.stable.Set(keyVerdict, []byte(text))
	}
	return nil
}

// errOtherData is why a member does not stand for election that has other data than the group.
var errOtherData = errors.New("the data of this member is not that of the group")

// compare is the goroutine that compares checksums when there is a new one.
func (r *running) compare() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.watching.Go(func() {
		<-r.ended
		cancel()
	})
	pause := compareEvery
	for {
		var again <-chan time.Time
		if away, pending := r.compareOnce(ctx); away || pending {
			again = time.After(pause)
			if pause *= 2; pending {
				pause = min(pause, moreCompareEvery)
			}
			pause = min(pause, mostCompareEvery)
		}
		select {
		case <-r.ended:
			return
		case <-r.of.options.Identity.checks.news:
			pause = compareEvery
		case <-again:
		}
	}
}

// compareOnce asks the others for their checksums of the newest index with an own checksum, and judges.
// away says that some members could not be reached. pending says that some members answer, and have no
// checksum yet.
func (r *running) compareOnce(ctx context.Context) (away, pending bool) {
	y := r.of.options.Identity
	own, age := y.checks.newest()
	all := r.members()
	self, in := r.find(string(r.self))
	if own.Index == 0 || !in {
		return false, false
	}
	var others []raft.Peer
	for _, s := range all {
		if s.ID != r.self {
			others = append(others, peerOf(s.ID, s.Address))
		}
	}
	sums := map[string]string{string(r.self): own.Sum}
	for _, h := range r.of.ask(ctx, others) {
		switch sum, ok := h.sumAt(own); {
		case h.err != nil || h.ID != h.peer.ID || h.peer.Incarnation != "" && h.Incarnation != h.peer.Incarnation:
			away = true
		case ok:
			sums[h.ID] = sum
		case h.Checks: // otherwise it is of a version that has none
			pending = true
		}
	}
	if newer, _ := y.checks.newest(); newer != own || ctx.Err() != nil {
		return away, true
	}
	findings := findingsOf(all, sums, !pending || age > undecidedAfter)
	y.checks.record(all, own.Index, sums, findings, !pending)
	unkept := y.keepDiffering()
	v := raft.Verdict{Finding: findings[string(self.ID)], Index: own.Index}
	// plant:check-judge
	if v.Finding != raft.Unchecked {
		unkept = errors.Join(unkept, y.decide(v))
	}
	if unkept != nil {
		r.of.options.Log.Error("raft: what comparing the members' data has found could not be kept", "cause", unkept)
	}
	if v.Finding != raft.Unchecked {
		r.fsm.machine().Judge(v)
	}
	return away, pending
}

// sumAt is the checksum that can be compared with another.
func (h *heardOf) sumAt(own raft.Checksum) (sum string, ok bool) {
	for _, c := range h.Checksums {
		if c.Comparable(own) {
			return c.Sum, true
		}
	}
	return "", false
}

// findingsOf returns the finding for each member, by the checksums. complete says that no more checksums
// are awaited.
func findingsOf(all []hraft.Server, sums map[string]string, complete bool) map[string]raft.Finding {
	voters, votes := 0, map[string]int{}
	for _, s := range all {
		if s.Suffrage != hraft.Voter {
			continue
		}
		voters++
		if sum, ok := sums[string(s.ID)]; ok {
			votes[sum]++
		}
	}
	most := ""
	for sum, n := range votes {
		if n > voters/2 {
			most = sum
		}
	}
	found := map[string]raft.Finding{}
	for id, sum := range sums {
		switch {
		case most != "" && sum == most:
			found[id] = raft.Same
		case most != "":
			found[id] = raft.Differs
		case complete && len(votes) > 1:
			found[id] = raft.Undecided
		}
	}
	return found
}

// record remembers the findings. complete: no member that can be reached is awaited.
func (c *checks) record(all []hraft.Server, index uint64, sums map[string]string, findings map[string]raft.Finding, complete bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.found
	c.found = make(map[string]raft.Check)
	for _, s := range all {
		id, p := string(s.ID), peerOf(s.ID, s.Address)
		if sum, ok := sums[id]; ok {
			c.found[id] = raft.Check{ID: id, Incarnation: p.Incarnation, Checksum: raft.Checksum{Index: index, Sum: sum}, Finding: findings[id]}
		} else if before, ok := was[id]; ok && before.Incarnation == p.Incarnation {
			c.found[id] = before
		}
	}
	if complete {
		c.compared = max(c.compared, index)
	}
}
