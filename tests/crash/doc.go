// Package crash tests that nothing acknowledged is lost. log_*_test.go do it to the log as a library, on a
// disk in memory that forgets what was not synced, is cut off after any operation, and fails at any. What a
// recovery finds must be a first part of what was done, and hold all that was acknowledged.
// log_planted_test.go plants mistakes in the log and shows that these tests find each. kill_*_test.go kill a
// real server under load.
//
// To cover something new that the log does, let log_workload_test.go do it; to show that a mistake
// in it would be found, plant that.
package crash
