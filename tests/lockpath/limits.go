package main

import "fmt"

// mostManyTake bounds the statements of LIMIT.MTAKE of two limiters: so many times those of one LIMIT.TAKE.
const mostManyTake = 1.4

// compareLimits counts the statements of LIMIT.TAKE, and of LIMIT.MTAKE of two limiters, and returns an error
// text if the second exceeds its bound.
func (s *subject) compareLimits() (failed []string, err error) {
	for _, batch := range []int{1, 16} {
		one, err := s.statements(slotLook{command: "LIMIT.TAKE %s 1000000 1000 1000000", key: "limit:%d"}, batch)
		if err != nil {
			return nil, err
		}
		two, err := s.statements(slotLook{command: "LIMIT.MTAKE 2 second:%[1]s 1000000 1000 1000000 day:%[1]s 2000000 100000 86400000", key: "%d"}, batch)
		if err != nil {
			return nil, err
		}
		ratio := float64(two) / float64(one)
		fmt.Printf("LIMIT.MTAKE of two limiters, %d in a pipeline: %.3f times the statements of LIMIT.TAKE (at most %.1f)\n", batch, ratio, mostManyTake)
		if ratio > mostManyTake {
			failed = append(failed, fmt.Sprintf("LIMIT.MTAKE of two limiters takes %.3f times the statements of LIMIT.TAKE", ratio))
		}
	}
	return failed, nil
}
