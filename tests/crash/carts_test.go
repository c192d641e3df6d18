package crash

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// cartSales are the two sales of each cart. A cart has cartQty pieces of each. Their holds are longer than
// the tests take.
var cartSales = []string{"cart-a", "cart-b"}

const cartQty = 2

// cartState is a client's knowledge about its cart.
type cartState struct {
	sold  bool  // acknowledged
	endMS int64 // the earliest end of the hold of the first part, in milliseconds since 1970
	// back and backUnsure are the pieces of the second part that came back, and those that may have.
	back, backUnsure int
}

// beginCarts opens the sales.
func beginCarts(t *testing.T, c *testkit.Client) {
	t.Helper()
	for _, s := range cartSales {
		require.Equal(t, "OK", c.Do("SECKILL.CREATE", s, "STOCK", strconv.Itoa(stockOfTheSale), "LIMIT", strconv.Itoa(stockOfTheSale),
			"HOLD", strconv.Itoa(leaseMS), "STREAM", "orders:"+s).Str)
	}
}

// buyCart returns the command of a cart.
func (w *worker) buyCart(order string) []string {
	args := []string{"SECKILL.CART", w.name, order, strconv.Itoa(len(cartSales))}
	for _, s := range cartSales {
		args = append(args, s, strconv.Itoa(cartQty))
	}
	return args
}

// fill buys a cart, or changes one of the latest ones: its first part is held longer, or a piece of its
// second part comes back.
func (w *worker) fill(c *testkit.Client, chance *rand.Rand) error {
	what, n := chance.IntN(4), len(w.carts)-1-chance.IntN(3)
	if n < 0 || what < 2 {
		w.carts = append(w.carts, cartState{})
		n = len(w.carts) - 1
		v, err := c.Call(w.buyCart(w.cartID(n))...)
		w.carts[n].sold = err == nil && w.expect(v, 0)
		return err
	}
	cart := &w.carts[n]
	if what == 2 {
		ms := int64(leaseMS + chance.IntN(leaseMS))
		endMS := time.Now().UnixMilli() + ms
		v, err := c.Call("SECKILL.EXTEND", cartSales[0], w.name, w.cartID(n), strconv.FormatInt(ms, 10))
		if err == nil && w.expect(v, 1) {
			cart.endMS = max(cart.endMS, endMS)
		}
		return err
	}
	if cart.back+cart.backUnsure == cartQty-1 {
		return nil
	}
	v, err := c.Call("SECKILL.CANCEL", cartSales[1], w.name, w.cartID(n), "QTY", "1")
	switch {
	case err != nil:
		cart.backUnsure++
	case w.expect(v, 1):
		cart.back++
	}
	return err
}

// cartID returns the order id of a cart.
func (w *worker) cartID(n int) string { return w.name + "-cart-" + strconv.Itoa(n) }

// expect records a reply that is not the number.
func (w *worker) expect(v resp.Value, n int64) bool {
	if v.Kind == resp.Integer && v.Int == n {
		return true
	}
	w.wrong = append(w.wrong, v.String())
	return false
}

// checkCarts fails unless each acknowledged cart is sold in both sales, with what was acknowledged later,
// and each other cart in both or in none. The same call again then has one answer and sells once.
func checkCarts(t *testing.T, c *testkit.Client, workers []*worker) {
	t.Helper()
	first, second := readCarts(t, c)
	require.Equal(t, slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second)), "half a cart")
	for _, w := range workers {
		require.Empty(t, w.wrong, "%s: replies", w.name)
		for n, cart := range w.carts {
			id := w.cartID(n)
			qty, there := second[id]
			require.True(t, there || !cart.sold, "the acknowledged cart %s is lost", id)
			if there {
				require.Equal(t, cartQty, first[id], id)
				require.GreaterOrEqual(t, qty, cartQty-cart.back-cart.backUnsure, id)
				require.LessOrEqual(t, qty, cartQty-cart.back, "an acknowledged piece of %s did not come back", id)
				require.GreaterOrEqual(t, c.Do("ZSCORE", "seckill:holds:"+cartSales[0], id).Str, strconv.FormatInt(cart.endMS, 10), "the hold of %s", id)
			}
			if n < len(w.carts)-1 && !there {
				continue // the call was lost with its server, and no client asks again
			}
			for range 2 {
				require.Equal(t, "0", c.Do(w.buyCart(id)...).String(), id)
			}
			w.carts[n].sold = true
		}
	}
	again, both := readCarts(t, c)
	require.Equal(t, slices.Sorted(maps.Keys(again)), slices.Sorted(maps.Keys(both)), "half a cart")
}

// readCarts returns the pieces of the orders of each of the two sales. The sums of each must be right.
func readCarts(t *testing.T, c *testkit.Client) (first, second map[string]int) {
	t.Helper()
	var of [2]map[string]int
	for i, s := range cartSales {
		replies, err := c.CallPipeline([][]string{{"MULTI"}, {"HGETALL", "seckill:orders:" + s}, {"GET", "seckill:stock:" + s}, {"XLEN", "orders:" + s}, {"EXEC"}})
		require.NoError(t, err)
		reply, sold := replies[4].Elems, 0
		of[i] = map[string]int{}
		for n := 0; n+1 < len(reply[0].Elems); n += 2 {
			words := strings.Fields(reply[0].Elems[n+1].Str) // the state, the pieces and the user
			qty, err := strconv.Atoi(words[1])
			require.NoError(t, err)
			of[i][reply[0].Elems[n].Str] = qty
			sold += qty
		}
		require.Equal(t, strconv.Itoa(stockOfTheSale-sold), reply[1].Str, "the pieces of %s", s)
		require.EqualValues(t, len(of[i]), reply[2].Int, "the stream of %s has each order once", s)
	}
	return of[0], of[1]
}

// The limiter of each worker. Its rate is so slow that no unit comes back by itself.
const (
	unitsOfAll = 100
	unitMS     = 1_000_000_000
)

// takeOrGive takes a unit of the worker's limiter, or gives one back.
func (w *worker) takeOrGive(c *testkit.Client, chance *rand.Rand) error {
	command, change := "LIMIT.TAKE", 1
	if w.units > 0 && chance.IntN(2) == 0 || w.units == unitsOfAll/2 {
		command, change = "LIMIT.GIVE", -1
	}
	w.unitsUnsure = change
	v, err := c.Call(command, "units:"+w.name, strconv.Itoa(unitsOfAll), "1", strconv.Itoa(unitMS))
	if err != nil {
		return err
	}
	w.unitsUnsure = 0
	w.units += change
	if len(v.Elems) != 5 || v.Elems[0].Int != 1 {
		w.wrong = append(w.wrong, v.String())
	}
	return nil
}

// checkUnits fails unless the limiter lacks the units that are taken and not given back.
func (w *worker) checkUnits(t *testing.T, c *testkit.Client) {
	t.Helper()
	v := c.Do("LIMIT.TAKE", "units:"+w.name, strconv.Itoa(unitsOfAll), "1", strconv.Itoa(unitMS), "COST", "0")
	taken := unitsOfAll - int(v.Elems[2].Int)
	require.Contains(t, []int{w.units, w.units + w.unitsUnsure}, taken, "%s: units that are taken", w.name)
	w.units, w.unitsUnsure = taken, 0
}

// ask asks the holders of the shared lock to let go. Nothing of it is kept.
func (w *worker) ask(c *testkit.Client) error {
	v, err := c.Call("LOCK.ASK", "shared")
	if err == nil && v.Kind != resp.Integer {
		w.wrong = append(w.wrong, v.String())
	}
	return err
}
