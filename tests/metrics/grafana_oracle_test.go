//go:build oracle

package metrics

import (
	"encoding/json"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	dashboardFile = "../../docs/grafana/lockserver.json"
	alertsFile    = "../../docs/grafana/alerts.yml"
)

// roundTrips is a metric that does not exist in a group of one member.
const roundTrips = "lockserver_raft_member_round_trip_seconds"

// TestAlerts: each rule is valid, and fires when testdata/alerts_test.yml says so.
func TestAlerts(t *testing.T) {
	for _, args := range [][]string{{"check", "rules", alertsFile}, {"test", "rules", "testdata/alerts_test.yml"}} {
		output, err := exec.Command("promtool", args...).CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
	rules, err := os.ReadFile(alertsFile)
	require.NoError(t, err)
	tests, err := os.ReadFile("testdata/alerts_test.yml")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`alert: (\S+)`).FindAllStringSubmatch(string(rules), -1) {
		require.Regexp(t, "alertname: "+m[1]+`\n\s+exp_alerts:\n\s+- exp_labels`, string(tests), "it fires in no test")
	}
}

// expressions returns those of the dashboard, with its variables replaced as by Grafana.
func expressions(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(dashboardFile)
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(data, &dashboard))
	var all []string
	for _, p := range dashboard.Panels {
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			if strings.Contains(target.Expr, roundTrips) {
				continue
			}
			all = append(all, strings.NewReplacer("$instance", ".*", "$shard", ".*", "$group", ".*", "$__rate_interval", "1m").Replace(target.Expr))
		}
	}
	require.NotEmpty(t, all)
	return all
}

// member starts the only member of a raft group.
func member(t *testing.T) *server {
	t.Helper()
	at, clients := freeAddress(t), freeAddress(t)
	_, port, err := net.SplitHostPort(clients)
	require.NoError(t, err)
	return lockserver(t, "--port", port, "--raft-id", "a", "--raft-listen", at, "--raft-members", "a="+at+"/"+clients)
}

// TestPrometheusScrapes by the configuration that docs/METRICS.md shows. Then every expression of the
// dashboard has data, and every metric of it and of the rules exists.
func TestPrometheusScrapes(t *testing.T) {
	_, port, err := net.SplitHostPort(freeAddress(t))
	require.NoError(t, err)
	s := lockserver(t, "--appendonly", "yes", "--appendfsync", "always", "--port", port)
	s.Do("LOCK", "k", "a")
	s.Do("SECKILL.CREATE", "shoes", "STOCK", "5", "HOLD", "60000", "STREAM", "orders")
	s.Do("XGROUP", "CREATE", "orders", "workers", "0", "MKSTREAM")
	s.Do("NOSUCH")
	m, replica := member(t), lockserver(t, "--replicaof", "127.0.0.1 "+port)
	page, err := os.ReadFile("../../docs/METRICS.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(string(page))
	require.NotNil(t, shown)
	config := filepath.Join(t.TempDir(), "prometheus.yml")
	text := "global: {scrape_interval: 1s}\n" + strings.Replace(shown[1], "127.0.0.1:9121", strings.Join([]string{s.admin, m.admin, replica.admin}, `", "`), 1)
	require.Contains(t, text, s.admin)
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	address := freeAddress(t)
	run(t, "http://"+address+"/-/ready", "prometheus", "--config.file="+config, "--storage.tsdb.path="+t.TempDir(), "--web.listen-address="+address)

	waiting := expressions(t)
	for deadline := time.Now().Add(patience); len(waiting) > 0; {
		require.True(t, time.Now().Before(deadline), "nothing to draw: %q", waiting)
		s.Do("PING") // so that there is a command to count
		var answer struct {
			Status string
			Data   struct{ Result []any }
		}
		require.NoError(t, json.Unmarshal([]byte(get(t, "http://"+address+"/api/v1/query?query="+url.QueryEscape(waiting[0]))), &answer))
		require.Equal(t, "success", answer.Status, waiting[0])
		if len(answer.Data.Result) > 0 {
			waiting = waiting[1:]
		} else {
			time.Sleep(100 * time.Millisecond)
		}
	}
	there := make(map[string]bool)
	for _, one := range []*server{s, m, replica} {
		for series := range scraped(t, one.scrape(t)) {
			name, _, _ := strings.Cut(series, " ")
			there[name] = true
		}
	}
	there["lockserver_tls_certificate_end_seconds"] = true // no server here has a certificate
	there[roundTrips+"_bucket"] = true
	for _, file := range []string{dashboardFile, alertsFile} {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		named := regexp.MustCompile(`\b(?:redis|lockserver)_[a-z_]+`).FindAllString(string(data), -1)
		require.NotEmpty(t, named)
		for _, name := range named {
			require.True(t, there[name], "%s names %s", file, name)
		}
	}
}
