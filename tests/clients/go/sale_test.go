package clients

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// saleScript sells one piece of voucher ARGV[1] to user ARGV[2] as order ARGV[3], and hands the order to the
// workers. It returns 0 if it is sold, 1 if there is none left, 2 if the user has one.
const saleScript = `
local voucher, user, order = ARGV[1], ARGV[2], ARGV[3]
local stock = 'seckill:stock:' .. voucher
local buyers = 'seckill:order:' .. voucher
if tonumber(redis.call('get', stock)) <= 0 then
	return 1
end
if redis.call('sismember', buyers, user) == 1 then
	return 2
end
redis.call('incrby', stock, -1)
redis.call('sadd', buyers, user)
redis.call('xadd', 'stream.orders', '*', 'userId', user, 'voucherId', voucher, 'id', order)
return 0`

// playSale is a flash sale in which every user tries twice, at the same time: more is never sold than there
// is, and no user has two pieces. buy takes voucher, user and order.
func playSale(t *testing.T, c earlier, buy func(words ...any) (any, error)) {
	const users, threads = 150, 10
	for _, stock := range []int{users * 2 / 3, users * 4 / 3} {
		reply(t, c, "DEL", "seckill:order:10", "seckill:orders:10", "stream.orders")
		reply(t, c, "SET", "seckill:stock:10", stock)
		sold := map[string]string{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for n := range threads {
			wg.Go(func() {
				for i := n; i < 2*users; i += threads {
					user, order := fmt.Sprint("user-", i/2), fmt.Sprint("order-", i) // the next thread has the same user
					switch answer, err := buy("10", user, order); {
					case err != nil:
						t.Errorf("buy: %v", err)
					case answer == int64(0):
						mu.Lock()
						sold[order] = user
						mu.Unlock()
					case answer != int64(1) && answer != int64(2):
						t.Errorf("answer %v", answer)
					}
				}
			})
		}
		wg.Wait()
		pieces := min(stock, users)
		require.Len(t, sold, pieces)
		buyers := map[string]bool{}
		for _, user := range sold {
			buyers[user] = true
		}
		require.Len(t, buyers, pieces, "users with one piece")
		require.Equal(t, strconv.Itoa(stock-pieces), reply(t, c, "GET", "seckill:stock:10"))
		require.EqualValues(t, pieces, reply(t, c, "SCARD", "seckill:order:10"))
		require.Equal(t, sold, writtenOrders(t, c))
	}
}

// writtenOrders are the orders in the stream, by their number, with their users.
func writtenOrders(t *testing.T, c earlier) map[string]string {
	t.Helper()
	orders := map[string]string{}
	for _, e := range reply(t, c, "XRANGE", "stream.orders", "-", "+").([]any) {
		fields := map[any]any{}
		list := e.([]any)[1].([]any)
		for i := 0; i < len(list); i += 2 {
			fields[list[i]] = list[i+1]
		}
		order := fields["id"].(string)
		require.NotContains(t, orders, order, "an order is in the stream once")
		orders[order] = fields["userId"].(string)
	}
	return orders
}
