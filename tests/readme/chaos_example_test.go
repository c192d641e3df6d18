package readme

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockserver/lockservertest"
)

// snippet
func TestTenOrders(t *testing.T) {
	lockservertest.Chaos(t, lockservertest.ChaosOptions{Kinds: []string{"dropbefore", "dropafter", "restart"}}, func(srv *lockservertest.Server) error {
		client := redis.NewClient(&redis.Options{Addr: srv.Addr})
		defer client.Close()
		for buyer := range 10 {
			if err := client.SAdd(context.Background(), "orders", buyer).Err(); err != nil {
				return nil // the client gave up, and nothing was promised to the buyer
			}
		}
		if n := srv.Do("SCARD", "orders"); n != "10" {
			return fmt.Errorf("ten were bought, %s were sold", n)
		}
		return nil
	})
}

// end
