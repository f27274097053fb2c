#!/bin/sh
# Chromium for the tests of pages, from Debian's packages. Without it they are skipped, unless
# MAITRED_REQUIRE_BROWSER=1 makes that a failure; so this never fails itself.
command -v chromium >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "Installing Chromium with apt-get for the tests of pages; a minute, once"
	export DEBIAN_FRONTEND=noninteractive
	apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium >/dev/null && exit 0
fi
echo "No Chromium: tests of pages cannot run. To have them run: sudo apt-get install chromium" >&2
