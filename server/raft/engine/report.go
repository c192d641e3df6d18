package engine

import (
	"net/url"
	"strconv"

	"lockserver/server/raft"
)

// reportNumbers and reportIndexes are the numbers of a report by their names in an answer, do not change.
func reportNumbers(p *raft.Report) map[string]*int64 {
	return map[string]*int64{"since": &p.SinceMS, "started": &p.StartedMS, "now": &p.NowMS, "contact": &p.ContactMS, "disk-free": &p.DiskFree,
		"disk-size": &p.DiskSize, "snapshot-at": &p.Snapshot.AtMS, "snapshot-bytes": &p.Snapshot.Bytes, "history": &p.History, "users": &p.Users,
		"sync-p99-us": &p.SyncUS}
}

func reportIndexes(p *raft.Report) map[string]*uint64 {
	return map[string]*uint64{"last": &p.Last, "commit": &p.Commit, "applied": &p.Applied, "snapshot": &p.Snapshot.Index}
}

// encodeReport adds a report to an answer.
func encodeReport(v url.Values, p *raft.Report) {
	v.Set("role", p.Role)
	v.Set("snapshot-error", shortened(p.Snapshot.Error))
	v["member"], v["address"] = p.Members, p.Addresses
	for name, n := range reportNumbers(p) {
		v.Set(name, strconv.FormatInt(*n, 10))
	}
	for name, n := range reportIndexes(p) {
		v.Set(name, strconv.FormatUint(*n, 10))
	}
}

// decodeReport reads a report; false: the answer has no report.
func decodeReport(v url.Values) (p raft.Report, ok bool) {
	if v.Get("role") == "" {
		return p, false
	}
	p = raft.NoReport()
	p.Role = v.Get("role")
	p.Snapshot.Error = v.Get("snapshot-error")
	p.Members, p.Addresses = v["member"], v["address"]
	for name, n := range reportNumbers(&p) {
		if is, err := strconv.ParseInt(v.Get(name), 10, 64); err == nil {
			*n = is
		}
	}
	for name, n := range reportIndexes(&p) {
		*n, _ = strconv.ParseUint(v.Get(name), 10, 64)
	}
	return p, true
}

// shortened is a text that fits into an answer.
func shortened(text string) string { return text[:min(len(text), 200)] }
