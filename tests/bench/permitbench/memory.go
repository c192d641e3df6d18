package permitbench

import (
	"context"
	"fmt"
	"sync"

	"lockserver/tests/bench/benchkit"
)

// holding is a way to have many holders: a semaphore, or a lock with shared holders.
type holding struct {
	what string
	// key has a %d for the number of the holder if each has its own key.
	key     string
	command string
	words   []string
}

// memory compares the memory of a holder of a semaphore with that of a holder of a shared lock: many for one
// key, and one for each of many keys.
func (b *bench) memory(ctx context.Context) error {
	sem, lock := []string{"LIMIT", "1000000", "PX", longLease}, []string{"SHARED", "PX", longLease}
	list := []holding{
		{"holder of one semaphore", "", "SEM.ACQUIRE", sem}, {"holder of one shared lock", "", "LOCK", lock},
		{"semaphore with one holder", "key:", "SEM.ACQUIRE", sem}, {"shared lock with one holder", "key:", "LOCK", lock},
	}
	each, errs := make([]float64, len(list)), make([]error, len(list))
	var wg sync.WaitGroup
	for i, h := range list {
		wg.Go(func() { each[i], errs[i] = b.bytesOf(ctx, h) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	b.Report.Text(fmt.Sprintf("## Memory of holders\n\nGrowth of resident memory by %s holders with a lease and an owner of %d bytes, read after %v without a request.",
		benchkit.Grouped(float64(b.sizes.crowd)), len(owner)+12, b.sizes.rest))
	var rows [][]string
	for i := 0; i < len(list); i += 2 {
		ratio := each[i] / each[i+1]
		rows = append(rows, []string{list[i].what, benchkit.Fixed(each[i], 0), benchkit.Fixed(each[i+1], 0), benchkit.Times(ratio),
			b.Report.AtMost("bytes of a "+list[i].what+" beside a "+list[i+1].what, ratio, 1.2, benchkit.Times)})
	}
	b.Report.Table([]string{"thing", "bytes", "the same of a shared lock", "ratio", "target"}, rows)
	return nil
}

// bytesOf returns by how many bytes a server grows for each holder.
func (b *bench) bytesOf(ctx context.Context, h holding) (float64, error) {
	s, err := benchkit.StartFresh(ctx, b.lockserver, b.Dir)
	if err != nil {
		return 0, err
	}
	defer s.Stop()
	n := 0
	grown, err := b.grownBy(ctx, s, func() (err error) {
		n, err = s.Fill(ctx, h.traffic(), b.sizes.crowd)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", h.what, err)
	}
	b.Say("%s: %.0f bytes", h.what, float64(grown)/float64(n))
	return float64(grown) / float64(n), nil
}

func (h *holding) traffic() benchkit.Traffic {
	return benchkit.Traffic{Want: benchkit.Always(":"), Append: func(b []byte, n int) []byte {
		r := benchkit.Command(b, 3+len(h.words)).Arg(h.command)
		if h.key == "" {
			r = r.Arg("crowd")
		} else {
			r = r.Numbered(h.key, n, "")
		}
		r = r.Numbered(owner, n, "")
		for _, w := range h.words {
			r = r.Arg(w)
		}
		return r
	}}
}

// grownBy returns by how many bytes a server grows because of fill, with a rest before and after it.
func (b *bench) grownBy(ctx context.Context, s *benchkit.Server, fill func() error) (int64, error) {
	rested := func() (int64, error) {
		if err := benchkit.Rest(ctx, b.sizes.rest); err != nil {
			return 0, err
		}
		return s.Resident()
	}
	before, err := rested()
	if err != nil {
		return 0, err
	}
	if err := fill(); err != nil {
		return 0, err
	}
	after, err := rested()
	return after - before, err
}
