#!/bin/sh
# Install Chromium from the packages of Debian or Ubuntu, for the tests of pages.
set -eu
command -v apt-get > /dev/null || { echo "install Chromium, and have it on the path as chromium" >&2; exit 1; }
as_root=""
[ "$(id -u)" -eq 0 ] || as_root="sudo"
$as_root apt-get update -qq
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq chromium > /dev/null
