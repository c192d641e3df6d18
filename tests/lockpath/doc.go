// Command lockpath finds which files of this module run for LOCK, UNLOCK, SET, GET and XADD, and how often a
// command calls the server around the data (commands.Services). `make lock-path` builds it with coverage, so
// that it can see after each command what ran, and compares the result with passed.txt and with the bounds in
// main.go.
// It also counts the statements of SET and LOCK on a shard of a cluster, beside those on a server without
// shards (slots.go), and of LIMIT.MTAKE beside LIMIT.TAKE (limits.go). It counts those of waits without
// priorities (waits.go), and of each page of the console with few locks and with many (pages.go).
//
// It must not know what a command does. To look at another command, add it to looks. A new page of the
// console needs a row in pageLooks.
package main
