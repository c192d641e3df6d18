// Package migration follows docs/MIGRATION.md: it moves clients at work from a Redis to a lockserver and
// back, with only a short interruption. Redisson's threads hold locks all the time and wait for them
// (redisson/ is that program), and go-redis writes values of each type. At the end every acknowledged write
// must be there, and a lock must have had one holder at a time. After every step the two servers are
// compared.
//
// Everything runs as a separate process, and all clients connect to one stable address (door_test.go). It
// needs Redis, Java and Maven: make migration.
package migration
