// Package grammar generates calls of every row of the command table, for tests that send arbitrary commands.
// It derives them from the rows' own grammar (generator.go), and from code for rows that need more than that
// (special.go). There are calls with too few, too many and odd words (words.go), and pipelines (pipeline.go).
//
// It knows the table and nothing of the receiver of the commands. The same random numbers give the same
// commands. A new row of the table needs nothing here. If a command would by design end the server, or keep
// it busy for ever, it goes to excluded in special.go, with the reason.
package grammar
