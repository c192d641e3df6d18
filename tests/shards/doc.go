// Package shards attacks a cluster of several shards in one process. Generated commands and pipelines go to
// it and to a Redis Cluster of three masters. The process is killed while its log is on disk.
package shards
