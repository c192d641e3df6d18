//go:build !invariants

package zset

// invariants turns on the checks that are too costly for production.
const invariants = false
