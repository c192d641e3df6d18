// Package crash tests that nothing acknowledged is lost. log_*_test.go test the log as a library. Its disk is
// in memory, forgets unsynced data, can stop after any operation, and can fail at any operation. A recovery
// must find a prefix of the history that contains everything acknowledged. log_planted_test.go plants faults
// in the log and shows that these tests find each of them. kill_*_test.go kill a real server under load.
//
// To cover a new operation of the log, add it to log_workload_test.go. To show that the tests find a fault in
// it, plant that fault.
package crash
