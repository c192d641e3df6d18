package demo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"lockserver/internal/resp"
)

// sale holds the names of a sale's keys.
type sale struct {
	voucher string
	stock   string // key of the remaining stock
	buyers  string // key of the set of buyers
	stream  string // key of the stream of orders
	group   string // the workers' consumer group of the stream
	// made lists the keys that this sale has made. The demo never removes another key.
	made []string
}

// errNoSales is returned by Run when the server does not know the command.
var errNoSales = errors.New("the server has no command SECKILL.CREATE: it is no lockserver, or an old one")

// newSale checks that the server knows sales, and returns an error if one of the keys already exists.
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

// keys lists all keys of the sale on the server.
func (s *sale) keys() []string {
	list := []string{s.stock, s.buyers, s.stream, s.stream + ":cancelled"}
	for _, kept := range []string{"sale", "orders", "pieces", "holds"} {
		list = append(list, "seckill:"+kept+":"+s.voucher)
	}
	return list
}

// open puts the pieces on sale and makes the workers' group. The server refuses if another client has
// meanwhile opened a sale with the same name.
func (s *sale) open(c *conn, stock int) error {
	if _, err := c.do("SECKILL.CREATE", s.voucher, "STOCK", strconv.Itoa(stock), "STREAM", s.stream); err != nil {
		return err
	}
	s.made = s.keys()
	_, err := c.do("XGROUP", "CREATE", s.stream, s.group, "0", "MKSTREAM")
	return err
}

// remove deletes the sale's keys, also after an interruption, unless an option keeps them.
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
