package demo

import (
	"fmt"
	"strconv"

	"lockserver/internal/resp"
)

// pageSize is how much is asked for at a time when everything is looked at.
const pageSize = 500

// facts are the data after the sale: on the server, in the ledger, and the answers that the users got.
type facts struct {
	stock, users int

	left       int64            // what the key of the stock says
	remembered int64            // how many buyers the server has
	notBuyers  int              // users with an order who are not among the buyers
	length     int64            // of the stream
	orders     map[string]order // those in the stream, by their number
	perUser    map[string]int   // how many orders a user has there
	pending    int64            // delivered and not acknowledged
	lag        int64            // never delivered
	said       map[string]int64 // what SECKILL.INFO says, as far as it is numbers

	victim    *death // the worker who was killed
	takenOver int64  // orders that were taken over from him, or from one who was slow

	selling *selling
	ledger  *ledger
}

// look collects the facts.
func look(c *conn, s *sale, w *crew, sold *selling) (*facts, error) {
	f := &facts{stock: w.options.Stock, users: w.options.Users,
		orders: make(map[string]order), perUser: make(map[string]int),
		victim: w.victim.Load(), takenOver: w.redelivered.Load(), selling: sold, ledger: w.ledger}
	v, err := c.do("GET", s.stock)
	if err != nil {
		return nil, err
	}
	if f.left, err = strconv.ParseInt(v.Str, 10, 64); err != nil {
		return nil, fmt.Errorf("the stock is %s: %w", v, err)
	}
	if f.remembered, err = c.integer("SCARD", s.buyers); err != nil {
		return nil, err
	}
	if f.length, err = c.integer("XLEN", s.stream); err != nil {
		return nil, err
	}
	if f.pending, err = pendingOrders(c, s); err != nil {
		return nil, err
	}
	if err := f.readLag(c, s); err != nil {
		return nil, err
	}
	if err := f.readInfo(c, s); err != nil {
		return nil, err
	}
	return f, f.readOrders(c, s)
}

// readLag looks up how many orders the group was never given.
func (f *facts) readLag(c *conn, s *sale) error {
	v, err := c.do("XINFO", "GROUPS", s.stream)
	if err != nil {
		return err
	}
	for _, group := range v.Elems {
		for i := 0; i+1 < len(group.Elems); i += 2 {
			if lag := group.Elems[i+1]; group.Elems[i].Str == "lag" && lag.Kind == resp.Integer {
				f.lag = lag.Int
				return nil
			}
		}
	}
	return fmt.Errorf("XINFO GROUPS: answered %s", v)
}

// readInfo asks what the server itself makes of the sale.
func (f *facts) readInfo(c *conn, s *sale) error {
	v, err := c.do("SECKILL.INFO", s.voucher)
	if err != nil {
		return err
	}
	f.said = make(map[string]int64)
	for i := 0; i+1 < len(v.Elems); i += 2 {
		if value := v.Elems[i+1]; value.Kind == resp.Integer {
			f.said[v.Elems[i].Str] = value.Int
		}
	}
	return nil
}

// readOrders reads the whole stream, and asks for each user in it whether the sale remembers him.
func (f *facts) readOrders(c *conn, s *sale) error {
	for from := "-"; ; {
		v, err := c.do("XRANGE", s.stream, from, "+", "COUNT", strconv.Itoa(pageSize))
		if err != nil {
			return err
		}
		page, err := entries(v)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return nil
		}
		from = "(" + page[len(page)-1].id
		ask := []string{"SMISMEMBER", s.buyers}
		for _, o := range page {
			f.orders[o.number] = o
			f.perUser[o.user]++
			ask = append(ask, o.user)
		}
		if v, err = c.do(ask...); err != nil {
			return err
		}
		for _, is := range v.Elems {
			if is.Int == 0 {
				f.notBuyers++
			}
		}
	}
}
