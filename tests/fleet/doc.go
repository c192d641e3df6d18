// Package fleet runs servers of which one leads, and the three Sentinels that see to it: processes that a
// test kills, pauses and starts again.
//
// Tests in other languages drive one through the program in tests/fleet/serve.
package fleet
