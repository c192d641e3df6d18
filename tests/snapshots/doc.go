// Package snapshots carries whole datasets between lockserver and real redis-servers, both ways, in snapshot
// files: the oracle, and the one in PATH (7.0 on Debian), from which users migrate.
//
// All of it is tests under the build tag oracle; make snapshots runs them. Random data of every type that
// lockserver has is made in one server by commands, saved, checked by redis-check-rdb, loaded by the other,
// and read through both. What lockserver cannot hold must be refused with a reason, and the file left alone.
//
// It must not know the file format: what a file means is what the two servers say about it. Package
// persistence/rdb has the tests of single encodings. To add a type of value, add the function that
// makes it to makers in data_test.go.
package snapshots
