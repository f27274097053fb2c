#!/bin/sh
# PostgreSQL for the tests of the ledger, from Debian's packages. Without it they are skipped, unless
# MAITRED_REQUIRE_POSTGRES=1 makes that a failure; so this never fails itself.
{ command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; } >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "Installing PostgreSQL with apt-get for the tests of the ledger; a minute, once"
	export DEBIAN_FRONTEND=noninteractive
	# The tests start a server of their own; the package need not.
	mkdir -p /etc/postgresql-common && echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
	apt-get -qq update && apt-get -qq install -y --no-install-recommends postgresql >/dev/null && exit 0
fi
echo "No PostgreSQL: its tests cannot run. To have them run: sudo apt-get install postgresql" >&2
