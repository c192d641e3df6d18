#!/usr/bin/env bash
# Uses the packages as a newcomer would, twice: from the archive that package.sh has built, and by the lines of README.md, as they are
# written, in an empty directory:
#
#   bash newcomer.sh bin/packages/java
#
# LOCKSERVER names the program for the newcomer's tests.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
archive=$(ls "$1"/maven-lockserver-*.tar.gz)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A newcomer's Maven repository has everything but these packages.
mkdir "$work/built" && tar -C "$work/built" -xzf "$archive"
cp -al "${MAVEN_REPOSITORY:-$HOME/.m2/repository}" "$work/repository"
rm -rf "$work/repository/io/lockserver"
export MAVEN_OPTS="-Dmaven.repo.local=$work/repository"
cp -r "$here/newcomer" "$work/newcomer"
(cd "$work/newcomer" && mvn -B -ntp -q -Dbuilt="file://$work/built" test)
echo "the archive works in an empty project"

# The block of README.md that begins with a line, without its fences.
block() {
	awk -v first="$1" '/^```/ { shown = 0 } fence && index($0, first) == 1 { shown = 1 } shown { print } { fence = /^```/ }' "$here/README.md"
}
install=$(block 'cd clients/java')
dependency=$(block '<dependency>')
program=$(block 'try (LockClient locks')
for text in "$install" "$dependency" "$program"; do
	[[ -n $text ]] || { echo "README.md does not show how to install and use the packages" >&2; exit 1; }
done
rm -rf "$work/repository/io/lockserver"
(cd "$here/../.." && bash -euc "mvn() { command mvn -B -ntp -q \"\$@\"; }; $install")
mkdir -p "$work/shop/src/main/java"
cat >"$work/shop/pom.xml" <<END
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>shop</groupId>
  <artifactId>shop</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
  </properties>
  <dependencies>
$dependency
  </dependencies>
</project>
END
cat >"$work/shop/src/main/java/Shop.java" <<END
import java.time.Duration;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;

class Shop {
    void pay() throws InterruptedException {
$program
    }

    void charge(long token) {
    }

    void stop() {
    }
}
END
(cd "$work/shop" && mvn -B -ntp -q compile)
[[ -f $work/shop/target/classes/Shop.class ]]
echo "the lines of README.md work in an empty directory"
