package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const dir = "lockserver"

// object is a decoded manifest.
type object map[string]any

// at returns the value on a path of names and indexes, or nil.
func (o object) at(path ...any) any {
	var v any = map[string]any(o)
	for _, step := range path {
		switch is := v.(type) {
		case map[string]any:
			name, _ := step.(string)
			v = is[name]
		case []any:
			i, ok := step.(int)
			if !ok || i >= len(is) {
				return nil
			}
			v = is[i]
		default:
			return nil
		}
	}
	return v
}

// text returns the value on a path as a string.
func (o object) text(path ...any) string { return fmt.Sprint(o.at(path...)) }

// words returns a list of strings on a path.
func (o object) words(path ...any) (all []string) {
	list, _ := o.at(path...).([]any)
	for _, v := range list {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

// functions returns the functions that templates may call besides those of sprig.
func functions(all *template.Template) template.FuncMap {
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b strings.Builder
			err := all.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"toYaml": func(v any) (string, error) {
			text, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"fail": func(why string) (string, error) { return "", errors.New(why) },
	}
}

// readYAML reads a file of the chart.
func readYAML(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	var v map[string]any
	require.NoError(t, yaml.Unmarshal(text, &v))
	return v
}

// set sets the value at a path with dots, like --set.
func set(values map[string]any, path string, value any) {
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		next, _ := values[name].(map[string]any)
		if next == nil {
			next = make(map[string]any)
			values[name] = next
		}
		values = next
	}
	values[names[len(names)-1]] = value
}

// chartFiles gives templates access to the files of the chart.
type chartFiles struct{}

// Get returns the text of a file. As in Helm, it is empty if the file does not exist.
func (chartFiles) Get(name string) string {
	text, _ := os.ReadFile(filepath.Join(dir, name))
	return string(text)
}

// render renders the manifests of a release with the name locks in the namespace shop.
func render(t *testing.T, changes map[string]any) (map[string]object, error) {
	t.Helper()
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(sprig.TxtFuncMap()).Funcs(functions(all))
	files, err := filepath.Glob(filepath.Join(dir, "templates", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		_, err = all.New(filepath.Base(path)).Parse(string(text))
		require.NoError(t, err)
	}
	meta, values := readYAML(t, "Chart.yaml"), readYAML(t, "values.yaml")
	for path, value := range changes {
		set(values, path, value)
	}
	data := map[string]any{"Values": values, "Files": chartFiles{}, "Release": map[string]any{"Name": "locks", "Namespace": "shop", "Service": "Helm"},
		"Chart": map[string]any{"Name": meta["name"], "Version": meta["version"], "AppVersion": meta["appVersion"]}}
	objects := make(map[string]object)
	for _, path := range files {
		var b bytes.Buffer
		if err := all.ExecuteTemplate(&b, filepath.Base(path), data); err != nil {
			return nil, err
		}
		require.NotContains(t, b.String(), "<no value>", path)
		if filepath.Ext(path) != ".yaml" {
			continue
		}
		parse(t, b.Bytes(), objects)
	}
	return objects, nil
}

// parse adds the manifests of a text to objects, by kind and name.
func parse(t *testing.T, text []byte, objects map[string]object) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var o map[string]any
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err, "%s", text)
		if o == nil {
			continue // the space between two separators
		}
		is := object(o)
		name := is.text("kind") + " " + is.text("metadata", "name")
		require.NotContains(t, objects, name)
		objects[name] = is
	}
}

// made is render for valid values.
func made(t *testing.T, changes map[string]any) map[string]object {
	t.Helper()
	objects, err := render(t, changes)
	require.NoError(t, err)
	return objects
}

// password has the only values that are required.
var password = map[string]any{"auth.existingSecret": "locks-password"}

// with returns the required values and more.
func with(more map[string]any) map[string]any {
	all := map[string]any{"auth.existingSecret": "locks-password"}
	for path, value := range more {
		all[path] = value
	}
	return all
}

