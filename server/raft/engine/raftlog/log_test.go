package raftlog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/persistence/disk"
	"lockserver/tests/lossy"
	"lockserver/tests/testkit"
)

// smallSegment is the size of a segment here: some entries.
const smallSegment = 1 << 10

// open opens the log in the directory "log" of a disk.
func open(on disk.FS) (*Log, error) {
	if _, err := on.MakeDir("log"); err != nil {
		return nil, err
	}
	if err := on.SyncDir("."); err != nil {
		return nil, err
	}
	c, err := Scan(on, "log", nil)
	if err != nil {
		return nil, err
	}
	l, err := c.Open()
	if err != nil {
		return nil, err
	}
	l.SegmentBytes = smallSegment
	return l, nil
}

// content is all that a log has.
type content struct {
	entries map[uint64]string
	term    uint64
	vote    string
}

func (c content) clone() content { return content{maps.Clone(c.entries), c.term, c.vote} }

// contentOf reads all of a log.
func contentOf(t *testing.T, l *Log) content {
	c := content{entries: map[uint64]string{}}
	first, err := l.FirstIndex()
	require.NoError(t, err)
	last, err := l.LastIndex()
	require.NoError(t, err)
	for i := first; i <= last && last > 0; i++ {
		var e hraft.Log
		require.NoError(t, l.GetLog(i, &e))
		c.entries[i] = textOf(&e)
	}
	c.term, err = l.GetUint64([]byte("term"))
	require.NoError(t, err)
	vote, err := l.Get([]byte("vote"))
	require.NoError(t, err)
	c.vote = string(vote)
	return c
}

func textOf(e *hraft.Log) string {
	return fmt.Sprint(e.Index, " ", e.Term, " ", e.Type, " ", string(e.Data), " ", e.AppendedAt.UnixNano())
}

// player plays random operations on a log, and knows what it must have.
type player struct {
	t    *testing.T
	r    *rand.Rand
	disk *lossy.Disk
	log  *Log
	has  content
	term uint64
	// maybe are entries that a failed write may have left, and old those that a failed deletion may have.
	maybe  map[uint64]map[string]bool
	failed int // operations of former disks
}

func newPlayer(t *testing.T, seed uint64) *player {
	p := &player{t: t, r: rand.New(rand.NewPCG(seed, 0)), disk: lossy.New(), term: 1, has: content{entries: map[uint64]string{}}}
	p.maybe = map[uint64]map[string]bool{}
	var err error
	p.log, err = open(p.disk)
	require.NoError(t, err)
	return p
}

func (p *player) bounds() (first, last uint64) {
	for i := range p.has.entries {
		if last = max(last, i); first == 0 || i < first {
			first = i
		}
	}
	return first, last
}

// step does one operation. The error is that of the log.
func (p *player) step() error {
	first, last := p.bounds()
	switch n := p.r.IntN(20); {
	case n == 0 && last > first+4: // a new leader replaces the end
		p.term++
		return p.cut(last-uint64(p.r.IntN(4)), last)
	case n == 1 && last > first+2: // compaction
		return p.cut(first, first+uint64(p.r.IntN(int(last-first))))
	case n == 2 && last > 0 && p.r.IntN(3) == 0: // a snapshot
		if err := p.cut(first, last); err != nil {
			return err
		}
		return p.store(last + 1 + uint64(p.r.IntN(3)))
	case n == 3:
		p.term++
		if err := p.log.SetUint64([]byte("term"), p.term); err != nil {
			return err
		}
		p.has.term = p.term
		vote := fmt.Sprint("member ", p.r.IntN(3))
		if err := p.log.Set([]byte("vote"), []byte(vote)); err != nil {
			return err
		}
		p.has.vote = vote
		return nil
	}
	return p.store(last + 1)
}

func (p *player) store(from uint64) error {
	var all []*hraft.Log
	for i := range uint64(1 + p.r.IntN(4)) {
		e := &hraft.Log{Index: from + i, Term: p.term, Type: hraft.LogType(p.r.IntN(3)), Data: fmt.Appendf(nil, "%d %0*d", p.r.Uint64(), p.r.IntN(200), 0)}
		if p.r.IntN(2) == 0 {
			e.AppendedAt = time.Unix(1, p.r.Int64N(1e9))
		}
		all = append(all, e)
	}
	err := p.log.StoreLogs(all)
	for _, e := range all {
		if err == nil {
			p.has.entries[e.Index] = textOf(e)
			delete(p.maybe, e.Index)
		} else {
			p.may(e.Index, textOf(e))
		}
	}
	return err
}

func (p *player) may(index uint64, text string) {
	if p.maybe[index] == nil {
		p.maybe[index] = map[string]bool{}
	}
	p.maybe[index][text] = true
}

