package permitbench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"lockserver/tests/bench/benchkit"
)

// contenders is the number of clients, and handoffTarget the least number of hand-offs per second.
const (
	contenders    = 16
	handoffTarget = 5000
)

// contest holds the results of one contest.
type contest struct {
	grants   int // in all
	handoffs int // grants to another client than the one before
	waits    []time.Duration
	elapsed  time.Duration
}

// handoffs makes clients hand on the permits of one semaphore.
func (b *bench) handoffs(ctx context.Context) error {
	s, err := benchkit.StartFresh(ctx, b.lockserver, b.Dir)
	if err != nil {
		return err
	}
	defer s.Stop()
	b.Report.Text(fmt.Sprintf("## Hand-offs\n\n%d clients acquire a permit of one semaphore, waiting for it, release it, and at once again, for %v. A hand-off "+
		"is a grant to another client than the one before. The most of %d round(s).", contenders, b.sizes.span, b.Rounds))
	var rows [][]string
	for _, limit := range []int{1, 4} {
		var best contest
		for round := range b.Rounds {
			before, err := s.CPU()
			if err != nil {
				return err
			}
			c, err := handOn(ctx, s.Addr, fmt.Sprintf("handoff:%d:%d", limit, round), limit, b.sizes.span)
			if err != nil {
				return err
			}
			after, err := s.CPU()
			if err != nil {
				return err
			}
			b.Say("hand-offs, %d permit(s): %.0f a second, %.2f us of the server each", limit, c.perSecond(),
				float64(after-before)/float64(time.Microsecond)/float64(max(1, c.handoffs)))
			if c.perSecond() > best.perSecond() {
				best = c
			}
		}
		wait := func(q float64) string {
			return benchkit.Milliseconds(benchkit.InMS(benchkit.Percentile(best.waits, q)))
		}
		rows = append(rows, []string{strconv.Itoa(limit), benchkit.Grouped(best.perSecond()), wait(0.5), wait(0.99), wait(1),
			b.Report.AtLeast(fmt.Sprintf("hand-offs a second, %d permit(s)", limit), best.perSecond(), handoffTarget, benchkit.Grouped)})
	}
	b.Report.Table([]string{"permits", "hand-offs a second", "wait, p50", "p99", "most", "target"}, rows)
	return nil
}

func (c *contest) perSecond() float64 {
	if c.elapsed == 0 {
		return 0
	}
	return float64(c.handoffs) / c.elapsed.Seconds()
}

// grant is a grant to a client. Tokens rise with each grant of a server.
type grant struct {
	token  int64
	client int
}

// handOn runs one contest for the permits of a semaphore.
func handOn(ctx context.Context, addr, key string, limit int, span time.Duration) (c contest, err error) {
	fleet, err := benchkit.DialFleet(addr, contenders)
	if err != nil {
		return c, err
	}
	defer fleet.Close()
	var mu sync.Mutex
	var all []grant
	began := time.Now()
	err = fleet.Each(ctx, func(i int, conn *benchkit.Conn) error {
		got, waits, err := contend(conn, key, i, limit, began.Add(span))
		mu.Lock()
		defer mu.Unlock()
		all, c.waits = append(all, got...), append(c.waits, waits...)
		return err
	})
	c.elapsed, c.grants, c.handoffs = time.Since(began), len(all), countHandoffs(all)
	slices.Sort(c.waits)
	return c, err
}

// contend acquires and releases a permit until a given time.
func contend(conn *benchkit.Conn, key string, client, limit int, until time.Time) (got []grant, waits []time.Duration, err error) {
	name := owner + strconv.Itoa(client)
	for time.Now().Before(until) {
		asked := time.Now()
		text, err := conn.Do("SEM.ACQUIRE", key, name, "LIMIT", strconv.Itoa(limit), "WAIT", "60000")
		if err != nil {
			return nil, nil, err
		}
		waits = append(waits, time.Since(asked))
		token, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, nil, fmt.Errorf("SEM.ACQUIRE replied %q", text)
		}
		got = append(got, grant{token, client})
		if left, err := conn.Do("SEM.RELEASE", key, name); err != nil || left != "0" {
			return nil, nil, fmt.Errorf("SEM.RELEASE replied %q %w", left, err)
		}
	}
	return got, waits, nil
}

// countHandoffs counts the grants to another client than the previous one.
func countHandoffs(all []grant) (n int) {
	slices.SortFunc(all, func(a, b grant) int { return cmp.Compare(a.token, b.token) })
	for i := 1; i < len(all); i++ {
		if all[i].client != all[i-1].client {
			n++
		}
	}
	return n
}
