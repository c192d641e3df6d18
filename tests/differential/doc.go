// Package differential compares lockserver with a real redis-server 7.4. Both get the same commands in
// lockstep, in both versions of the protocol, and must give the same replies, byte for byte, and end up with
// the same data.
//
// All of it is tests under the build tag oracle; make diff runs them. There are three kinds:
//
//   - generated_test.go makes valid and invalid commands from the command table, and compares the whole data
//     after each sequence. A failure prints the commands that it needs (tests/shrink) and the line that
//     replays it.
//   - cases_*_test.go hold command lines written by hand, a file for each family, and raw_*_test.go holds
//     bytes that are no valid commands; both are played on both servers.
//   - blocking_test.go plays scripts for several connections, and conversation_test.go random steps of
//     connections that subscribe, track, monitor, wait and have transactions. Everything that each of them
//     receives is compared, except the parts that conversation_mask_test.go masks.
//
// No test here has an expected reply: Redis is the reference. Where lockserver differs on purpose, the line
// carries the number of an entry of docs/DIFFERENCES.md, and then the two must differ.
//
// To add a case, add a line to a table. A new command is generated as soon as it has a row; if its replies
// depend on chance, it needs a check in chance_test.go.
package differential