func (p *player) cut(from, to uint64) error {
	err := p.log.DeleteRange(from, to)
	for i := from; i <= to; i++ {
		if text, ok := p.has.entries[i]; ok {
			p.may(i, text)
			delete(p.has.entries, i)
		}
	}
	return err
}

// TestReopened: a log has after a start what it had before, wherever it was cut.
func TestReopened(t *testing.T) {
	begin := testkit.Seed(t)
	for seed := begin; seed < begin+20; seed++ {
		p := newPlayer(t, seed)
		for range 60 {
			require.NoError(t, p.step())
			require.Equal(t, p.has, contentOf(t, p.log))
			if p.r.IntN(5) > 0 {
				continue
			}
			require.NoError(t, p.log.Close())
			var err error
			p.log, err = open(p.disk)
			require.NoError(t, err)
			got := contentOf(t, p.log)
			for i, text := range p.has.entries {
				require.Equal(t, text, got.entries[i])
			}
			if first, _ := p.bounds(); first > 1 { // compaction removes whole segments
				_ = p.log.DeleteRange(0, first-1)
			}
			require.Equal(t, p.has, contentOf(t, p.log))
		}
	}
}

// TestAnyCrash: a crash at any operation of the disk leaves a log that has all that was acknowledged, and
// nothing that was not written. It is never taken for a damaged one.
func TestAnyCrash(t *testing.T) {
	first := testkit.Seed(t)
	for seed := first; seed < first+3; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := newPlayer(t, seed)
			type point struct {
				ops int
				has content
			}
			points := []point{{p.disk.Ops(), p.has.clone()}}
			written := map[string]bool{}
			for range 40 {
				require.NoError(t, p.step())
				points = append(points, point{p.disk.Ops(), p.has.clone()})
				for _, text := range p.has.entries {
					written[text] = true
				}
			}
			tape, at := p.disk.Tape(), 0
			for more := true; more; more = tape.Next() {
				for at+1 < len(points) && points[at+1].ops <= tape.At() {
					at++
				}
				was, next := points[at].has, points[min(at+1, len(points)-1)].has
				for _, loss := range []lossy.Loss{lossy.LoseNothing, lossy.LoseAll, lossy.LoseSome, lossy.LoseHoles} {
					what := fmt.Sprint("seed ", seed, " operation ", tape.At(), " ", tape.Last(), " loss ", int(loss))
					l, err := open(tape.Crash(loss, p.r))
					require.NoError(t, err, what)
					got := contentOf(t, l)
					require.NoError(t, l.Close())
					if tape.At() < points[0].ops {
						continue
					}
					for i, text := range was.entries {
						if next.entries[i] == text {
							require.Equal(t, text, got.entries[i], what)
						}
					}
					for _, text := range got.entries {
						require.True(t, written[text], "%s: %s", what, text)
					}
					require.GreaterOrEqual(t, got.term, was.term, what)
					if was.term == next.term {
						require.Equal(t, was.vote, got.vote, what)
					}
				}
			}
		})
	}
}

var errBad = errors.New("input/output error")

// TestAnyDisk: whatever fails and whenever, the log has what it said to have, in this process, in the next
// one, and after the power was cut.
func TestAnyDisk(t *testing.T) {
	first := testkit.Seed(t)
	for seed := first; seed < first+15; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := newPlayer(t, seed)
			kinds := []lossy.Kind{lossy.Write, lossy.Sync, lossy.Create, lossy.Truncate, lossy.Remove, lossy.SyncDir, lossy.Open}
			for range 150 {
				if p.r.IntN(3) == 0 {
					kind, oneIn := kinds[p.r.IntN(len(kinds))], 1+p.r.IntN(3)
					p.disk.SetFaults(func(op lossy.Op) error {
						switch {
						case op.Kind != kind || p.r.IntN(oneIn) > 0:
							return nil
						case op.Kind == lossy.Write:
							return &lossy.Short{Bytes: p.r.IntN(len(op.Data) + 1), Err: errBad}
						}
						return errBad
					})
				}
				err := p.step()
				p.disk.SetFaults(nil)
				if err != nil {
					require.ErrorIs(t, err, errBad)
				}
				switch p.r.IntN(8) {
				case 0:
					p.restart(lossy.LoseNothing)
				case 1:
					p.restart(lossy.LoseAll)
				case 2:
					p.restart(lossy.LoseSome)
				}
				p.look()
			}
			require.Positive(t, p.failed+p.disk.Failed())
		})
	}
}

