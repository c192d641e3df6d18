// Package testkit is for tests that speak to a server over the wire. It has a client, the processes of
// servers, the comparison of replies, and the contents of a whole server as a value.
//
// It owns how a test starts a program, waits until it is ready, stops it and ends it (process.go). It has the
// rules by which two replies count as the same (compare.go), and two servers as holding the same data
// (dataset.go). It imports only the protocol package of lockserver: a client gets a net.Conn, so it can be
// used with any server of the protocol. It never skips: if a test does not find a program that it needs, it
// fails.
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
// To add a rule for a command with unordered replies, add it to the table in compare.go. To add a type of
// value, add its case to Client.readValue.
package testkit
