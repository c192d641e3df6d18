// Command locks shows three uses of LOCK that programs have for a lock, each in a file to be copied: watchdog.go holds one
// for as long as work takes, leader.go makes one of many processes do the jobs, and fenced.go keeps a holder who was
// asleep from overwriting what came after him.
//
// Run several of them at once, end one by Ctrl-C or by kill -9, and watch who goes on. README.md says how.
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
	addr := flag.String("redis", "127.0.0.1:6379", "address of lockserver")
	name := flag.String("name", fmt.Sprintf("process-%d", os.Getpid()), "what this process calls itself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	options := redis.Options{Addr: *addr}

	var err error
	switch flag.Arg(0) {
	case "leader":
		err = Lead(ctx, options, "example:leader", func(ctx context.Context, token int64) error {
			log.Printf("%s leads, with the token %d", *name, token)
			return EachTick(ctx, time.Second, func(context.Context) { log.Printf("%s does the job", *name) })
		})
	case "watchdog":
		err = WhileHeld(ctx, options, "example:work", func(ctx context.Context, token int64) error {
			log.Printf("%s is at work, with the token %d; Ctrl-C ends it", *name, token)
			<-ctx.Done()
			return context.Cause(ctx)
		})
	case "fenced":
		client := redis.NewClient(&options)
		defer client.Close()
		err = sleepyWriter(ctx, client, *name)
	default:
		err = errors.New("say which: leader, watchdog or fenced")
	}
	if err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// sleepyWriter takes a lock for five seconds, sleeps for ten, and writes then. Start a second one while it sleeps.
func sleepyWriter(ctx context.Context, client *redis.Client, name string) error {
	const lock, lease = "example:price:lock", 5 * time.Second
	token, err := client.Do(ctx, "LOCK", lock, name, "PX", lease.Milliseconds()).Int64()
	if errors.Is(err, redis.Nil) {
		return errors.New("somebody else holds the lock; try again in a moment")
	}
	if err != nil {
		return err
	}
	log.Printf("%s has the lock for %s, and falls asleep for %s", name, lease, 2*lease)
	select {
	case <-time.After(2 * lease):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := WriteGuarded(ctx, client, lock, token, "SET", "example:price", name); err != nil {
		return err
	}
	log.Printf("%s has written", name)
	return nil
}
