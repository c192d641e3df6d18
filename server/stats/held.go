package stats

const (
	// HeldUS is the length from which on a batch of commands, which delays all other clients, gets a line in
	// the log.
	HeldUS = 100_000
	// heldEveryUS is the time between two such lines.
	heldEveryUS = 10_000_000
)

// Held decides when a line about a long batch is due. The zero value is ready for use.
type Held struct {
	lastUS int64 // time of the last line; 0: never
	silent int   // batches without a line since then
}

// Due reports whether a long batch that has just ended gets a line, and how many earlier batches got none.
func (h *Held) Due(nowUS int64) (silent int, due bool) {
	if since := nowUS - h.lastUS; h.lastUS != 0 && since >= 0 && since < heldEveryUS { // below 0: the clock was set back
		h.silent++
		return 0, false
	}
	silent = h.silent
	h.lastUS, h.silent = nowUS, 0
	return silent, true
}
