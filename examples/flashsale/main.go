// Command flashsale is a small shop that sells by SECKILL and keeps its orders in SQLite. It shows the path
// of an order from the click to the database, as code to copy. README.md shows it as a picture.
//
// Each file is a part that would be a separate program in a larger shop. shop.go answers clicks, worker.go
// writes orders into the database, database.go is the table, and reconcile.go compares both. They share only
// the names in names.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	addr := flag.String("redis", "127.0.0.1:6379", "address of lockserver")
	file := flag.String("db", "flashsale.db", "file of the database")
	listen := flag.String("listen", "127.0.0.1:8080", "where the shop answers")
	voucher := flag.String("voucher", "10", "what is sold")
	stock := flag.Int("stock", 100, "how many there are, if the sale is not open yet")
	name := flag.String("worker", hostname(), "name of this worker; it must be the same after a restart, and no other's")
	compare := flag.Bool("reconcile", false, "compare the books, repair what can be repaired, and end")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client := redis.NewClient(&redis.Options{Addr: *addr})
	defer client.Close()
	database, err := OpenDatabase(*file)
	if err != nil {
		log.Fatal(err)
	}
	defer database.Close()

	if *compare {
		books, err := Reconcile(ctx, client, database, *voucher)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(books)
		if err := books.Repair(ctx, database); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := OpenSale(ctx, client, *voucher, *stock); err != nil {
		log.Fatal(err)
	}
	worker := &Worker{Redis: client, Database: database, Name: *name, TakeOverAfter: time.Minute}
	go worker.RunForever(ctx)

	server := &http.Server{Addr: *listen, Handler: NewShop(client, database), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	log.Printf("selling %s at http://%s", *voucher, *listen)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "worker"
	}
	return name
}
