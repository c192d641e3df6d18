package raft

import (
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/admin"
	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
)

// page is what a page of a member's admin port says.
func (m *member) page(path string) string {
	t := m.group.t
	port, err := admin.Open([]admin.Source{m.srv}, admin.Options{Addr: "127.0.0.1:0", AutoLogin: true, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer port.Close()
	answer, err := http.Get("http://" + port.Addr().String() + path)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(body)
}

// alarmed waits until a member has an alarm of a kind with a text: in INFO raft, /readyz, and by its kind in
// /metrics.
func (m *member) alarmed(k raft.Kind, text string) {
	t := m.group.t
	t.Helper()
	eventually(t, m.peer.ID+" has the alarm: "+text, func() bool {
		kinds := m.ask("INFO", "raft").Str
		return strings.Contains(kinds, ":kind="+string(k)+",text=") && strings.Contains(m.field("raft_alarm"), text) && m.field("raft_alarms") != "0" && strings.Contains(m.page("/readyz"), text) &&
			!strings.Contains(m.page("/metrics"), `lockserver_raft_alarm{group="lockserver",kind="`+string(k)+`"} 0`+"\n")
	})
}

// TestNoAlarms: a healthy group has no alarm, and each kind of alarm is counted.
func TestNoAlarms(t *testing.T) {
	t.Parallel()
	g := newSteady(t, 3, nil)
	g.leader()
	g.same()
	for _, m := range g.all {
		eventually(t, "no alarm", func() bool { return m.field("raft_alarms") == "0" && m.field("raft_alarm") == "" })
		text := m.page("/metrics")
		for _, k := range raft.Kinds {
			require.Contains(t, text, `lockserver_raft_alarm{group="lockserver",kind="`+string(k)+`"} 0`+"\n")
		}
		require.Equal(t, "ok\n", m.page("/readyz"))
		console := m.page("/members")
		require.Contains(t, console, "Raft group lockserver")
		for _, other := range g.all {
			require.Contains(t, console, `id="member-`+other.peer.ID+`"`)
		}
	}
}

// TestAlarmsOfMachines: a clock that is wrong, and a certificate that ends soon.
func TestAlarmsOfMachines(t *testing.T) {
	t.Parallel()
	ends := time.Now().Add(13 * 24 * time.Hour)
	g := newGroup(t, 3, func(eo *engine.Options, so *server.Options) {
		if pinned(100*time.Millisecond)(eo, so); eo.ID == "c" {
			so.RaftOptions.CertificateEnds = func() time.Time { return ends }
		} else {
			so.RaftOptions.CertificateEnds = func() time.Time { return ends.Add(2 * 24 * time.Hour) }
		}
	})
	g.leader()
	g.all[2].alarmed(raft.AlarmCertificate, "a certificate of this server ends at "+ends.UTC().Format(time.RFC3339))
	require.Contains(t, g.all[2].page("/members"), "a certificate of this server ends at ")
	require.Contains(t, g.all[2].page("/members"), "Replace the files of <code>tls-cert-file</code>", "the words of the runbook")
	require.NotContains(t, g.all[0].field("raft_alarm"), "certificate")
	require.Contains(t, g.all[0].page("/metrics"), "\nlockserver_tls_certificate_end_seconds ")

	wrong := g.all[2]
	wrong.clock.byUS.Store(-time.Minute.Microseconds())
	wrong.alarmed(raft.AlarmClock, "behind that of the member that leads: set the clocks of all members")
	leader := g.all[0]
	leader.alarmed(raft.AlarmClock, "behind that of this member, which leads: set the clocks of all members")
	require.Contains(t, leader.field("raft_alarm"), "the clock of 'c' is ")
	apart := regexp.MustCompile(`lockserver_raft_members_clock_skew_seconds\{group="lockserver"\} (5\d|60)`)
	eventually(t, "the metric says so", func() bool { return apart.MatchString(leader.page("/metrics")) })
	require.NotContains(t, g.all[1].field("raft_alarm"), "clock", "only the leader reports the clocks of others")
	wrong.clock.byUS.Store(0)
	eventually(t, "the leader knows that it is right", func() bool { return leader.field("raft_members_clock_skew_ms") == "0" })
	eventually(t, "the clock is right again", func() bool { return !strings.Contains(wrong.field("raft_alarm"), "clock") })
	wrong.clock.byUS.Store(time.Minute.Microseconds())
	wrong.alarmed(raft.AlarmClock, "ahead of that of the member that leads")
}
