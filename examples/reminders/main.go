package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:6379", "the server")
	order := flag.String("order", "", "place an order of this id, and end")
	pay := flag.String("pay", "", "pay the order of this id, and end")
	name := flag.String("worker", "worker-1", "the worker's name")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rdb := redis.NewClient(&redis.Options{Addr: *addr})
	defer func() { _ = rdb.Close() }()
	if err := run(ctx, rdb, *order, *pay, *name); err != nil {
		log.Fatal(err)
	}
}

// run does what the flags say.
func run(ctx context.Context, rdb *redis.Client, order, pay, name string) error {
	shop := &Shop{Redis: rdb, RemindAfter: 10 * time.Second, CancelAfter: 30 * time.Second}
	switch {
	case order != "":
		if err := shop.Place(ctx, order, "ann"); err != nil && !errors.Is(err, ErrExists) {
			return err
		}
		fmt.Println("placed: pay within 30 seconds")
	case pay != "":
		done, err := shop.Pay(ctx, pay)
		if err != nil {
			return err
		}
		fmt.Println("paid:", done)
	default:
		w := &Worker{Redis: rdb, Name: name, FirstPause: time.Second, Attempts: 5, TakeOverAfter: 10 * time.Second,
			Mail: func(_ context.Context, _, order, user string) error {
				fmt.Printf("%s: your order %s is not paid\n", user, order)
				return nil
			}}
		w.RunForever(ctx)
	}
	return nil
}
