package client

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Terms are the terms of a new sale.
type Terms struct {
	Stock      int           // pieces
	Start, End time.Time     // when it is open; zero: no bound
	Limit      int           // pieces for each user; 0: the server's default
	Hold       time.Duration // how long an unconfirmed order is kept; 0: orders need not be confirmed
	HoldMax    time.Duration // how long [Sale.Extend] keeps an order at most, from its sale on; 0: no bound
	// Stream is the stream of the orders; empty: the server's default, "stream.orders". In a cluster the name
	// needs the hash tag of the voucher, as "orders:{shoe}" for the voucher "{shoe}".
	Stream  string
	Rate    Rate // of calls for each user; a Burst of 0 counts as 1; zero: no rate
	RateAll bool // the rate is for all users together
	Replace bool // an existing sale of the voucher is replaced, with its orders
}

// Create makes the sale. made is false if there is a sale with other terms: nothing has changed then. With
// Replace it is sent once, over the client's own connection: after an error of the connection it may have
// been done or not.
func (s Sale) Create(ctx context.Context, terms Terms) (made bool, err error) {
	words, expected, err := terms.words(s.voucher)
	if err != nil {
		return false, err
	}
	if terms.Replace {
		limited, cancel := context.WithTimeoutCause(ctx, s.client.limit, ErrNoAnswer)
		defer cancel()
		_, err = s.client.keeper.sendOnce(limited, s.voucher, words)
		return err == nil, replied(err)
	}
	_, err = s.client.again(ctx, words)
	var refused ReplyError
	if err == nil || !errors.As(err, &refused) || !strings.Contains(string(refused), "exists already") {
		return err == nil, err
	}
	there, ok, err := s.Info(ctx)
	return ok && expected.same(there), err
}

// words returns SECKILL.CREATE, and the expected reply of SECKILL.INFO for such a sale.
func (t Terms) words(voucher string) (words []string, expected SaleInfo, err error) {
	start, odd := unixMS("a start", t.Start)
	end, wrong := unixMS("an end", t.End)
	if err := cmp.Or(named("a voucher", voucher), atLeast(1, "a stock", t.Stock), atLeast(0, "a limit", t.Limit), odd, wrong); err != nil {
		return nil, SaleInfo{}, err
	}
	switch {
	case !t.Start.IsZero() && !t.End.IsZero() && !t.End.After(t.Start):
		return nil, SaleInfo{}, bad("an end that is not after the start")
	case t.RateAll && t.Rate == (Rate{}):
		return nil, SaleInfo{}, bad("RateAll without a Rate")
	}
	words = []string{"SECKILL.CREATE", voucher, "STOCK", strconv.Itoa(t.Stock)}
	expected = SaleInfo{Total: t.Stock, Limit: t.Limit, Hold: t.Hold, Stream: t.Stream}
	if !t.Start.IsZero() {
		words, expected.Start = append(words, "START", decimal(start)), time.UnixMilli(start)
	}
	if !t.End.IsZero() {
		words, expected.End = append(words, "END", decimal(end)), time.UnixMilli(end)
	}
	if t.Limit != 0 {
		words = append(words, "LIMIT", strconv.Itoa(t.Limit))
	}
	if t.Hold != 0 {
		ms, err := wholeMS("a hold", t.Hold)
		if err != nil {
			return nil, SaleInfo{}, err
		}
		words = append(words, "HOLD", decimal(ms))
	}
	if t.HoldMax != 0 {
		ms, err := wholeMS("the longest hold", t.HoldMax)
		if err != nil {
			return nil, SaleInfo{}, err
		}
		words, expected.HoldMax = append(words, "HOLDMAX", decimal(ms)), t.HoldMax
	}
	if t.Stream != "" {
		words = append(words, "STREAM", t.Stream)
	}
	if t.Rate != (Rate{}) {
		burst := cmp.Or(t.Rate.Burst, 1)
		ms, odd := wholeMS("a period", t.Rate.Period)
		if err := cmp.Or(atLeast(1, "a count", t.Rate.Count), atLeast(1, "a burst", burst), odd); err != nil {
			return nil, SaleInfo{}, err
		}
		words = append(words, "RATE", strconv.Itoa(t.Rate.Count), decimal(ms), "BURST", strconv.Itoa(burst))
		expected.Rate, expected.RateAll = Rate{burst, t.Rate.Count, t.Rate.Period}, t.RateAll
		if t.RateAll {
			words = append(words, "RATE-ALL")
		}
	}
	if t.Replace {
		words = append(words, "REPLACE")
	}
	return words, expected, nil
}

// SaleInfo describes a sale.
type SaleInfo struct {
	State                                       string // "pending", "open", "soldout" or "ended"
	Stock, Total, Sold, Held, Confirmed, Buyers int
	Start, End                                  time.Time // zero: no bound
	Limit                                       int       // pieces for each user; 0: the server's default
	Hold, HoldMax                               time.Duration
	Rate                                        Rate // zero: no rate
	RateAll                                     bool
	Stream                                      string
	StreamLength                                int
}

// same reports whether a sale has the requested terms. If no stream was named, any stream is accepted.
func (i SaleInfo) same(there SaleInfo) bool {
	return i.Total == there.Total && i.Start.Equal(there.Start) && i.End.Equal(there.End) && i.Limit == there.Limit && i.Hold == there.Hold && i.HoldMax == there.HoldMax &&
		i.Rate == there.Rate && i.RateAll == there.RateAll && (i.Stream == "" || i.Stream == there.Stream)
}

// Info returns the figures and the terms of the sale. ok is false if this voucher has no sale.
func (s Sale) Info(ctx context.Context) (info SaleInfo, ok bool, err error) {
	of, err := s.client.fields(ctx, s.voucher, "SECKILL.INFO", s.voucher)
	var refused ReplyError
	if errors.As(err, &refused) && strings.HasPrefix(string(refused), "ERR no such seckill") {
		return SaleInfo{}, false, nil
	}
	if err != nil || of == nil {
		return SaleInfo{}, false, err
	}
	ms := func(name string) time.Duration { return time.Duration(of.number(name)) * time.Millisecond }
	return SaleInfo{
		State: of.text("state"), Stock: of.number("stock"), Total: of.number("total"), Sold: of.number("sold"), Held: of.number("held"),
		Confirmed: of.number("confirmed"), Buyers: of.number("buyers"), Start: of.when("start"), End: of.when("end"), Limit: of.number("limit"),
		Hold: ms("hold"), HoldMax: ms("hold-max"), Rate: Rate{of.number("burst"), of.number("rate"), ms("rate-period")}, RateAll: of.number("rate-all") == 1, Stream: of.text("stream"),
		StreamLength: of.number("stream-length"),
	}, true, nil
}
