package demo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"lockserver/internal/resp"
)

// sale is what is sold, and where it is kept.
type sale struct {
	voucher string
	stock   string // key of what is left
	buyers  string // key of the set of those who have bought
	stream  string // key of the orders
	group   string // the workers' group on it
	// made are the keys that are there because of this sale. No other one is ever removed.
	made []string
}

// errNoSales is returned by Run when the server does not know the command.
var errNoSales = errors.New("the server has no command SECKILL.CREATE: it is no lockserver, or an old one")

// newSale finds out whether the server knows sales, and refuses if one of the keys is there already.
func newSale(c *conn, o Options) (*sale, error) {
	s := &sale{voucher: o.Name, stock: "seckill:stock:" + o.Name, buyers: "seckill:order:" + o.Name,
		stream: o.Name + ":orders", group: "workers"}
	known, err := c.do("COMMAND", "INFO", "SECKILL.CREATE")
	if err != nil {
		return nil, err
	}
	if len(known.Elems) != 1 || known.Elems[0].Kind != resp.Array {
		return nil, errNoSales
	}
	for _, key := range s.keys() {
		n, err := c.integer("EXISTS", key)
		if err != nil {
			return nil, err
		}
		if n != 0 {
			return nil, fmt.Errorf("the key %q exists already; nothing was touched", key)
		}
	}
	return s, nil
}

// keys are all that the server keeps of the sale.
func (s *sale) keys() []string {
	list := []string{s.stock, s.buyers, s.stream, s.stream + ":cancelled"}
	for _, kept := range []string{"sale", "orders", "pieces", "holds"} {
		list = append(list, "seckill:"+kept+":"+s.voucher)
	}
	return list
}

// open puts the pieces on sale and makes the workers' group. The server refuses if another client has opened
// a sale of that name in the meantime.
func (s *sale) open(c *conn, stock int) error {
	if _, err := c.do("SECKILL.CREATE", s.voucher, "STOCK", strconv.Itoa(stock), "STREAM", s.stream); err != nil {
		return err
	}
	s.made = s.keys()
	_, err := c.do("XGROUP", "CREATE", s.stream, s.group, "0", "MKSTREAM")
	return err
}

// remove takes the sale's keys away, also when everything else was interrupted, unless they are to be kept.
func (s *sale) remove(ctx context.Context, o Options) error {
	if o.Keep || len(s.made) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	c, err := connect(ctx, o)
	if err != nil {
		return fmt.Errorf("the keys of the sale %q are left: %w", s.voucher, err)
	}
	defer c.close()
	if _, err = c.do(append([]string{"UNLINK"}, s.made...)...); err != nil {
		return fmt.Errorf("the keys of the sale %q are left: %w", s.voucher, err)
	}
	return nil
}
