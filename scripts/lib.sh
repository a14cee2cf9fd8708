# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Shared by quickstart, run-tests and run-malloc-suites: messages, packages, the build.
# The caller sets $program (for messages) and $root (the repository).

say() {
	printf '%s: %s\n' "$program" "$*"
}

warn() {
	printf '%s: %s\n' "$program" "$*" >&2
}

die() {
	printf '%s: error: %s\n' "$program" "$*" >&2
	exit 1
}

have() {
	command -v -- "$1" >/dev/null 2>&1
}

############
# Packages #
############

# Packages to install: need*() adds to it, install_packages() installs them.
missing_packages=()

# is_installed PACKAGE: for this machine's architecture, whatever others it is there for too.
is_installed() {
	dpkg-query -W -f='${Architecture} ${db:Status-Status}\n' "$1" 2>/dev/null |
		grep -qxE "($(dpkg --print-architecture)|all) installed"
}

# need_package PACKAGE...
need_package() {
	local package

	for package; do
		is_installed "$package" || missing_packages+=("$package")
	done
}

# need_command COMMAND PACKAGE: needs the package if there is no such command.
need_command() {
	have "$1" || missing_packages+=("$2")
}

need_build_packages() {
	local tool

	for tool in gcc g++ make; do
		have "$tool" || { need_package build-essential; break; }
	done
	need_command autoconf autoconf
	need_command automake automake
	need_command libtoolize libtool
	need_command pkg-config pkg-config
	need_command protoc-c protobuf-c-compiler
	need_command readelf binutils
	if have dpkg-query; then
		need_package libc6-dev libunwind-dev libunwind8 libprotobuf-c-dev zlib1g-dev \
			libelf-dev liblzma-dev libiberty-dev
	fi
}

# The package redis-server would start a service; policy-rc.d could forbid that, but is the
# administrator's file.  redis-tools has the same binary, redis-check-rdb: called as redis-server it
# is the server, see provide_redis().
need_redis() {
	have redis-server || need_command redis-check-rdb redis-tools
	need_command redis-benchmark redis-tools
	need_command redis-cli redis-tools
}

need_test_packages() {
	need_build_packages
	need_command xz xz-utils
	need_command python3 python3
	need_command sqlite3 sqlite3
	need_command node nodejs
	need_command lli llvm
	need_command mandoc mandoc
	need_command go golang-go
	need_command ld.lld lld
	have dpkg-query && need_package libjemalloc2 libjemalloc-dev
	need_redis
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo -- "$@"
	fi
}

apt_get() {
	# No questions, and no restart of services by needrestart.
	as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
		apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# install_optional PACKAGE...: installs those that are available, or goes without, and says so.
install_optional() {
	local package available=()

	for package; do
		if apt-cache show "$package" >/dev/null 2>&1; then
			available+=("$package")
		else
			say "no package $package for this release; going without"
		fi
	done
	[ "${#available[@]}" -eq 0 ] && return 0
	say "apt-get install ${available[*]}"
	apt_get install --no-install-recommends "${available[@]}" ||
		warn "apt-get could not install what is optional; going without: ${available[*]}"
}

# install_packages [OPTIONAL...]: installs $missing_packages, and the optional ones that are missing
# and available.  If one of $missing_packages cannot be installed it prints a line and returns 1.
install_packages() {
	local package optional=() wanted=()

	mapfile -t wanted < <(printf '%s\n' "${missing_packages[@]}" | sort -u | sed '/^$/d')
	if ! have apt-get || ! have dpkg-query; then
		[ "${#wanted[@]}" -eq 0 ] && return 0
		warn "error: apt-get is not here;" \
			"install what these Debian packages hold: ${wanted[*]}"
		return 1
	fi
	for package; do
		is_installed "$package" || optional+=("$package")
	done
	if [ "${#wanted[@]}" -eq 0 ] && [ "${#optional[@]}" -eq 0 ]; then
		say "all packages needed are installed"
		return 0
	fi
	if [ "$(id -u)" -ne 0 ] && ! have sudo; then
		if [ "${#wanted[@]}" -eq 0 ]; then
			say "going without (not root, no sudo): ${optional[*]}"
			return 0
		fi
		warn "error: not root and no sudo;" \
			"install first: apt-get install ${wanted[*]} ${optional[*]}"
		return 1
	fi

	say "apt-get update"
	apt_get update || warn "apt-get update failed; trying with the package lists that are here"
	if [ "${#wanted[@]}" -gt 0 ]; then
		say "apt-get install ${wanted[*]}"
		if ! apt_get install --no-install-recommends "${wanted[@]}"; then
			warn "error: apt-get could not install: ${wanted[*]}"
			return 1
		fi
	fi
	install_optional "${optional[@]}"
}

# provide_redis DIRECTORY: makes `redis-server` a command, if necessary by a link in DIRECTORY.
provide_redis() {
	local binary

	have redis-server && return 0
	binary=$(command -v redis-check-rdb) || return 1
	mkdir -p "$1" && ln -sf "$binary" "$1/redis-server" || return 1
	"$1/redis-server" --version 2>/dev/null | grep -q '^Redis server' || return 1
	PATH=$1:$PATH
}

#########
# Build #
#########

# Returns whether the source tree can be built.  If not, it prints a line.
check_source_tree() {
	if [ -e "$root/config.status" ]; then
		warn "error: the source tree is configured in place; run 'make distclean' in $root"
		return 1
	fi
	if [[ $root = *[[:space:]:]* ]]; then
		warn "error: neither make nor LD_PRELOAD takes a path with a blank or a colon:" \
			"$root"
		return 1
	fi
}

# built_library DIRECTORY: prints the path of the library that is built in DIRECTORY.
built_library() {
	printf '%s\n' "$1/.libs/libheapsample.so"
}

jobs_default() {
	nproc 2>/dev/null || echo 2
}
