// Package check tests the results of make release. Each file is unpacked or installed as a user would, in its
// own root directory, and its content is run.
//
// It owns the requirements of a release, and must not know how a release is made: it sees the files in dist
// and nothing of package release. The root is the file system of the machine under a layer that is dropped
// afterwards. So dpkg, rpm and the scripts of the packages find a whole system (root_test.go). In one of
// these roots systemd is the first process (systemd_linux_test.go). The tests run as root, in namespaces for
// mounts, network and processes, which make release-check creates. A new file in dist gets a test here.
package check
