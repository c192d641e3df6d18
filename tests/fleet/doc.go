// Package fleet runs servers with one leader: with three Sentinels, or as a raft group. They are processes
// that a test kills, pauses and starts again. They may require TLS and a user.
//
// Tests in other languages control a fleet through the program in tests/fleet/serve.
package fleet
