package demo

import (
	"fmt"
	"strconv"

	"lockserver/internal/resp"
)

// pageSize is the number of entries in one request for the data of the sale.
const pageSize = 500

// facts holds the data after the sale: on the server, in the ledger, and the answers to the users.
type facts struct {
	stock, users int

	left       int64            // pieces left, as the key of the stock says
	remembered int64            // number of buyers that the server remembers
	notBuyers  int              // users with an order who are not among the buyers
	length     int64            // length of the stream
	orders     map[string]order // orders in the stream, by their number
	perUser    map[string]int   // number of orders of each user in the stream
	pending    int64            // delivered and not acknowledged
	lag        int64            // never delivered
	said       map[string]int64 // the integer fields of SECKILL.INFO

	victim    *death // the killed worker
	takenOver int64  // orders taken over from the killed worker, or from a slow worker

	selling *selling
	ledger  *ledger
}

// look collects the facts from the server and the ledger.
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

// readLag reads how many orders were never delivered to the group.
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

// readInfo reads SECKILL.INFO.
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

// readOrders reads the whole stream. For each user in it, it asks whether the sale remembers the user.
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
