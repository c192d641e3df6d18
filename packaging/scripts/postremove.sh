#!/bin/sh
# dpkg calls this with a word, rpm with the number of versions that stay. The data goes by `purge` alone, the user stays:
# files elsewhere may be its own.
set -eu

case ${1:-} in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl --system daemon-reload >/dev/null || true
	fi
	;;
purge)
	if command -v deb-systemd-helper >/dev/null; then
		deb-systemd-helper purge lockserver.service >/dev/null || true
	fi
	rm -rf /var/lib/lockserver /etc/lockserver
	;;
esac
