// Package replication asks whether two servers that follow one another have the same data, whatever becomes
// of the link between them. They are lockservers in this process in any test run, and real Redis servers
// under the build tag oracle (make replication).
//
// A proxy stands between replica and master; it counts what it carries and cuts where a test says so. What is
// compared in the end is DEBUG DIGEST, which both kinds of server compute alike. Under Sentinels
// (sentinel_test.go) servers are processes, which are killed and paused.
package replication
