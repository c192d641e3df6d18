package stats

import (
	"maps"
	"slices"
	"strings"
)

// mostCodes limits the error codes that are counted separately, as in Redis, because scripts make their own
// codes.
const mostCodes = 128

// longestCode is the highest position in a reply of the blank that ends its code. A reply without such a
// blank counts as ERR.
const longestCode = 30

// Errors counts error replies by their first word. The zero value is ready for use.
type Errors struct {
	Total    int64 // all replies
	byCode   map[string]int64
	disabled bool // there were too many codes
}

// Count counts a reply; text begins with its code, without the '-' of the protocol.
func (e *Errors) Count(text string) {
	e.Total++
	if e.disabled {
		return
	}
	code := "ERR"
	if end := strings.IndexByte(text[:min(len(text), longestCode+1)], ' '); end >= 0 {
		code = text[:end]
	}
	if e.byCode == nil {
		e.byCode = make(map[string]int64)
	}
	if _, known := e.byCode[code]; !known {
		if len(e.byCode) == mostCodes {
			e.disabled, e.byCode = true, map[string]int64{"ERRORSTATS_DISABLED": 1}
			return
		}
		code = strings.Clone(code)
	}
	e.byCode[code]++
}

// Codes returns the counted codes, sorted.
func (e *Errors) Codes() []string { return slices.Sorted(maps.Keys(e.byCode)) }

// Of returns the number of replies with a code.
func (e *Errors) Of(code string) int64 { return e.byCode[code] }
