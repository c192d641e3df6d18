package chart

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// serviceMonitor has the fields of a ServiceMonitor of Prometheus' operator that the chart uses.
type serviceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		JobLabel  string               `json:"jobLabel"`
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port string `json:"port"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// prometheusRule has the same for a PrometheusRule.
type prometheusRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

// kubernetes returns a value of the Kubernetes type for a manifest, or nil.
func kubernetes(version, kind string) any {
	switch version + " " + kind {
	case "apps/v1 StatefulSet":
		return &appsv1.StatefulSet{}
	case "v1 Service":
		return &corev1.Service{}
	case "v1 ServiceAccount":
		return &corev1.ServiceAccount{}
	case "policy/v1 PodDisruptionBudget":
		return &policyv1.PodDisruptionBudget{}
	case "networking.k8s.io/v1 NetworkPolicy":
		return &networkingv1.NetworkPolicy{}
	case "monitoring.coreos.com/v1 ServiceMonitor":
		return &serviceMonitor{}
	case "monitoring.coreos.com/v1 PrometheusRule":
		return &prometheusRule{}
	case "v1 ConfigMap":
		return &corev1.ConfigMap{}
	}
	return nil
}

// decodes decodes a manifest into the type of Kubernetes. It returns an error for an unknown or duplicate
// field, and for a value of a wrong type.
func decodes(o object) error {
	text, err := yaml.Marshal(map[string]any(o))
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(text, kubernetes(o.text("apiVersion"), o.text("kind")), yaml.DisallowUnknownFields)
}

// settings holds values that together use each part of the templates.
var settings = map[string]map[string]any{
	"as it comes": password,
	"all": with(map[string]any{"members": 5, "tls.enabled": true, "tls.existingSecret": "locks-tls", "admin.enabled": true, "admin.serviceMonitor": true, "admin.prometheusRule": true, "admin.dashboard": true, "admin.runbookURL": "https://wiki.example.com/lockserver",
		"config": map[string]any{"maxmemory": "2gb", "lock-watchdog-timeout": 3000000.0, "appendonly": false}, "podLabels": map[string]any{"team": "shop"},
		"podAnnotations": map[string]any{"note": "x"}, "imagePullSecrets": []any{map[string]any{"name": "pull"}}, "priorityClassName": "high",
		"nodeSelector": map[string]any{"disk": "fast"}, "tolerations": []any{map[string]any{"key": "locks", "operator": "Exists", "effect": "NoSchedule"}},
		"persistence.storageClass": "fast", "serviceAccount.annotations": map[string]any{"note": "x"}, "resources.requests.cpu": "2"}),
	"three shards":            with(map[string]any{"shards": 3, "tls.enabled": true, "tls.existingSecret": "locks-tls", "admin.enabled": true, "admin.serviceMonitor": true}),
	"soft without a password": {"auth.enabled": false, "antiAffinity": "soft", "networkPolicy.enabled": false, "podDisruptionBudget.enabled": false},
	"own affinity": with(map[string]any{"affinity": map[string]any{"nodeAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{
		"nodeSelectorTerms": []any{map[string]any{"matchExpressions": []any{map[string]any{"key": "disk", "operator": "In", "values": []any{"fast"}}}}}}}}}),
}

// TestKubernetesTakesTheManifests: each manifest has a known kind, and only fields that Kubernetes knows.
func TestKubernetesTakesTheManifests(t *testing.T) {
	for name, values := range settings {
		t.Run(name, func(t *testing.T) {
			for name, o := range made(t, values) {
				require.NotNil(t, kubernetes(o.text("apiVersion"), o.text("kind")), name)
				require.NoError(t, decodes(o), name)
			}
		})
	}
	wrong := made(t, password)["StatefulSet locks-lockserver"]
	spec, _ := wrong["spec"].(map[string]any)
	spec["replica"] = 3
	require.ErrorContains(t, decodes(wrong), `unknown field "replica"`)
	delete(spec, "replica")
	spec["replicas"] = "three"
	require.Error(t, decodes(wrong))
}
