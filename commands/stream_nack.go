package commands

import (
	"math"

	"lockserver/store"
	"lockserver/store/stream"
)

// nackCall holds the arguments of XNACK.
type nackCall struct {
	mode       string // SILENT, FAIL or FATAL
	ids        []stream.ID
	force      bool
	retryCount int64 // -1 means that the mode decides
}

// xnack gives back entries that a consumer cannot process (Redis 8.8). They stay pending without a consumer,
// and may be claimed at once. Entries that were deleted from the stream are no longer pending, as in XCLAIM.
func xnack(c *Ctx) error {
	a := c.Args()
	key, name := a.Key(), a.Bytes()
	call := nackCall{retryCount: -1}
	call.read(a)
	if err := a.Err(); err != nil {
		return err
	}
	e, g, err := openGroup(c, key, name)
	if err != nil {
		return err
	}
	if e == nil {
		return ErrNoKeyOrGroup(key, name)
	}
	n := int64(0)
	for _, id := range call.ids {
		n += countIf(call.release(g, id))
	}
	c.Out.Int(n)
	return nil
}

func (x *nackCall) read(a *Scanner) {
	switch w := a.Option(); w {
	case "SILENT", "FAIL", "FATAL":
		x.mode = w
	default:
		a.Syntax()
	}
	if !a.IsNext("IDS") {
		a.Fail(ErrStreamIDsMissing)
	}
	for _, text := range countedIDs(a) {
		id, ok := parseStreamID(text, 0)
		if !ok {
			a.Fail(ErrStreamID)
		}
		x.ids = append(x.ids, id)
	}
	for a.More() {
		switch {
		case a.IsNext("FORCE"):
			x.force = true
		case a.IsNext("RETRYCOUNT"):
			x.retryCount = a.Uint()
		case a.MaybeOption() != "": // a mode, or a second IDS
			a.Syntax()
		default:
			a.Fail(ErrStreamIDsMatch)
		}
	}
}

// release gives one entry back, and reports whether it was pending or is pending now.
func (x *nackCall) release(g *store.GroupEdit, id stream.ID) bool {
	p, pending := g.Group().Pending(id)
	switch {
	case !g.Stream().Has(id):
		g.Acknowledge(id)
		return false
	case !pending && !x.force:
		return false
	case !pending:
		p.ID = id
	}
	switch {
	case x.retryCount >= 0:
		p.Deliveries = uint64(x.retryCount)
	case x.mode == "FATAL":
		p.Deliveries = math.MaxInt64
	case x.mode == "SILENT" && p.Deliveries > 0:
		p.Deliveries--
	}
	g.Release(p)
	return true
}
