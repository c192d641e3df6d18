// Package testkit is what tests that speak to a server over the wire have in common: a client, the processes
// of servers, the comparison of replies, and the contents of a whole server as a value.
//
// It owns how a test starts a program, waits until it is ready, stops it and ends it (process.go), the
// rules by which two replies count as the same (compare.go) and by which two servers hold the same data
// (dataset.go).
// It imports no package of lockserver but the protocol: a client is given a net.Conn, so a test can point it
// at anything that speaks the protocol. It never skips: what a test needs and does not find fails that test.
//
//	p := testkit.StartLockserver(t, dir, "--appendonly", "yes") // TestMain calls testkit.Main
//	p.Client(t).Do("SET", "k", "v")
//	p.Kill()
//	require.NoError(t, p.Start())             // in the same directory
//
//	redis := testkit.StartRedis(t)            // ends with the test
//	c := redis.Client(t)
//	c.Do("SET", "k", "v")                     // fails the test if the connection breaks
//	before := testkit.ReadDataset(redis.Client(t))
//
// To add a rule for a command whose replies come in no particular order, add it to the table in compare.go.
// To add a type of value, add its case to Client.readValue.
package testkit
