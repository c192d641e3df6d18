// Command embedded is a program with its own lockserver. Jobs run once a period, even if several copies of
// the program start. Their state survives the program, because the server inside keeps an append-only file.
//
//	go run ./embedded -dir /var/lib/jobs
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/server"
)

func main() {
	dir := flag.String("dir", "", "where the server inside keeps its files; it must exist")
	flag.Parse()
	if *dir == "" {
		log.Fatal("-dir is missing")
	}
	srv, client, err := open(*dir)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	for _, job := range []string{"report", "backup", "report"} {
		ran, err := oncePer(context.Background(), client, job, time.Minute, func() { fmt.Println(job, "runs") })
		if err != nil {
			log.Print(err)
			return
		}
		if !ran {
			fmt.Println(job, "ran less than a minute ago")
		}
	}
}

// open starts a server that stores its data in a directory and syncs before it replies. It has no port: only
// this process can connect. open also returns a client of the server.
func open(dir string) (*server.Server, *redis.Client, error) {
	srv, err := server.New(server.Options{
		Dir:         dir,
		AppendOnly:  true,
		AppendFsync: "always",
		Directives:  map[string]string{"bind": ""},
	})
	if err != nil {
		return nil, nil, err
	}
	if err := srv.Start(); err != nil {
		return nil, nil, errors.Join(err, srv.Close())
	}
	return srv, redis.NewClient(&redis.Options{
		Dialer: func(context.Context, string, string) (net.Conn, error) { return srv.Dial() },
	}), nil
}

// oncePer runs a job unless it ran less than a period ago, in this program or an earlier one. The lock is not
// released: its lease is the period.
func oncePer(ctx context.Context, client *redis.Client, job string, period time.Duration, run func()) (bool, error) {
	err := client.Do(ctx, "LOCK", "job:"+job, fmt.Sprint(time.Now().UnixNano()), "PX", period.Milliseconds()).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	run()
	return true, nil
}
