// Package testkit is what tests that speak to a server over the wire have in common: a client, a real
// redis-server, the comparison of replies, and the contents of a whole server as a value.
//
// It owns the rules by which two replies count as the same (compare.go) and by which two servers hold the
// same data (dataset.go). It must not know lockserver: what it is given is a net.Conn, so a test can point it
// at anything that speaks the protocol. It never skips: what a test needs and does not find fails that test.
//
//	redis := testkit.StartRedis(t)            // ends with the test
//	c := redis.Client(t)
//	c.Do("SET", "k", "v")                     // fails the test if the connection breaks
//	before := testkit.ReadDataset(redis.Client(t))
//
// To add a rule for a command whose replies come in no particular order, add it to the table in compare.go.
// To add a type of value, add its case to Client.readValue.
package testkit