// restart begins the next process; loss: what of the disk is lost.
func (p *player) restart(loss lossy.Loss) {
	require.NoError(p.t, p.log.Close())
	if loss != lossy.LoseNothing {
		p.failed += p.disk.Failed()
		p.disk = p.disk.Crash(loss, p.r)
	}
	var err error
	p.log, err = open(p.disk)
	require.NoError(p.t, err)
}

// look compares what the log has with what it must have. What is there now is what it goes on from.
func (p *player) look() {
	got := contentOf(p.t, p.log)
	for i, text := range p.has.entries {
		require.Equal(p.t, text, got.entries[i])
	}
	for i, text := range got.entries {
		if p.has.entries[i] != text {
			require.True(p.t, p.maybe[i][text], "%s was never stored", text)
		}
	}
	require.GreaterOrEqual(p.t, got.term, p.has.term)
	p.has = got
	p.term = max(p.term, got.term)
}

// TestASyncThatFailed: a process that is started again believes in nothing that only the system's memory has.
func TestASyncThatFailed(t *testing.T) {
	d := lossy.New()
	l, err := open(d)
	require.NoError(t, err)
	require.NoError(t, l.StoreLog(&hraft.Log{Index: 1, Term: 1, Data: []byte("good")}))
	d.SetFaults(func(op lossy.Op) error {
		if op.Kind == lossy.Sync {
			return errBad
		}
		return nil
	})
	require.ErrorIs(t, l.StoreLog(&hraft.Log{Index: 2, Term: 1, Data: []byte("dropped")}), errBad)
	d.SetFaults(nil)
	require.NoError(t, l.Close())
	l, err = open(d)
	require.NoError(t, err)
	require.Len(t, contentOf(t, l).entries, 2, "it can be read, or this test shows nothing")
	l, err = open(d.Crash(lossy.LoseAll, nil))
	require.NoError(t, err)
	require.Len(t, contentOf(t, l).entries, 2)
}

// TestRefused: entries that leave a gap, or that would lose something, are refused.
func TestRefused(t *testing.T) {
	l, err := open(lossy.New())
	require.NoError(t, err)
	require.NoError(t, l.StoreLogs([]*hraft.Log{{Index: 7, Term: 1}, {Index: 8, Term: 1}, {Index: 9, Term: 1}}))
	for _, bad := range [][]*hraft.Log{{{Index: 11}}, {{Index: 9}}, {{Index: 10}, {Index: 12}}, {{Index: 10, Extensions: []byte("x")}}} {
		require.Error(t, l.StoreLogs(bad))
	}
	require.ErrorContains(t, l.DeleteRange(8, 8), "in the middle")
	require.ErrorIs(t, l.GetLog(6, &hraft.Log{}), hraft.ErrLogNotFound)
	require.ErrorIs(t, l.GetLog(10, &hraft.Log{}), hraft.ErrLogNotFound)
	require.Len(t, contentOf(t, l).entries, 3)
	require.NoError(t, l.Close())
	require.ErrorIs(t, l.StoreLog(&hraft.Log{Index: 10}), ErrClosed)
	require.ErrorIs(t, l.Set([]byte("k"), nil), ErrClosed)
}

// TestDamagedWhileRunning: an entry that was damaged since the start is found when it is read.
func TestDamagedWhileRunning(t *testing.T) {
	d := lossy.New()
	l, err := open(d)
	require.NoError(t, err)
	require.NoError(t, l.StoreLogs([]*hraft.Log{{Index: 1, Term: 1, Data: []byte("first")}, {Index: 2, Term: 1, Data: []byte("second")}}))
	path := filepath.Join("log", fmt.Sprintf(nameFormat, 1))
	size := l.segments[0].end()
	f, err := d.Append(path)
	require.NoError(t, err)
	flip := func(at int64) {
		var b [1]byte
		r, err := d.Open(path)
		require.NoError(t, err)
		_, err = r.ReadAt(b[:], at)
		require.NoError(t, err)
		b[0] ^= 4
		_, err = f.WriteAt(b[:], at)
		require.NoError(t, err)
	}
	second := l.segments[0].endOf(1)
	for at := second; at < size; at++ {
		flip(at)
		var bad *Damage
		require.ErrorAs(t, l.GetLog(2, &hraft.Log{}), &bad, "offset %d", at)
		require.Equal(t, Damage{File: path, At: second, Why: "the checksum of the entry 2 is wrong"}, *bad)
		require.NoError(t, l.GetLog(1, &hraft.Log{}))
		flip(at)
	}
	require.NoError(t, l.GetLog(2, &hraft.Log{}))
	require.NoError(t, f.Truncate(second+10))
	require.ErrorContains(t, l.GetLog(2, &hraft.Log{}), "it ends before the entry 2 does")
}

