// Package chart tests that the manifests of the Helm chart in this directory fit together, and start a raft
// group.
//
// It owns a small renderer: the templates of the chart with the functions of sprig, and the functions of Helm
// that the chart uses. The manifests are decoded into the types of Kubernetes. It must not know the server.
// `make chart` has Helm itself lint and render the chart, and compares the results. To use another function
// of Helm in a template, add it to functions.
package chart
