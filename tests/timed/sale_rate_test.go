package timed

import (
	"fmt"
	"strconv"
)

// tooFast is the reply of SECKILL to a user who asks faster than the rate.
const tooFast = 6

// sale is a sale with a rate, and the history of its limiters: one for each user, or one for all.
type sale struct {
	voucher string
	terms   terms
	all     bool
	orders  int
	users   []*limiter
}

// openSales opens a sale with a rate for each user, and one with a rate for all.
func (w *limitWorld) openSales() error {
	for i := range 2 {
		r := w.random
		s := &sale{voucher: fmt.Sprint("voucher:", i), terms: terms{burst: 1 + r.Int64N(4), count: 1 + r.Int64N(7), periodMS: 1 + r.Int64N(100)}, all: i == 1}
		words := []string{"SECKILL.CREATE", s.voucher, "STOCK", "1000000", "LIMIT", "1000000", "STREAM", "orders",
			"RATE", fmt.Sprint(s.terms.count), fmt.Sprint(s.terms.periodMS), "BURST", fmt.Sprint(s.terms.burst)}
		if s.all {
			words = append(words, "RATE-ALL")
		}
		if v, err := w.admin.Call(words...); err != nil || v.IsError() {
			return fmt.Errorf("%q: %s %w", words, v, err)
		}
		for user := range 2 {
			s.users = append(s.users, &limiter{key: fmt.Sprint("user:", user), terms: s.terms})
		}
		w.sales = append(w.sales, s)
	}
	return nil
}

// order sends a few orders of a user.
func (w *limitWorld) order() error {
	s := w.sales[w.random.IntN(len(w.sales))]
	user := s.users[w.random.IntN(len(s.users))]
	for range 1 + w.random.IntN(4) {
		if err := w.orderOnce(s, user); err != nil {
			return err
		}
	}
	return nil
}

// orderOnce sends one order. Each reply but "too fast" takes a unit of the rate.
func (w *limitWorld) orderOnce(s *sale, user *limiter) error {
	s.orders++
	v, err := w.admin.Call("SECKILL", s.voucher, user.key, "order:"+strconv.Itoa(s.orders))
	switch {
	case err != nil || v.IsError():
		return fmt.Errorf("SECKILL: %s %w", v, err)
	case v.Int == tooFast:
		w.counts["too fast"]++
		return nil
	case v.Int != 0:
		return &violation{fmt.Sprintf("an order of %s was answered with %s", s.voucher, v)}
	}
	w.counts["orders"]++
	if s.all {
		user = s.users[0]
	}
	return granted([]*limiter{user}, w.elapsed, 1)
}

// keys returns the names of everything that has a rate.
func (w *limitWorld) keys() (names []string) {
	for _, l := range w.limiters {
		names = append(names, l.key)
	}
	for _, s := range w.sales {
		names = append(names, s.rates())
	}
	return names
}

// rates returns the key of a sale's limiters.
func (s *sale) rates() string { return "seckill:rates:" + s.voucher }

// closeSales checks that no full limiter is left, and removes the sales.
func (w *limitWorld) closeSales() error {
	for _, s := range w.sales {
		if v, err := w.admin.Call("EXISTS", s.rates()); err != nil || v.Int != 0 {
			return &violation{fmt.Sprintf("the idle limiters of %s are still there (%v)", s.voucher, err)}
		}
		for _, pattern := range []string{"seckill:*" + s.voucher, "orders"} {
			found, err := w.admin.Call("KEYS", pattern)
			if err != nil {
				return err
			}
			for _, key := range found.Elems {
				if v, err := w.admin.Call("DEL", key.Str); err != nil || v.IsError() {
					return fmt.Errorf("DEL %s: %s %w", key.Str, v, err)
				}
			}
		}
	}
	return nil
}
