// Package clients runs the Go libraries that people use with Redis against a lockserver: go-redis, rueidis
// with its locks and its cache, redsync, redislock and asynq. It owns what those libraries need of a server,
// seen from their side; what a single command replies is the business of tests/differential.
//
// It is a module of its own, so that lockserver itself does not depend on all of them. Run it with
//
//	make clients-go
//
// or against another server. Everything except the native commands is expected to be the same there:
//
//	LOCKSERVER=redis-server go test -skip Native .
//
// Every test starts the servers that it needs. To add a library, add a file named after it.
package clients
