// Package chart asks whether the Helm chart beside it makes manifests that Kubernetes would take, and that start
// what a raft group needs.
//
// It owns a small renderer: the templates of the chart with the functions of sprig, and those of Helm's that the
// chart uses. `make chart` has Helm itself lint and render it. To use another function of Helm's in a template,
// add it to functions.
package chart
