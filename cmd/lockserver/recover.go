package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"lockserver/server/raft/engine"
)

// runRecover is `lockserver recover` from its arguments, without that word, to its exit code: 0 if the
// member is a group of one, 1 if nothing was changed.
func runRecover(args []string, stdout, stderr io.Writer) int {
	dir, accepted := "", false
	f := flag.NewFlagSet("recover", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&dir, "dir", "", "")
	f.BoolVar(&accepted, "i-accept-data-loss", false, "")
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, recoverUsage)
		return 0
	}
	if err == nil && (dir == "" || f.NArg() > 0) {
		err = errors.New("--dir is needed: try lockserver recover --help")
	}
	if err == nil {
		err = recoverMember(dir, accepted, stdout)
	}
	if err != nil {
		fmt.Fprintf(stderr, "lockserver recover: %v\n", err)
		return 1
	}
	return 0
}

// recoverMember prints the state of a member, and makes it a group of one if the loss is accepted.
func recoverMember(dir string, accepted bool, stdout io.Writer) error {
	r, err := engine.Recover(dir, slog.New(slog.DiscardHandler), !accepted)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "member:          %s of the group %s\n", r.ID, r.OldGroup)
	for _, p := range r.Before {
		fmt.Fprintf(stdout, "  one of:        %s=%s/%s\n", p.ID, p.Raft, p.Client)
	}
	fmt.Fprintf(stdout, "last entry:      %d%s\n", r.Last, at(r.LastAt))
	fmt.Fprintf(stdout, "last committed:  %d at least%s\n", r.Committed, at(r.CommittedAt))
	fmt.Fprintf(stdout, "What may be missing: all that the others acknowledged behind entry %d%s.\n", r.Last, at(r.LastAt))
	if unsure := r.Last - r.Committed; unsure > 0 {
		fmt.Fprintf(stdout, "The last %d entries are not known to be committed here. They are kept, though some may never have been acknowledged.\n", unsure)
	}
	if r.Differed {
		fmt.Fprintln(stdout, "This member had stopped because its data differed from that of the others. Its data is kept as it is.")
	}
	if !accepted {
		return errors.New("nothing was changed. If no majority of the members can come back, and no other member has a later last entry, " +
			"run this again with --i-accept-data-loss")
	}
	fmt.Fprintf(stdout, "new group:       %s, of this member alone\n", r.Group)
	fmt.Fprintln(stdout, "Start the member. Then start the others with new directories and without raft-members, and add them (RAFT ADD).")
	return nil
}

// at returns a text with a time.
func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", " + t.UTC().Format(time.RFC3339Nano)
}

const recoverUsage = `Usage: lockserver recover --dir DIR [--i-accept-data-loss]

Makes a member of a raft group a group of its own, when a majority of the members is gone for good. See docs/HA.md. The
member must not run. Without --i-accept-data-loss it only tells what the member has, and what may be missing.

The new group has all entries of this member's log, and a new id: the other members of the old group cannot join it. What
they acknowledged without this member is lost. Of several survivors recover the one with the latest last entry.

  --dir DIR             the directory that the member's configuration has as dir
  --i-accept-data-loss  do it

Exit codes: 0 it is done; 1 nothing was changed.
`
