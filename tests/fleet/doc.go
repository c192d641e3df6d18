// Package fleet runs servers of which one leads: with the three Sentinels that see to it, or as a raft group.
// They are processes that a test kills, pauses and starts again.
//
// Tests in other languages drive one through the program in tests/fleet/serve.
package fleet
