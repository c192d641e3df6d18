// Package scenarios plays the failures of clients/SCENARIOS.md with the client packages for Go, Java, Node
// and Python at the same time, and checks one history of all of them.
//
// A client takes part by an agent: a small program in its language, in the directory agents. It reads
// requests and writes answers and events, a line of JSON each. [Request], [Answer] and [Event] describe them.
// Times are microseconds of the system's monotonic clock, which all processes of a machine share. So the
// runner can order the events of all agents.
//
// The runner starts servers, a proxy for each client, and the agents. It kills, stops and replaces servers,
// breaks connections, and stops agents. Then [History.Check] searches for a lock with two holders at a time,
// a token that did not rise, and a loss without a reason.
//
// The files with the build tag scenarios are the runner (`make scenarios`) and the tests of the check. With
// WRITE=1 the runner writes the table in docs/CLIENTS.md, which tests/readme compares with that result.
//
// To add a scenario, add a row to the list in report.go, and a function of that name to the runner. To add a
// client, write an agent, and name it in report.go. This package must not know how a client works.
package scenarios
