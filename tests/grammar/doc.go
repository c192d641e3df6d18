// Package grammar makes commands of every row of the command table for tests that send whatever there is. It
// makes them from the rows' own grammar (generator.go), and from what is written down for rows that need more
// than that (special.go). There are calls with too few, too many and odd words (words.go), and pipelines
// (pipeline.go).
//
// It knows the table and nothing of who is sent the commands, and the same chance makes the same ones. A new
// row of the table needs nothing here. If it would end the server, or keep it busy for ever, by what it is
// for, it goes to excluded in special.go, with the reason.
package grammar
