package client_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/tests/testkit"
)

// TestAsk: the holders of a lock hear that another client would like to have it, and why. The last reason is
// there until it is received, and the lock stays as it is.
func TestAsk(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, _ *testkit.Client) {
		other := n.client(t)
		heard, err := other.Ask(ctx, "k", "a deploy begins")
		require.NoError(t, err)
		require.Zero(t, heard, "it is free")
		outer, err := c.Lock(c.Task(ctx), "k")
		require.NoError(t, err)
		inner, err := c.Lock(outer.Context(), "k")
		require.NoError(t, err)
		for _, reason := range []string{"", "a deploy begins"} {
			heard, err = other.Ask(ctx, "k", reason)
			require.NoError(t, err)
			require.Equal(t, 1, heard)
		}
		synctest.Wait()
		for _, l := range []*client.Lock{inner, outer} {
			require.Equal(t, "a deploy begins", <-l.Asked())
			require.Empty(t, l.Asked())
			require.NoError(t, l.Context().Err())
			require.NoError(t, l.Unlock(ctx))
		}
		p, err := c.Semaphore("s", 2).Acquire(ctx)
		require.NoError(t, err)
		heard, err = other.Ask(ctx, "s", "room")
		require.NoError(t, err)
		require.Equal(t, 1, heard)
		require.Equal(t, "room", <-p.Asked())
		require.NoError(t, p.Release(ctx))
		_, err = c.Ask(ctx, "", "")
		require.ErrorIs(t, err, client.ErrValue)
		_, err = c.Ask(ctx, "k", strings.Repeat("x", 1025))
		require.ErrorIs(t, err, client.ErrValue)
	})
}

// TestExtendAndPart: the hold of an order is prolonged, up to the bound of the sale. A part of an order comes
// back, and is sent once.
func TestExtendAndPart(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		sale := c.Sale("shoe")
		terms := client.Terms{Stock: 5, Hold: time.Minute, HoldMax: time.Hour, Limit: 5}
		for range 2 {
			made, err := sale.Create(ctx, terms)
			require.NoError(t, err)
			require.True(t, made)
		}
		terms.HoldMax = 2 * time.Hour
		made, err := sale.Create(ctx, terms)
		require.NoError(t, err)
		require.False(t, made, "it has another bound")
		outcome, err := sale.Buy(ctx, "ann", "1", 3)
		require.NoError(t, err)
		require.Equal(t, client.Sold, outcome)
		done, err := sale.Extend(ctx, "ann", "1", 30*time.Minute)
		require.NoError(t, err)
		require.True(t, done)
		time.Sleep(20 * time.Minute)
		var reply client.ReplyError
		_, err = sale.Extend(ctx, "ann", "1", time.Hour)
		require.ErrorAs(t, err, &reply)
		done, err = sale.CancelPart(ctx, "ann", "1", 2)
		require.NoError(t, err)
		require.True(t, done)
		info, _, err := sale.Info(ctx)
		require.NoError(t, err)
		require.Equal(t, []any{4, 1, time.Hour}, []any{info.Stock, info.Held, info.HoldMax})
		n.breakSome(1)
		time.Sleep(time.Second)
		n.loseAnswer()
		_, err = sale.CancelPart(ctx, "ann", "1", 1)
		require.Error(t, err, "the answer is lost")
		time.Sleep(time.Second)
		require.Regexp(t, "^gone ", op.Do("HGET", "seckill:orders:shoe", "1").Str)
		done, err = sale.Extend(ctx, "ann", "1", time.Minute)
		require.NoError(t, err)
		require.False(t, done)
		_, err = sale.CancelPart(ctx, "ann", "1", 0)
		require.ErrorIs(t, err, client.ErrValue)
		_, err = sale.Extend(ctx, "ann", "1", 0)
		require.ErrorIs(t, err, client.ErrValue)
	})
}

// TestCart: a cart is bought as a whole or not at all, and gets the same answer again.
func TestCart(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, _ *testkit.Client) {
		for voucher, stock := range map[string]int{"shoe": 2, "hat": 1} {
			made, err := c.Sale(voucher).Create(ctx, client.Terms{Stock: stock, Limit: 2})
			require.NoError(t, err)
			require.True(t, made)
		}
		cart := []client.CartPart{{Voucher: "shoe", Pieces: 1}, {Voucher: "hat", Pieces: 1}}
		n.loseAnswer()
		for range 2 {
			refused, outcome, err := c.BuyCart(ctx, "ann", "1", cart)
			require.NoError(t, err)
			require.Equal(t, []any{-1, client.Sold}, []any{refused, outcome})
		}
		refused, outcome, err := c.BuyCart(ctx, "ben", "2", cart)
		require.NoError(t, err)
		require.Equal(t, []any{1, client.SoldOut}, []any{refused, outcome})
		info, _, err := c.Sale("shoe").Info(ctx)
		require.NoError(t, err)
		require.Equal(t, 1, info.Stock, "nothing of the refused cart was sold")
		for _, wrong := range [][]client.CartPart{nil, {{Voucher: "", Pieces: 1}}, {{Voucher: "shoe"}}, make([]client.CartPart, 65)} {
			_, _, err = c.BuyCart(ctx, "ann", "3", wrong)
			require.ErrorIs(t, err, client.ErrValue)
		}
	})
}
