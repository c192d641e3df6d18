package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// session is the longest time between two commits of one change. It is also the length of one turn of the
// rotation.
const session = 3 * time.Hour

func main() {
	base := flag.String("base", os.Getenv("BASE"), "the commit before the change; by default the newest one that is "+
		"three hours older than the checkout")
	turn := flag.String("turn", os.Getenv("TURN"), "the number of the run, for the rotation; by default it follows from "+
		"the dates of the commits")
	full := flag.Bool("full", false, "print the full tier")
	flag.Parse()
	c := change{full: *full}
	if !c.full {
		var err error
		if c, err = changeOf(*base, *turn); err != nil {
			fmt.Fprintln(os.Stderr, "ciplan:", err)
			os.Exit(1)
		}
	}
	for _, j := range plan(table(), c) {
		place := "beside"
		switch {
		case j.left:
			place = "left"
		case j.alone:
			place = "alone"
		}
		fmt.Printf("%s\t%s\t%s\n", place, j.command, j.why)
	}
}

// changeOf asks git for the files that changed since base, and for the turns of the rotation.
func changeOf(base, turn string) (c change, err error) {
	dates, err := commits()
	if err != nil {
		return c, err
	}
	if strings.Trim(base, "0") == "" { // the base is unknown, or GitHub reports a new branch
		base = dates.before(session)
	}
	if base != "" {
		files, err := git("diff", "--name-only", base, "HEAD")
		if err != nil {
			return c, err
		}
		c.files = append([]string{}, strings.Fields(files)...)
	}
	if turn != "" {
		n, err := strconv.Atoi(turn)
		if err != nil {
			return c, fmt.Errorf("the number of the run is %q, not an integer", turn)
		}
		c.turns = []int{n}
		return c, nil
	}
	c.turns = dates.turnsSince(base)
	return c, nil
}

// commit is a commit and its date.
type commit struct {
	id string
	at int64 // in seconds since 1970
}

// history lists the commits of the branch, the newest first.
type history []commit

// commits reads the history of the checkout.
func commits() (h history, err error) {
	out, err := git("log", "--first-parent", "--format=%H %ct")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		id, at, _ := strings.Cut(strings.TrimSpace(line), " ")
		seconds, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the date of commit %s: %w", id, err)
		}
		h = append(h, commit{id: id, at: seconds})
	}
	return h, nil
}

// before returns the newest commit that is at least d older than the newest commit of the branch, or "".
func (h history) before(d time.Duration) string {
	for _, c := range h {
		if h[0].at-c.at >= int64(d/time.Second) {
			return c.id
		}
	}
	return ""
}

// turnsSince returns the turns of the commits after base. A turn is a period of some hours with at least one
// commit. Turns are numbered from the first commit on, so the turns of two changes follow each other without
// a gap.
func (h history) turnsSince(base string) (turns []int) {
	turn, last, counting := 0, int64(-1), base == ""
	for _, c := range slices.Backward(h) {
		if period := c.at / int64(session/time.Second); period != last {
			turn, last = turn+1, period
		}
		if counting && !slices.Contains(turns, turn) {
			turns = append(turns, turn)
		}
		if c.id == base {
			counting = true
		}
	}
	return turns
}

// git runs git and returns what it prints.
func git(arg ...string) (string, error) {
	out, err := exec.Command("git", arg...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(arg, " "), err)
	}
	return string(out), nil
}
