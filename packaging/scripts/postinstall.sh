#!/bin/sh
# dpkg calls this with a word and the version that was configured before, rpm with the number of versions.
set -eu

case ${1:-} in
configure | abort-upgrade | abort-deconfigure | abort-remove | [0-9]*) ;;
*) exit 0 ;;
esac

systemd-sysusers lockserver.conf
if [ ! -d /var/lib/lockserver ]; then
	install -d -o lockserver -g lockserver -m 0750 /var/lib/lockserver
fi
# CONFIG REWRITE and ACL SAVE write there. What has an owner of the administrator's choice keeps it.
for path in /etc/lockserver /etc/lockserver/lockserver.conf; do
	if [ "$(stat -c %U:%G "$path")" = root:root ]; then
		chown lockserver:lockserver "$path"
	fi
done

case $1 in
[0-9]*) # whether a new service starts is the policy of the system
	if [ "$1" = 1 ]; then
		systemctl --no-reload preset lockserver.service >/dev/null 2>&1 || true
	elif [ -d /run/systemd/system ]; then
		systemctl daemon-reload || true
		systemctl try-restart lockserver.service || true
	fi
	;;
*) # as Debian's redis-server: it starts at once, and an upgrade restarts it
	if command -v deb-systemd-helper >/dev/null; then
		deb-systemd-helper unmask lockserver.service >/dev/null || true
		if deb-systemd-helper --quiet was-enabled lockserver.service; then
			deb-systemd-helper enable lockserver.service >/dev/null || true
		else
			deb-systemd-helper update-state lockserver.service >/dev/null || true
		fi
	fi
	if [ -d /run/systemd/system ]; then
		systemctl --system daemon-reload >/dev/null || true
		if [ -n "${2:-}" ]; then action=restart; else action=start; fi
		deb-systemd-invoke "$action" lockserver.service >/dev/null || true
	fi
	;;
esac