// option returns the word after an option of the server.
func option(args []string, name string) string {
	if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// TestManifests: the manifests fit together.
func TestManifests(t *testing.T) {
	objects := made(t, password)
	for _, name := range []string{"StatefulSet locks-lockserver", "Service locks-lockserver", "Service locks-lockserver-members", "PodDisruptionBudget locks-lockserver",
		"NetworkPolicy locks-lockserver", "ServiceAccount locks-lockserver"} {
		require.Contains(t, objects, name)
		require.Equal(t, "shop", objects[name].text("metadata", "namespace"))
	}
	require.Len(t, objects, 6)
	s := objects["StatefulSet locks-lockserver"]
	require.Equal(t, "apps/v1", s.text("apiVersion"))
	require.Equal(t, "locks-lockserver-members", s.text("spec", "serviceName"))
	require.Equal(t, "Parallel", s.text("spec", "podManagementPolicy"), "the group forms when all are there")
	labels, _ := s.at("spec", "template", "metadata", "labels").(map[string]any)
	selects := func(selector any) {
		t.Helper()
		all, _ := selector.(map[string]any)
		require.NotEmpty(t, all)
		for name, value := range all {
			require.Equal(t, value, labels[name], name)
		}
	}
	selects(s.at("spec", "selector", "matchLabels"))
	selects(objects["Service locks-lockserver"].at("spec", "selector"))
	selects(objects["Service locks-lockserver-members"].at("spec", "selector"))
	selects(objects["PodDisruptionBudget locks-lockserver"].at("spec", "selector", "matchLabels"))
	selects(objects["NetworkPolicy locks-lockserver"].at("spec", "podSelector", "matchLabels"))
	selects(objects["NetworkPolicy locks-lockserver"].at("spec", "ingress", 1, "from", 0, "podSelector", "matchLabels"))
	pod := func(path ...any) []any { return append([]any{"spec", "template", "spec"}, path...) }
	selects(s.at(pod("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution", 0, "labelSelector", "matchLabels")...))
	require.Equal(t, "1", objects["PodDisruptionBudget locks-lockserver"].text("spec", "maxUnavailable"))
	require.Equal(t, "None", objects["Service locks-lockserver-members"].text("spec", "clusterIP"))
	require.Equal(t, true, objects["Service locks-lockserver-members"].at("spec", "publishNotReadyAddresses"), "members reach each other before they are ready")

	ports := map[string]bool{}
	list, _ := s.at(pod("containers", 0, "ports")...).([]any)
	for i := range list {
		ports[s.text(pod("containers", 0, "ports", i, "name")...)] = true
	}
	for _, name := range []string{"Service locks-lockserver", "Service locks-lockserver-members"} {
		list, _ := objects[name].at("spec", "ports").([]any)
		require.NotEmpty(t, list)
		for i := range list {
			require.True(t, ports[objects[name].text("spec", "ports", i, "targetPort")], name)
		}
	}
	require.Equal(t, true, s.at(pod("securityContext", "runAsNonRoot")...))
	require.Equal(t, true, s.at(pod("containers", 0, "securityContext", "readOnlyRootFilesystem")...))
	require.Equal(t, "lockserver:0.1.0", s.text(pod("containers", 0, "image")...))
	mounted := map[string]bool{"data": true}
	list, _ = s.at(pod("volumes")...).([]any)
	for i := range list {
		mounted[s.text(pod("volumes", i, "name")...)] = true
	}
	list, _ = s.at(pod("containers", 0, "volumeMounts")...).([]any)
	require.NotEmpty(t, list)
	for i := range list {
		require.True(t, mounted[s.text(pod("containers", 0, "volumeMounts", i, "name")...)])
	}
	require.Equal(t, "data", s.text("spec", "volumeClaimTemplates", 0, "metadata", "name"))
}

// TestCommandLine: each pod is a member of the same group, and no secret is in its command line.
func TestCommandLine(t *testing.T) {
	args := made(t, with(map[string]any{"config": map[string]any{"maxmemory": "2gb", "lock-watchdog-timeout": 3000000.0, "appendonly": false}}))["StatefulSet locks-lockserver"].
		words("spec", "template", "spec", "containers", 0, "args")
	require.Equal(t, "$(POD_NAME)", option(args, "--raft-id"))
	require.Equal(t, ":7000", option(args, "--raft-listen"))
	const domain = ".locks-lockserver-members.shop.svc.cluster.local"
	require.Equal(t, "locks-lockserver-0=locks-lockserver-0"+domain+":7000/locks-lockserver-0"+domain+":6379 "+
		"locks-lockserver-1=locks-lockserver-1"+domain+":7000/locks-lockserver-1"+domain+":6379 "+
		"locks-lockserver-2=locks-lockserver-2"+domain+":7000/locks-lockserver-2"+domain+":6379", option(args, "--raft-members"))
	require.Equal(t, "no", option(args, "--raft-tls"))
	require.Equal(t, "6379", option(args, "--port"))
	require.Equal(t, "/secrets/password", option(args, "--requirepass-file"))
	require.NotContains(t, args, "--requirepass")
	require.Equal(t, "2gb", option(args, "--maxmemory"))
	require.Equal(t, "3000000", option(args, "--lock-watchdog-timeout"))
	require.Equal(t, "no", option(args, "--appendonly"))
	args = made(t, with(map[string]any{"members": 5}))["StatefulSet locks-lockserver"].words("spec", "template", "spec", "containers", 0, "args")
	require.Len(t, strings.Fields(option(args, "--raft-members")), 5)
}

// TestTLS: clients, members and probes use the certificate.
func TestTLS(t *testing.T) {
	s := made(t, with(map[string]any{"tls.enabled": true, "tls.existingSecret": "locks-tls"}))["StatefulSet locks-lockserver"]
	args := s.words("spec", "template", "spec", "containers", 0, "args")
	require.Equal(t, "yes", option(args, "--raft-tls"))
	require.Equal(t, "0", option(args, "--port"))
	require.Equal(t, "6379", option(args, "--tls-port"))
	require.Equal(t, "/tls/ca.crt", option(args, "--tls-ca-cert-file"))
	require.Equal(t, "locks-tls", s.text("spec", "template", "spec", "volumes", 1, "secret", "secretName"))
	for probe, last := range map[string]string{"startupProbe": "--live", "livenessProbe": "--live", "readinessProbe": "--ready"} {
		words := s.words("spec", "template", "spec", "containers", 0, probe, "exec", "command")
		require.Equal(t, []string{"/usr/bin/lockserver", "health"}, words[:2], probe)
		require.Contains(t, words, last, probe)
		require.Contains(t, words, "--tls", probe)
		require.Equal(t, "/secrets/password", option(words, "--pass-file"), probe)
	}
}

// TestAdminPort: the port is off by default. Switched on, it has the objects for Prometheus' operator.
func TestAdminPort(t *testing.T) {
	objects := made(t, with(map[string]any{"admin.enabled": true, "admin.serviceMonitor": true}))
	require.Contains(t, objects, "ServiceMonitor locks-lockserver")
	args := objects["StatefulSet locks-lockserver"].words("spec", "template", "spec", "containers", 0, "args")
	require.Equal(t, "9121", option(args, "--admin-port"))
	require.NotContains(t, made(t, password)["StatefulSet locks-lockserver"].words("spec", "template", "spec", "containers", 0, "args"), "--admin-port")
}

// TestMonitoring: the chart has the alerts, the runbook and the dashboard. Each alert links to an existing
// section of the runbook, on the page that the values name.
func TestMonitoring(t *testing.T) {
	for copied, from := range map[string]string{"alerts.yml": "grafana/alerts.yml", "dashboard.json": "grafana/lockserver.json", "RUNBOOK.md": "RUNBOOK.md"} {
		want, err := os.ReadFile(filepath.Join("..", "..", "docs", from))
		require.NoError(t, err)
		require.Equal(t, string(want), chartFiles{}.Get("files/"+copied), "run 'make docs'")
	}
	for page, linked := range map[string]string{"": "file:///usr/share/doc/lockserver/RUNBOOK.md", "https://wiki.example.com/lockserver": "https://wiki.example.com/lockserver"} {
		objects := made(t, with(map[string]any{"admin.enabled": true, "admin.prometheusRule": true, "admin.dashboard": true, "admin.runbookURL": page}))
		sections := map[string]bool{}
		for line := range strings.Lines(objects["ConfigMap locks-lockserver-runbook"].text("data", "RUNBOOK.md")) {
			if title, ok := strings.CutPrefix(line, "#"); ok {
				sections[strings.ReplaceAll(strings.ToLower(strings.Trim(title, "# \n")), " ", "-")] = true
			}
		}
		rule := objects["PrometheusRule locks-lockserver"]
		rules, _ := rule.at("spec", "groups", 0, "rules").([]any)
		require.NotEmpty(t, rules)
		for i := range rules {
			at, section, _ := strings.Cut(rule.text("spec", "groups", 0, "rules", i, "annotations", "runbook_url"), "#")
			require.Equal(t, linked, at)
			require.True(t, sections[section], section)
			require.NotContains(t, rule.text("spec", "groups", 0, "rules", i, "annotations", "summary"), "<no value>")
		}
		dashboard := objects["ConfigMap locks-lockserver-dashboard"]
		require.Equal(t, "1", dashboard.text("metadata", "labels", "grafana_dashboard"))
		var read map[string]any
		require.NoError(t, json.Unmarshal([]byte(dashboard.text("data", "lockserver.json")), &read))
		require.NotEmpty(t, read["panels"])
	}
	for name := range made(t, with(map[string]any{"admin.enabled": true})) {
		require.NotRegexp(t, "PrometheusRule|ConfigMap", name)
	}
}

// refused holds invalid values by the text of their error.
var refused = map[string]map[string]any{
	"members: 3 or 5":           with(map[string]any{"members": 4}),
	"auth.existingSecret":       {},
	"tls.existingSecret":        with(map[string]any{"tls.enabled": true}),
	"admin.enabled":             with(map[string]any{"admin.prometheusRule": true}),
	"antiAffinity: hard, soft":  with(map[string]any{"antiAffinity": "yes"}),
	"config.requirepass":        with(map[string]any{"config": map[string]any{"requirepass": "x"}}),
	"config.raft-id: the chart": with(map[string]any{"config": map[string]any{"raft-id": "a"}}),
	"config.cluster-slots":      with(map[string]any{"config": map[string]any{"cluster-slots": "0-99"}}),
	"shards: 1 to 64":           with(map[string]any{"shards": 65}),
	"several shards need":       with(map[string]any{"shards": 2, "clients": "sentinel"}),
}

// TestValuesThatAreRefused: each invalid value is refused with its reason.
func TestValuesThatAreRefused(t *testing.T) {
	for why, values := range refused {
		_, err := render(t, values)
		require.ErrorContains(t, err, why)
	}
	for _, soft := range []string{"soft", "none"} {
		made(t, with(map[string]any{"antiAffinity": soft, "auth.enabled": false}))
	}
}
