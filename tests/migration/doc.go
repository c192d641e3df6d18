// Package migration does what docs/MIGRATION.md says: clients at work are moved from a Redis to a lockserver
// and back, with only a short interruption. Redisson's threads hold locks all the time and wait for them
// (redisson/ is that program), go-redis writes values of each type. What was acknowledged is there in the
// end, a lock is its holder's throughout, and the two servers are compared after every step.
//
// Everything is a process of its own, and all clients come by one stable address (door_test.go). It needs
// Redis, Java and Maven: make migration.
package migration
