package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// session is the longest time between two commits of one change.
const session = 3 * time.Hour

func main() {
	base := flag.String("base", os.Getenv("BASE"), "the commit before the change; by default the newest one that is "+
		"three hours older than the checkout")
	full := flag.Bool("full", false, "print the full tier")
	flag.Parse()
	c := change{full: *full}
	if !c.full {
		var err error
		if c, err = changeOf(*base); err != nil {
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

// changeOf asks git for the files that changed since base.
func changeOf(base string) (c change, err error) {
	if strings.Trim(base, "0") == "" { // the base is unknown, or GitHub reports a new branch
		if base, err = sessionBefore("."); err != nil {
			return c, err
		}
	}
	if base != "" {
		files, err := git("diff", "--name-only", base, "HEAD")
		if err != nil {
			return c, err
		}
		c.files = append([]string{}, strings.Fields(files)...)
	}
	return c, nil
}

// sessionBefore returns the newest commit of the checkout in dir that is at least a session older than HEAD,
// or "".
func sessionBefore(dir string) (string, error) {
	out, err := git("-C", dir, "log", "-1", "--format=%ct")
	if err != nil {
		return "", err
	}
	newest, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	if err != nil {
		return "", fmt.Errorf("the date of HEAD: %w", err)
	}
	before := newest - int64(session/time.Second)
	out, err = git("-C", dir, "log", "-1", "--first-parent", "--format=%H", "--before="+strconv.FormatInt(before, 10))
	return strings.TrimSpace(out), err
}

// git runs git and returns what it prints.
func git(arg ...string) (string, error) {
	out, err := exec.Command("git", arg...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(arg, " "), err)
	}
	return string(out), nil
}
