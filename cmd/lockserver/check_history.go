package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"lockserver/internal/checkhistory"
)

const checkHistoryUsage = `Usage: lockserver check-history [--flag value ...] FILE [FILE ...]

Checks what lockserver history --json has recorded: whether two owners held a lock at the same time, and whether tokens
rose. A file may also hold writes of the application, with the token that each had:

  {"event":"write","time_ms":1795226239770,"key":"order:42","token":1795226239770983}

Then it finds writes with tokens that were not the latest ones any more. It also names the longest wait and the longest
hold. FILE - is standard input.

  --skew 0ms         how far the clocks of the application and of the server may be apart

Exit codes: 0 if there is no fault; 1 if there is; 2 if a file cannot be read.
`

// runCheckHistory is the command from its arguments to its exit code.
func runCheckHistory(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	skew := time.Duration(0)
	f := flag.NewFlagSet("check-history", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.DurationVar(&skew, "skew", 0, "")
	files, err := parseMixed(f, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, checkHistoryUsage)
		return 0
	case err != nil || len(files) == 0 || skew < 0:
		fmt.Fprintln(stderr, "lockserver check-history: try: lockserver check-history --help")
		return 2
	}
	c := checkhistory.Checker{SkewMS: skew.Milliseconds()}
	for _, name := range files {
		if err := readHistoryFile(name, stdin, &c); err != nil {
			fmt.Fprintf(stderr, "lockserver check-history: %s: %v\n", name, reason(err))
			return 2
		}
	}
	report := c.Report()
	report.Print(stdout)
	if !report.OK() {
		return 1
	}
	return 0
}

func readHistoryFile(name string, stdin io.Reader, c *checkhistory.Checker) error {
	from := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	return checkhistory.Read(from, c.Add)
}
