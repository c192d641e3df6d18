package readme

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/server"
)

// The code between "snippet" and "end" is in docs/SECKILL.md, word for word; TestGoSnippets compares them.

// snippet
// buy sells a piece to a user and says in words what became of it. order is the id of the user's request:
// after an error the caller calls again with the same one.
func buy(ctx context.Context, client *redis.Client, voucher, user, order string) (sold bool, words string, err error) {
	answer, err := client.Do(ctx, "SECKILL", voucher, user, order).Int()
	if err != nil {
		return false, "", err // not known: it may have been sold
	}
	answers := [...]string{"yours, for the next 15 minutes", "sold out", "you have one already", "not yet", "too late",
		"that order was taken back, click again", "too fast, wait a moment"}
	return answer == 0, answers[answer], nil
}

// end

func Example_buy() {
	clock := server.NewManualClock(time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC))
	client, end := inProcess(clock)
	defer end()
	ctx := context.Background()
	err := client.Do(ctx, "SECKILL.CREATE", "shoe", "STOCK", 1, "HOLD", 900_000, "START", clock.NowUS()/1000+1000,
		"END", clock.NowUS()/1000+3_600_000).Err()
	if err != nil {
		log.Fatal(err)
	}
	try := func(user, order string) {
		sold, words, err := buy(ctx, client, "shoe", user, order)
		fmt.Println(user, sold, words, err)
	}
	try("ann", "order-1")
	clock.Advance(time.Second)
	try("ann", "order-1")
	try("ann", "order-1")
	try("ben", "order-2")
	clock.Advance(15 * time.Minute) // the order was not paid
	try("ann", "order-1")
	try("ben", "order-2")
	try("ben", "order-3")
	clock.Advance(time.Hour)
	try("eve", "order-4")

	// Output:
	// ann false not yet <nil>
	// ann true yours, for the next 15 minutes <nil>
	// ann true yours, for the next 15 minutes <nil>
	// ben false sold out <nil>
	// ann false that order was taken back, click again <nil>
	// ben true yours, for the next 15 minutes <nil>
	// ben false sold out <nil>
	// eve false too late <nil>
}