// damageable is a disk with a log of several segments, and what the log has. Its end was replaced once.
func damageable(t *testing.T, seed uint64) (d *lossy.Disk, has content) {
	p := newPlayer(t, seed)
	for range 40 {
		require.NoError(t, p.store(uint64(len(p.has.entries))+1))
	}
	require.NoError(t, p.log.SetUint64([]byte("term"), 4))
	_, last := p.bounds()
	p.term = 4
	require.NoError(t, p.cut(last-1, last))
	require.NoError(t, p.store(last-1))
	require.NoError(t, p.log.Set([]byte("vote"), []byte("b")))
	has = contentOf(t, p.log)
	require.Greater(t, len(p.log.segments), 3)
	require.NoError(t, p.log.Close())
	return p.disk.Crash(lossy.LoseNothing, nil), has
}

// TestDamagedBytes: whichever byte of the files is another, it is found, or changes nothing. Each byte of a
// segment counts.
func TestDamagedBytes(t *testing.T) {
	const stride = 7 // a run looks at every seventh byte
	seed := testkit.Seed(t)
	d, has := damageable(t, seed)
	names, err := d.List("log")
	require.NoError(t, err)
	for _, name := range names {
		path := filepath.Join("log", name)
		is, err := readAll(d, path)
		require.NoError(t, err)
		if name == names[len(names)-3] { // state and reached follow
			is = bytes.TrimRight(is, "\x00")
		}
		for at := int(seed % stride); at < len(is); at += stride {
			if at%stateBytes > 200 && name == stateFile || at%reachedBytes > 60 && name == reachedFile {
				continue // it is empty there
			}
			bad := d.Crash(lossy.LoseNothing, nil)
			f, err := bad.Append(path)
			require.NoError(t, err)
			_, err = f.WriteAt([]byte{is[at] ^ 1<<(at%8)}, int64(at))
			require.NoError(t, err)
			l, err := open(bad)
			if strings.HasSuffix(name, suffix) {
				var found *Damage
				require.ErrorAs(t, err, &found, "%s %d", name, at)
				require.Equal(t, path, found.File)
				continue
			}
			require.NoError(t, err, "%s %d", name, at)
			require.Equal(t, has, contentOf(t, l), "%s %d", name, at)
			require.NoError(t, l.Close())
		}
	}
}

// TestDamagedFiles: files that are cut, removed, swapped, doubled or another log's are found.
func TestDamagedFiles(t *testing.T) {
	d, has := damageable(t, testkit.Seed(t))
	other, _ := damageable(t, 7)
	names, err := d.List("log")
	require.NoError(t, err)
	put := func(on *lossy.Disk, name string, text []byte) {
		f, err := on.Create(filepath.Join("log", name))
		require.NoError(t, err)
		_, err = f.Write(text)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	found := func(what string, do func(on *lossy.Disk)) {
		bad := d.Crash(lossy.LoseNothing, nil)
		do(bad)
		_, err := open(bad)
		var is *Damage
		require.ErrorAs(t, err, &is, what)
	}
	for i, name := range names {
		is, err := readAll(d, filepath.Join("log", name))
		require.NoError(t, err)
		if name != fmt.Sprintf(nameFormat, 1) { // a snapshot may stand for the first entries
			found(name+" is removed", func(on *lossy.Disk) { require.NoError(t, on.Remove(filepath.Join("log", name))) })
		}
		found(name+" is empty", func(on *lossy.Disk) { put(on, name, nil) })
		next, err := readAll(d, filepath.Join("log", names[(i+1)%len(names)]))
		require.NoError(t, err)
		found(name+" is another", func(on *lossy.Disk) { put(on, name, next) })
		found(name+" is another member's", func(on *lossy.Disk) {
			is, err := readAll(other, filepath.Join("log", name))
			require.NoError(t, err)
			put(on, name, is)
		})
		if strings.HasSuffix(name, suffix) {
			for size := 0; size < len(is); size += 11 {
				if bytes.Trim(is[size:], "\x00") == nil {
					break
				}
				found(fmt.Sprint(name, " is cut to ", size), func(on *lossy.Disk) { put(on, name, is[:size]) })
			}
		}
	}
	last := names[0]
	for _, name := range names {
		if strings.HasSuffix(name, suffix) {
			last = name
		}
	}
	text, err := readAll(d, filepath.Join("log", last))
	require.NoError(t, err)
	found("the last segment has a copy as the next one", func(on *lossy.Disk) { put(on, fmt.Sprintf(nameFormat, 99), text) })
	same := d.Crash(lossy.LoseNothing, nil)
	put(same, "copy of a segment", text)
	l, err := open(same)
	require.NoError(t, err)
	require.Equal(t, has, contentOf(t, l))
}
