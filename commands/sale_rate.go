package commands

import (
	"lockserver/internal/gcra"
	"lockserver/internal/keyevent"
	"lockserver/store"
)

// The rate of a sale (SECKILL.CREATE ... RATE). Its limiters are fields of one hash, a user each, or one
// field for all users (RATE-ALL). A field expires when its limiter is full: an idle user takes no memory.

// saleRate has the fields of a sale's hash about its rate.
type saleRate struct {
	count, periodMS, burst int64 // count 0: there is none
	all                    bool  // one limiter for the whole sale
}

// ask is one call of SECKILL as its rate sees it.
type ask struct {
	field []byte
	state gcra.State // of the limiter after it
	taken bool       // the state has changed
}

// everyone is the field of the limiter of a whole sale. Such a sale has no limiters of users.
var everyone = []byte("*")

// limiter returns the rate, and false if it makes no sense.
func (r *saleRate) limiter() (gcra.Rate, bool) {
	return gcra.NewRate(max(r.burst, 1), r.count, r.periodMS)
}

// admits reports whether the rate of the sale, if it has one, allows the call. It changes nothing: keepAsk
// does.
func (p *purchase) admits(c *Ctx) (bool, error) {
	if p.sale.rate.count == 0 {
		return true, nil
	}
	rate, ok := p.sale.rate.limiter()
	if !ok {
		return false, ErrSaleField(rateField)
	}
	nowNS, ok := gcra.NowNS(c.DB.Store().NowUS())
	if !ok {
		return false, ErrLimitClock
	}
	if p.ask.field = p.user; p.sale.rate.all {
		p.ask.field = everyone
	}
	r := c.DB.Peek(saleKey(c, ratesPrefix, p.voucher))
	if !r.Is(store.Hash) {
		return false, ErrWrongType
	}
	var state gcra.State
	if r.OK() {
		if text, has := r.Hash().Get(nil, p.ask.field); has {
			if state, ok = gcra.Parse(text); !ok {
				return false, ErrLimitState
			}
		}
	}
	// plant:sale-rate
	a := rate.Take(state, nowNS, 1)
	p.ask.state, p.ask.taken = a.State, a.Allowed || a.Emptied
	return a.Allowed, nil
}

// keepAsk writes what a call has changed of its limiter, once its answer is certain.
func (p *purchase) keepAsk(c *Ctx) {
	if !p.ask.taken {
		return
	}
	var text [64]byte
	key := saleKey(c, ratesPrefix, p.voucher)
	h := c.DB.EditHash(key)
	h.Set(p.ask.field, p.ask.state.AppendTo(text[:0]))
	h.AllowDeadlines()
	h.ExpireField(p.ask.field, p.ask.state.EndMS())
	c.Notify(keyevent.Hash, "hset", key)
	c.Notify(keyevent.Hash, "hexpire", key)
}

// readRate reads what follows RATE: a count and a period in milliseconds.
func (o *createCall) readRate(a *Scanner) {
	o.rate.count, o.rate.periodMS = a.IntOr(ErrSaleRate), a.IntOr(ErrSaleRate)
	if o.rate.count < 1 || o.rate.periodMS < 1 {
		a.Fail(ErrSaleRate)
	}
}

// checkRate checks the rate as a whole.
func (o *createCall) checkRate(a *Scanner, burst bool) {
	if o.rate.count == 0 {
		if burst || o.rate.all {
			a.Syntax()
		}
		return
	}
	if _, ok := o.rate.limiter(); !ok {
		a.Fail(ErrLimitLong)
	}
}

// write writes the rate into the hash of the sale.
func (r *saleRate) write(h *store.HashEdit) {
	if r.count == 0 {
		return
	}
	h.SetInt(rateField, r.count)
	h.SetInt(periodField, r.periodMS)
	h.SetInt(burstField, max(r.burst, 1))
	if r.all {
		h.SetInt(rateAllField, 1)
	}
}

// writeRate writes the four fields of SECKILL.INFO about the rate; none if there is no rate.
func (s *sale) writeRate(c *Ctx) {
	if s.rate.count == 0 {
		return
	}
	all := int64(0)
	if s.rate.all {
		all = 1
	}
	for _, f := range []struct {
		name  string
		value int64
	}{{"rate", s.rate.count}, {"rate-period", s.rate.periodMS}, {"burst", max(s.rate.burst, 1)}, {"rate-all", all}} {
		c.Out.BulkString(f.name)
		c.Out.Int(f.value)
	}
}
