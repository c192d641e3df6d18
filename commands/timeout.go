package commands

import (
	"math"

	"lockserver/internal/resp"
)

// Deadline reads how many seconds to wait, a floating point number, and returns when that is over, in
// milliseconds since 1970, or 0 if it never is. Parts of a millisecond count as whole ones. startMS is
// Ctx.CeilNowMS.
func (s *Scanner) Deadline(startMS int64) int64 {
	b := s.Bytes()
	if s.err != nil {
		return 0
	}
	seconds, ok := resp.ParseLongDouble(b)
	if !ok {
		s.Fail(ErrTimeoutFloat)
		return 0
	}
	ms, ok := seconds.CeilThousandfold()
	switch {
	case !ok || ms > math.MaxInt64-startMS:
		s.Fail(ErrTimeoutRange)
		return 0
	case ms < 0:
		s.Fail(ErrTimeoutSign)
		return 0
	case ms == 0:
		return 0
	}
	return startMS + ms
}

// WaitEndMS returns when a wait of so many milliseconds is over, as Wait.DeadlineMS has it: 0, which
// is never, also if its end is beyond all time. No wait ends early: it counts from Ctx.CeilNowMS.
func (c *Ctx) WaitEndMS(timeoutMS int64) int64 {
	startMS := c.CeilNowMS()
	if timeoutMS == 0 || timeoutMS >= math.MaxInt64-startMS {
		return 0
	}
	return startMS + timeoutMS
}
