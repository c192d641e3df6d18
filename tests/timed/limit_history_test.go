package timed

import "fmt"

// terms holds the terms of a limiter.
type terms struct{ burst, count, periodMS int64 }

func (t terms) args(key string, cost int64) []string {
	return append(append([]string{"LIMIT.TAKE"}, t.words(key)...), "COST", fmt.Sprint(cost))
}

// words returns the key and the terms as words of a call.
func (t terms) words(key string) []string {
	return []string{key, fmt.Sprint(t.burst), fmt.Sprint(t.count), fmt.Sprint(t.periodMS)}
}

// throttle returns a call of redis-cell's command for the same limiter. Its periods are in seconds.
func (t terms) throttle(key string, cost int64) []string {
	return []string{"CL.THROTTLE", key, fmt.Sprint(t.burst - 1), fmt.Sprint(t.count), fmt.Sprint(t.periodMS / 1000), fmt.Sprint(cost)}
}

// grant is an allowed take, at a time in microseconds that only rises.
type grant struct{ atUS, cost int64 }

// check compares each sequence of successive grants with the limit of the rate in its time.
func (t terms) check(grants []grant) error {
	for i := range grants {
		sum := int64(0)
		for j := i; j < len(grants); j++ {
			sum += grants[j].cost
			// sum <= burst + time*count/period
			if us := grants[j].atUS - grants[i].atUS; (sum-t.burst)*t.periodMS*1000 > us*t.count {
				return &violation{fmt.Sprintf("%d units were allowed within %d us, with a burst of %d and %d each %d ms (grants %d to %d)",
					sum, us, t.burst, t.count, t.periodMS, i, j)}
			}
		}
	}
	return nil
}
