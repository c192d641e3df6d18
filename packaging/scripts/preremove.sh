#!/bin/sh
# dpkg calls this with a word, rpm with the number of versions that stay.
set -eu

[ -d /run/systemd/system ] || exit 0
case ${1:-} in
remove) deb-systemd-invoke stop lockserver.service >/dev/null || true ;;
0) systemctl --no-reload disable --now lockserver.service >/dev/null 2>&1 || true ;;
esac
