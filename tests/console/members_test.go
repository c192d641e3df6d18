package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// startGroup starts three members of a raft group, and returns them when one of them leads. Elections come so
// late that the lead changes only by a transfer, also on a slow machine.
func startGroup(t *testing.T) []*server {
	t.Helper()
	var members []string
	var all []*server
	for _, id := range []string{"a", "b", "c"} {
		raft, port := "127.0.0.1:"+freePort(t), freePort(t)
		members = append(members, fmt.Sprintf("%s=%s/127.0.0.1:%s", id, raft, port))
		all = append(all, newServer(t, "--port", port, "--raft-id", id, "--raft-listen", raft, "--raft-tls", "no", "--raft-election-ms", "5000"))
	}
	for _, s := range all {
		s.words = append(s.words, "--raft-members", strings.Join(members, " "))
		s.start()
	}
	leaderOf(t, all)
	return all
}

// leaderOf returns the place of the member that serves clients.
func leaderOf(t *testing.T, group []*server) (at int) {
	t.Helper()
	require.Eventually(t, func() bool {
		for i, s := range group {
			if s.look("EXISTS", "x") == ":0" {
				at = i
				return true
			}
		}
		return false
	}, patience, 50*time.Millisecond)
	return at
}

// transfer makes another member lead.
func transfer(t *testing.T, group []*server, to int) {
	t.Helper()
	id := string(rune('a' + to))
	require.Eventually(t, func() bool {
		at := leaderOf(t, group)
		if at != to {
			group[at].client("operator").do("RAFT", "TRANSFER", id)
		}
		return at == to
	}, patience, 50*time.Millisecond)
}

// leadUntil makes a member lead, again if the lead moved on by itself, until an expression is true on pages.
func leadUntil(t *testing.T, group []*server, to int, expression string, pages ...*browser) {
	t.Helper()
	for begun := time.Now(); ; {
		transfer(t, group, to)
		shown := true
		for _, b := range pages {
			shown = shown && b.becomes(5*time.Second, expression)
		}
		if shown {
			return
		}
		require.Less(t, time.Since(begun), 2*patience, expression)
	}
}

const leads = `(document.querySelector('#member-%s .tag:not(.whole)')?.textContent === 'leader')`

// TestMembers: who leads, how far the others are, and a lead that moves on while two pages are open, of the
// old leader and of a follower. A member that is gone is an alarm, with the words of the runbook.
func TestMembers(t *testing.T) {
	group := startGroup(t)
	first, second := openBrowser(t), openBrowser(t)
	for i, b := range []*browser{first, second} {
		b.size(1280, "light")
		b.run(chromedp.Navigate(group[i].admin + "/members"))
		b.is(`document.querySelectorAll('#members tbody tr').length === 3`)
	}
	leadUntil(t, group, 0, fmt.Sprintf(leads, "a"), first, second)
	// The leader knows the round trips to the others, and all know how long each disk takes.
	first.is(`[...document.querySelectorAll('#members td[data-label="Sync"]')].every((e) => e.textContent.endsWith('s'))`)
	leadUntil(t, group, 0, `['b', 'c'].every((id) => document.querySelector('#member-' + id + ' td[data-label="Round trip"]').textContent.endsWith('s'))`, first)
	first.run(chromedp.Evaluate(`window.same = true`, nil))
	second.run(chromedp.Evaluate(`window.same = true`, nil))
	group[0].client("worker").do("LOCK", "door", "ann", "PX", "600000")
	// Nothing was loaded anew.
	leadUntil(t, group, 1, fmt.Sprintf(leads, "b")+` && !`+fmt.Sprintf(leads, "a")+` && document.getElementById('leader').textContent === 'b' && window.same && `+isLive,
		first, second)
	second.run(chromedp.Navigate(group[1].admin + "/locks"))
	leadUntil(t, group, 1, `!!document.getElementById('lock-door')`, second)
	first.run(chromedp.Navigate(group[0].admin + "/locks"))
	first.shows("This member does not lead")
	// An open list says so, too, when its member no longer leads, and it goes on when it leads again.
	leadUntil(t, group, 2, has("This member does not lead"), second)
	leadUntil(t, group, 1, `!!document.getElementById('lock-door')`, second)
	second.messages() // a member that does not lead answers with an error

	group[2].kill()
	first.run(chromedp.Navigate(group[0].admin + "/members"))
	first.shows("has not answered")
	first.shows("Look whether its process runs")
	for _, width := range []int64{1280, 360} {
		for _, theme := range []string{"light", "dark"} {
			first.size(width, theme)
			first.run(chromedp.Navigate(group[0].admin + "/members"))
			first.shows("has not answered")
			first.fits()
			first.picture("/members", "group")
		}
	}
}

// TestShardsOfAProcess: each shard of a process has its row, and names of any kind are text.
func TestShardsOfAProcess(t *testing.T) {
	port := freePort(t)
	s, b := startServer(t, "--shards", "3", "--port", port), openBrowser(t)
	for i := range 30 {
		c := s.client("worker")
		c.do("LOCK", fmt.Sprint("order:", i), "ann", "PX", "600000") // those of the first shard; the others answer MOVED
	}
	for _, width := range []int64{1280, 360} {
		for _, theme := range []string{"light", "dark"} {
			b.size(width, theme)
			b.run(chromedp.Navigate(s.admin + "/members"))
			b.is(`document.querySelectorAll('#shards tbody tr').length === 3`)
			b.is(`Number(document.querySelector('#shard-1 td[data-label="Held"]').textContent) > 0`)
			b.fits()
			b.picture("/members", "shards")
		}
	}
}

// TestClusterOfGroups: the shards of a cluster of raft groups with their leaders, and a shard that is gone,
// with the words of the runbook.
func TestClusterOfGroups(t *testing.T) {
	ports := []string{freePort(t), freePort(t)}
	var shards []*server
	for i, slots := range []string{"0-8191", "8192-16383"} {
		raft := "127.0.0.1:" + freePort(t)
		shards = append(shards, startServer(t, "--port", ports[i], "--raft-id", "a", "--raft-group", fmt.Sprint("g", i), "--raft-listen", raft, "--raft-tls", "no",
			"--raft-members", fmt.Sprintf("a=%s/127.0.0.1:%s", raft, ports[i]), "--cluster-enabled", "yes", "--cluster-name", "shop",
			"--cluster-shard", fmt.Sprint("s", i+1), "--cluster-slots", slots, "--cluster-peers", "127.0.0.1:"+ports[1-i]))
	}
	b := openBrowser(t)
	b.size(1280, "light")
	b.run(chromedp.Navigate(shards[0].admin + "/members"))
	b.shows("16,384 of 16,384 slots have a leader")
	b.is(`document.querySelector('#shard-s2 [data-label="Leader"]').textContent === '127.0.0.1:` + ports[1] + `'`)
	b.is(`document.querySelector('#shard-s1').textContent.includes('this one')`)
	for i, s := range shards { // each page says which part of the cluster it shows
		b.run(chromedp.Navigate(s.admin + "/locks"))
		b.is(`document.querySelector('header .tag').textContent === 'shard s` + fmt.Sprint(i+1) + `'`)
		b.is(`document.querySelector('header .tag').title.includes('cluster shop')`)
	}
	b.run(chromedp.Navigate(shards[0].admin + "/members"))
	shards[1].kill()
	b.shows("8,192 of 16,384 slots have a leader")
	b.shows("the shard s2 has no leader")
	b.shows("Bring back a majority of that group's members")
	for _, width := range []int64{1280, 360} {
		b.size(width, "light")
		b.fits()
		b.picture("/members", "cluster")
	}
}
