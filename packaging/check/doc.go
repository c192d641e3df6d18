// Package check is the tests of what make release has made. Each file is unpacked or installed as a user
// would, in a root of its own, and what it holds is run.
//
// It owns what has to be true of a release, and must not know how one is made: it sees the files in dist and
// nothing of package release. The root is the file system of the machine with a layer over it that is gone
// afterwards. So dpkg, rpm and the scripts of the packages find a whole system (root_test.go). In one of
// them systemd is the first process (systemd_linux_test.go). They run as root, in namespaces for mounts,
// network and processes, as make release-check starts them. A new file in dist gets a test here.
package check
