package crash

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/persistence/aof"
	"lockserver/tests/lossy"
)

var (
	seedFlag  = flag.Uint64("seed", 1, "seed of the log's workloads; 0: a new one")
	logRounds = flag.Int("log-rounds", 1, "workloads of each kind that the log is crashed under")
)

// unitsOfALife is the number of units in a workload, unitsOfAFailure the number if the disk fails.
const (
	unitsOfALife    = 60
	unitsOfAFailure = 25
)

// seedOf prints the seed, with which the test can be repeated as far as goroutines allow.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Logf("seed %d", seed)
	return seed
}

// recoverState loads the files after a crash, as a server does at its start, and returns the data.
func recoverState(d *lossy.Disk) (*aof.Dir, state, error) {
	dir, err := aof.OpenDir(logPlace(d))
	if err != nil {
		return nil, nil, err
	}
	in := &loader{state: state{}}
	_, err = dir.Load(in, aof.LoadOptions{CutTorn: true})
	return dir, in.state, err
}

// secondLife continues with the recovered log: it must be possible to append to it and load it again.
func secondLife(dir *aof.Dir, d *lossy.Disk, got state, chance *rand.Rand) error {
	first, err := got.units()
	if err != nil {
		return err
	}
	h := &history{chance: chance, now: got, digests: make([]uint64, first+1)}
	h.digests[first] = got.digest()
	log, err := dir.Continue(aof.Options{Policy: aof.Always}, func(to io.Writer) error { return got.save(to, true) })
	if err != nil {
		return fmt.Errorf("cannot go on: %w", err)
	}
	for range 3 {
		log.Append(h.unit())
		log.Flush()
	}
	if err := log.Close(); err != nil {
		return err
	}
	for _, loss := range []lossy.Loss{lossy.LoseAll, lossy.LoseSome} {
		_, again, err := recoverState(d.Crash(loss, chance))
		if err != nil {
			return fmt.Errorf("the second life does not load: %w", err)
		}
		if err := h.check(again, first+3); err != nil {
			return fmt.Errorf("the second life: %w", err)
		}
	}
	return crashRecovery(d, h, first, chance)
}

// crashRecovery crashes the second life at its most sensitive time: during the recovery.
func crashRecovery(d *lossy.Disk, h *history, atLeast int, chance *rand.Rand) error {
	tape := d.Tape()
	for stop := chance.IntN(12); tape.At() < stop && tape.Next(); {
	}
	_, again, err := recoverState(tape.Crash(lossy.LoseSome, chance))
	if err == nil {
		err = h.check(again, atLeast)
	}
	if err != nil {
		return fmt.Errorf("a crash of the recovery after %v: %w", tape.Last(), err)
	}
	return nil
}

// sweep crashes the disk after each operation from first on, with each of the losses. It returns an error if
// a recovery is wrong.
func (w *workload) sweep(first int, losses []lossy.Loss) (points int, err error) {
	tape := w.disk.Tape()
	for more := true; more; more = tape.Next() {
		if tape.At() < first {
			continue
		}
		acked := w.acked(tape.At())
		for i, loss := range losses {
			points++
			left := tape.Crash(loss, w.chance)
			dir, got, err := recoverState(left)
			if err == nil {
				err = w.history.check(got, acked)
			}
			if err == nil && (tape.At()+i)%3 == 0 {
				err = secondLife(dir, left, got, w.chance)
			}
			if err != nil {
				return points, fmt.Errorf("crash %d after operation %d of %d, %v: %w\n%s", loss, tape.At(), w.disk.Ops(), tape.Last(), err, w.story())
			}
		}
	}
	return points, nil
}

// live opens the log, plays a script, closes the log, and crashes the disk after each operation from first
// on.
func (w *workload) live(actions []action, first int, losses []lossy.Loss) (points int, err error) {
	if err := w.open(); err != nil {
		return 0, err
	}
	if err := w.play(actions); err != nil {
		return 0, err
	}
	if err := w.end(); err != nil {
		return 0, err
	}
	return w.sweep(first, losses)
}

// story lists the operations, for the report of a failure.
func (w *workload) story() string {
	var b strings.Builder
	for i, op := range w.disk.History() {
		fmt.Fprintf(&b, "%4d %v\n", i+1, op)
	}
	return b.String()
}

// losses returns each way of losing data; more comes more often.
func losses(more lossy.Loss) []lossy.Loss {
	return []lossy.Loss{lossy.LoseNothing, lossy.LoseAll, lossy.LoseSome, lossy.LoseSome, more, more}
}

// TestLogCrashes crashes a workload with rewrites at every operation. Everything acknowledged is there
// afterwards, and the data is that of a prefix of the history.
func TestLogCrashes(t *testing.T) {
	seed := seedOf(t)
	for _, policy := range []aof.Policy{aof.Always, aof.EverySec} {
		t.Run(policy.String(), func(t *testing.T) {
			points, acked := 0, 0
			for round := range *logRounds {
				more := lossy.LoseSome
				if policy == aof.Always { // otherwise a file system that swaps two writes loses data: the format has no checksums
					more = lossy.LoseHoles
				}
				life := func(actions []action) error {
					w := newWorkload(lossy.New(), seed+uint64(round), policy)
					n, err := w.live(actions, 0, losses(more))
					points += n
					acked += w.acked(w.disk.Ops())
					return err
				}
				actions := script(seed+uint64(round), unitsOfALife)
				if err := life(actions); err != nil {
					t.Fatalf("round %d: %s", round, smallest(actions, life, err))
				}
			}
			require.Positive(t, acked)
			t.Logf("%d crashes, %d units acknowledged", points, acked)
		})
	}
}

