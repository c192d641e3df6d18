package demo

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"lockserver/internal/resp"
)

// order is an entry of the stream.
type order struct {
	id                    string // ID of the entry
	user, voucher, number string
}

// worker reads orders from the stream, writes them, and then acknowledges them. If a worker dies in between,
// its orders are delivered again, and no order is lost.
type worker struct {
	*crew
	name string
	c    *conn
}

// run works until nothing is left to do, or the worker is killed.
func (w *worker) run(ctx context.Context) error {
	for {
		// Orders that are missing in a read that begins after the last sale never come.
		last := w.soldOut.Load()
		batch, err := w.read()
		if err == nil && len(batch) == 0 {
			batch, err = w.takeOver()
		}
		if err != nil {
			return cause(ctx, err)
		}
		if len(batch) == 0 {
			left, err := pendingOrders(w.c, w.sale)
			if err != nil {
				return cause(ctx, err)
			}
			if last && left == 0 {
				return nil
			}
			continue
		}
		half := (len(batch) + 1) / 2
		if d := (death{worker: w.name, written: half, pending: len(batch)}); w.chooses(d) {
			err := w.write(ctx, batch[:half])
			w.c.close()
			w.onDeath(d)
			return err
		}
		if err := w.write(ctx, batch); err != nil {
			return err
		}
		if err := w.acknowledge(batch); err != nil {
			return cause(ctx, err)
		}
	}
}

// cause returns the reason of a failure. If the context has ended it is the context's error, because the end
// of the context breaks connections.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// read takes undelivered orders. It waits idleFor for the first order.
func (w *worker) read() ([]order, error) {
	v, err := w.c.do("XREADGROUP", "GROUP", w.sale.group, w.name, "COUNT", strconv.Itoa(batchSize),
		"BLOCK", strconv.FormatInt(idleFor.Milliseconds(), 10), "STREAMS", w.sale.stream, ">")
	if err != nil || v.IsNull() {
		return nil, err
	}
	if len(v.Elems) != 1 || len(v.Elems[0].Elems) != 2 {
		return nil, fmt.Errorf("XREADGROUP: answered %s", v)
	}
	return entries(v.Elems[0].Elems[1])
}

// takeOver takes orders that have been pending for another worker for too long.
func (w *worker) takeOver() ([]order, error) {
	v, err := w.c.do("XAUTOCLAIM", w.sale.stream, w.sale.group, w.name,
		strconv.FormatInt(takeOverAfter.Milliseconds(), 10), "0", "COUNT", strconv.Itoa(batchSize))
	if err != nil {
		return nil, err
	}
	if len(v.Elems) < 2 {
		return nil, fmt.Errorf("XAUTOCLAIM: answered %s", v)
	}
	batch, err := entries(v.Elems[1])
	w.redelivered.Add(int64(len(batch)))
	return batch, err
}

// write imitates a transaction of a database.
func (w *worker) write(ctx context.Context, batch []order) error {
	select {
	case <-time.After(commitTime):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for _, o := range batch {
		w.count.written.Store(int64(w.ledger.insert(o)))
	}
	return nil
}

// acknowledge tells the server that the orders need not be delivered again.
func (w *worker) acknowledge(batch []order) error {
	args := []string{"XACK", w.sale.stream, w.sale.group}
	for _, o := range batch {
		args = append(args, o.id)
	}
	_, err := w.c.integer(args...)
	return err
}

// pendingOrders returns how many orders were delivered and not acknowledged.
func pendingOrders(c *conn, s *sale) (int64, error) {
	v, err := c.do("XPENDING", s.stream, s.group)
	if err != nil {
		return 0, err
	}
	if len(v.Elems) == 0 || v.Elems[0].Kind != resp.Integer {
		return 0, fmt.Errorf("XPENDING: answered %s", v)
	}
	return v.Elems[0].Int, nil
}

// entries parses a reply with a list of stream entries.
func entries(v resp.Value) ([]order, error) {
	list := make([]order, 0, len(v.Elems))
	for _, e := range v.Elems {
		if len(e.Elems) != 2 {
			return nil, fmt.Errorf("an entry that is none: %s", e)
		}
		o, fields := order{id: e.Elems[0].Str}, e.Elems[1].Elems
		for i := 0; i+1 < len(fields); i += 2 {
			switch value := fields[i+1].Str; fields[i].Str {
			case "userId":
				o.user = value
			case "voucherId":
				o.voucher = value
			case "id":
				o.number = value
			}
		}
		if o.user == "" || o.voucher == "" || o.number == "" {
			return nil, fmt.Errorf("an order without its fields: %s", e)
		}
		list = append(list, o)
	}
	return list, nil
}
