package commands

import (
	"math"

	"lockserver/internal/resp"
)

// Deadline reads the number of seconds to wait, a floating point number. It returns the end of the wait in
// milliseconds since 1970, or 0 for no end. It rounds up to whole milliseconds. startMS is Ctx.CeilNowMS.
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

// WaitEndMS returns the end of a wait of timeoutMS for Wait.DeadlineMS. 0 means no end, also if the end is
// too far for an int64. No wait ends early: it counts from Ctx.CeilNowMS.
func (c *Ctx) WaitEndMS(timeoutMS int64) int64 {
	startMS := c.CeilNowMS()
	if timeoutMS == 0 || timeoutMS >= math.MaxInt64-startMS {
		return 0
	}
	return startMS + timeoutMS
}