// TestLogCrashesBesideLeftFiles: a crash may leave files that no manifest has listed, with the names that the
// log uses next.
func TestLogCrashesBesideLeftFiles(t *testing.T) {
	seed := seedOf(t)
	life := func(actions []action) error {
		d, first := diskWithLeftFiles(t)
		_, err := newWorkload(d, seed, aof.Always).live(actions, first, losses(lossy.LoseSome))
		return err
	}
	actions := script(seed, unitsOfALife)
	if err := life(actions); err != nil {
		t.Fatal(smallest(actions, life, err))
	}
}

// diskWithLeftFiles returns a disk with files that no manifest lists, and the number of operations so far.
func diskWithLeftFiles(t *testing.T) (d *lossy.Disk, ops int) {
	t.Helper()
	d = lossy.New()
	dir := logPlace(d).Sub
	_, err := d.MakeDir(dir)
	require.NoError(t, err)
	for n := range 9 {
		for _, form := range []string{"incr.aof", "base.rdb", "base.aof"} {
			f, err := d.Create(fmt.Sprintf("%s/appendonly.aof.%d.%s", dir, n, form))
			require.NoError(t, err)
			_, err = io.WriteString(f, "*3\r\n$6\r\nAPPEND\r\n$3\r\nlog\r\n$5\r\nnever\r\n")
			require.NoError(t, err)
			require.NoError(t, f.Sync())
		}
	}
	require.NoError(t, d.SyncDir(dir))
	require.NoError(t, d.SyncDir("."))
	return d, d.Ops()
}

// errPlanted is the error of operations that fail on purpose.
var errPlanted = errors.New("planted failure")

// faultsFrom makes the n-th operation of a disk fail. If lasts is set, later operations fail, too.
func faultsFrom(n int, lasts bool, chance *rand.Rand) func(lossy.Op) error {
	count := 0
	return func(op lossy.Op) error {
		count++
		if count < n || count > n && !lasts {
			return nil
		}
		if op.Kind == lossy.Write && chance.IntN(2) == 0 {
			return &lossy.Short{Bytes: chance.IntN(len(op.Data) + 1), Err: errPlanted}
		}
		return errPlanted
	}
}

// mostLogRounds is the number of additional workloads that are tried while no log has been healed.
const mostLogRounds = 20

// TestLogFaults makes the n-th operation fail, for every n, or for each third n if there is only one round.
// Nothing acknowledged is lost, and nothing missing is acknowledged. When the disk works again a rewrite
// restores everything.
func TestLogFaults(t *testing.T) {
	seed := seedOf(t)
	healed, refused, step := 0, 0, 1
	if *logRounds == 1 {
		step = 3
	}
	for round := 0; round < *logRounds || healed == 0 && round < *logRounds+mostLogRounds; round++ {
		spared := 0
		for n := 1; spared < 3; n += step { // until three lives in a row have fewer operations than n
			var disk *lossy.Disk
			life := func(actions []action) error {
				w := newWorkload(lossy.New(), seed+uint64(1000*round+n), aof.Always)
				w.disk.SetFaults(faultsFrom(n, n%2 == 0, rand.New(rand.NewPCG(seed, uint64(n)))))
				disk = w.disk
				if err := w.open(); err != nil { // the server would not start
					refused++
					_, err := w.sweep(0, losses(lossy.LoseSome)[:3])
					return err
				}
				return w.fail(actions, &healed)
			}
			actions := script(seed+uint64(1000*round+n), unitsOfAFailure)
			if err := life(actions); err != nil {
				t.Fatalf("round %d, operation %d fails: %s", round, n, smallest(actions, life, err))
			}
			spared++
			if disk.Failed() > 0 {
				spared = 0
			}
		}
	}
	require.Positive(t, healed)
	t.Logf("%d times the log failed and was healed, %d times it did not open", healed, refused)
}

// fail plays a workload on a failing disk, heals the log, and checks all crashes on the way.
func (w *workload) fail(actions []action, healed *int) error {
	if err := w.play(actions); err != nil {
		return err
	}
	if w.rewrite != nil {
		_ = w.endRewrite()
	}
	w.unit()
	w.log.Flush()
	if err := w.flushed(); err != nil {
		return err
	}
	first := 0
	if w.log.Err() != nil {
		*healed++
		w.unit() // keys also expire while the log has failed
	}
	w.disk.SetFaults(nil)
	if !w.log.Active() {
		err := w.heal()
		if errors.Is(err, errPlanted) { // from an operation that began while the disk was broken
			err = w.heal()
		}
		if err != nil {
			return err
		}
	}
	w.unit()
	if err := w.end(); err != nil {
		return err
	}
	if _, err := w.sweep(first, losses(lossy.LoseSome)[:4]); err != nil {
		return err
	}
	_, got, err := recoverState(w.disk.Crash(lossy.LoseAll, w.chance))
	if err != nil {
		return err
	}
	return w.history.check(got, len(w.history.digests)-1)
}

// heal restores the log by a rewrite.
func (w *workload) heal() error {
	w.beginRewrite(w.chance.IntN(2) == 0, false)
	w.unit()
	w.log.Flush()
	if err := w.endRewrite(); err != nil {
		return fmt.Errorf("the log cannot be healed: %w", err)
	}
	if err := w.log.Err(); err != nil {
		return fmt.Errorf("the log has not been healed: %w", err)
	}
	return nil
}
