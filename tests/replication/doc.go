// Package replication tests that a server and its replica have the same data, whatever happens to the link
// between them. They are lockservers in this process in any test run, and real Redis servers under the build
// tag oracle (make replication).
//
// A proxy between replica and master counts the bytes and cuts the link where a test says so. At the end the
// tests compare DEBUG DIGEST, which both kinds of server compute in the same way. Under Sentinels
// (sentinel_test.go) servers are processes, which are killed and paused.
package replication
