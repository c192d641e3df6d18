package server

import (
	"fmt"
	"testing"
	"time"

	"lockserver/server/acl"
)

// BenchmarkRights measures what rights cost: pipelines of GET, SET and LOCK, by users of each kind in turn,
// on keys that each may use. A step is one command of each; the figures are the least of many short rounds,
// because a machine that does other things, too, only ever adds to one.
func BenchmarkRights(b *testing.B) {
	const pipeline, requests, round = 16, 1024, 1024
	users := []struct {
		name  string
		rules []string
	}{
		{"default", nil},
		{"all", []string{"~*", "+@all"}},
		{"ten", append(tenPatterns(), "+@all", "-@admin", "-@dangerous", "+keys", "-flushall")},
	}
	s := toNowhere(b)
	admin := client(b, s.executor.host.(*instance))
	var of []*acl.User
	for _, u := range users {
		if u.rules != nil {
			admin.Do(append([]string{"ACL", "SETUSER", u.name}, u.rules...)...)
		}
		of = append(of, s.executor.users.Find([]byte(u.name)))
	}
	var batches [][]byte
	for i := 0; i < requests; i += pipeline {
		var request []byte
		for j := i; j < i+pipeline; j++ {
			key := fmt.Sprintf("area%d:%d", j%10, j)
			words := [][]string{{"GET", key}, {"SET", key, "a value"}, {"LOCK", key + ":lock", "me", "PX", "3600000"}}[j%3]
			request = appendCommand(request, words...)
		}
		batches = append(batches, request)
	}
	var scratch batch
	least := make([]time.Duration, len(users))
	b.ResetTimer()
	for n := 0; n < b.N; n += round {
		for i, u := range of {
			s.User = u
			start := time.Now()
			for at := 0; at < round; at += pipeline {
				s.Feed(batches[at/pipeline%len(batches)], &scratch, nil)
			}
			if took := time.Since(start); n == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	b.ReportMetric(float64(least[0].Nanoseconds())/round, "ns/default")
	for i, u := range users[1:] {
		b.ReportMetric(float64(least[i+1])/float64(least[0]), u.name+"/default")
	}
}

// tenPatterns are rules about keys; each key of the benchmark matches one of them.
func tenPatterns() (rules []string) {
	for i := range 10 {
		rules = append(rules, fmt.Sprintf("~area%d:*", i))
	}
	return rules
}
