#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Make ./configure from configure.ac (a release tarball has it already).
set -eu
cd "$(dirname "$0")"
# aclocal refuses a missing macro folder, and it is not in the repository: all
# that is ever in it comes from libtoolize.
mkdir -p m4
exec autoreconf --force --install
