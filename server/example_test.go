package server_test

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"time"

	"lockserver/server"
)

// A server without files, and without a client library: a pipe is enough to talk to it.
func ExampleServer_Dial() {
	srv, err := server.New(server.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		log.Fatal(err)
	}
	defer func() { _ = srv.Close() }()

	conn, err := srv.Dial()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(conn, "SET greeting hello\r\nSTRLEN greeting\r\n")
	replies := bufio.NewScanner(conn)
	for range 2 {
		replies.Scan()
		fmt.Println(replies.Text())
	}
	// Output:
	// +OK
	// :5
}

// A server that keeps an append-only file, which is there in its next life.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "lockserver")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, command := range []string{"INCR visits", "INCR visits"} {
		srv, err := server.New(server.Options{Dir: dir, AppendOnly: true})
		if err != nil {
			log.Fatal(err)
		}
		if err := srv.Start(); err != nil {
			log.Fatal(err)
		}
		conn, err := srv.Dial()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Fprintf(conn, "%s\r\n", command)
		reply := bufio.NewScanner(conn)
		reply.Scan()
		fmt.Println(reply.Text())
		_ = srv.Close()
	}
	// Output:
	// :1
	// :2
}

// Time that a test owns: a lease ends when the test says so.
func ExampleManualClock() {
	clock := server.NewManualClock(time.Unix(1_700_000_000, 0))
	srv, err := server.New(server.Options{Clock: clock, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		log.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	conn, err := srv.Dial()
	if err != nil {
		log.Fatal(err)
	}
	replies := bufio.NewScanner(conn)
	ask := func(command string) {
		fmt.Fprintf(conn, "%s\r\n", command)
		replies.Scan()
		fmt.Println(replies.Text())
	}
	ask("SET session alice PX 5000")
	ask("EXISTS session")
	clock.Advance(5*time.Second + time.Millisecond) // a key lives through its last millisecond
	ask("EXISTS session")
	// Output:
	// +OK
	// :1
	// :0
}
