#!/usr/bin/env bash
# Builds what would be published into a folder, as a Maven repository in one archive, and checks it. No test is built or run:
#
#   bash package.sh bin/packages/java
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rm -rf "$1"
mkdir -p "$1"
packed=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/built
mkdir "$out"
version=$(sed -n 's|^  <version>\(.*\)</version>$|\1|p' "$here/pom.xml" | head -1)
server=$(sed -n 's/^\tversion = "\([^"]*\)".*/\1/p' "$here/../../cmd/lockserver/version.go")
if [[ $version != "$server" ]]; then
	echo "the version is $version, that of the server is $server" >&2
	exit 1
fi

published=lockserver-client,lockserver-spring,lockserver-spring-boot-starter,lockserver-test,shedlock-provider-lockserver
(cd "$here" && mvn -B -ntp -q -Ppackage -Dmaven.test.skip -Dmaven.install.skip=true -DaltDeploymentRepository="built::file://$out" \
	-pl "$published" -am deploy)

# What Maven Central asks for.
fail() {
	echo "$*" >&2
	exit 1
}
for artifact in lockserver-parent ${published//,/ }; do
	stem=$out/io/lockserver/$artifact/$version/$artifact-$version
	pom=$stem.pom
	[[ -f $pom ]] || fail "$pom is missing"
	if grep -q SNAPSHOT "$pom"; then fail "$pom depends on a snapshot"; fi
	for element in name description url; do
		grep -q "<$element>..*</$element>" "$pom" || fail "$pom has no $element"
	done
	if [[ $artifact == lockserver-parent ]]; then
		for element in licenses developers scm; do
			grep -q "<$element>" "$pom" || fail "$pom has no $element"
		done
		continue
	fi
	grep -q "<parent>" "$pom" || fail "$pom inherits no licence"
	for kind in '' -sources -javadoc; do
		jar=$stem$kind.jar
		[[ -f $jar ]] || fail "$jar is missing"
		for sum in md5 sha1; do [[ -f $jar.$sum ]] || fail "$jar.$sum is missing"; done
		names=$(jar tf "$jar")
		grep -q '^META-INF/LICENSE$' <<<"$names" || [[ $kind == -javadoc ]] || fail "$jar has no licence"
		case $kind in
		'') grep -q '\.class$' <<<"$names" || fail "$jar has no classes" ;;
		-sources) grep -q '\.java$' <<<"$names" || fail "$jar has no sources" ;;
		-javadoc) grep -q '^index.html$' <<<"$names" || fail "$jar has no pages" ;;
		esac
	done
done
for dir in "$out"/io/lockserver/*; do
	[[ $dir != */client-tests ]] || fail "the tests must not be published"
done

tar -C "$out" -czf "$packed/maven-lockserver-$version.tar.gz" io
echo "$packed has version $version"
