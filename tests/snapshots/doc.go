// Package snapshots carries whole datasets between lockserver and real redis-servers, both ways, in snapshot
// files. The servers are the oracle, and the one in PATH (7.0 on Debian), from which users migrate.
//
// All tests have the build tag oracle; make snapshots runs them. Commands make random data of every type that
// lockserver has in one server. It is saved, checked by redis-check-rdb, loaded by the other server, and read
// through both. If lockserver cannot hold some data it must refuse it with a reason, and leave the file
// alone.
//
// The package must not know the file format: it compares what the two servers read from a file. Package
// persistence/rdb has the tests of single encodings. To add a type of value, add the function that makes it
// to makers in data_test.go.
package snapshots
