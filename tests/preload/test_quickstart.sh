#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# scripts/quickstart with a program of the user's: whatever ends it there is a profile, and if there
# is none the script says why.  In a tree where everything is built, and without a package manager.
. "$(dirname "$0")/lib.sh"

need bash go make

tree=$directory/tree
mkdir -p "$tree/scripts" "$tree/build" "$directory/bin"
cp "$source_directory/scripts/quickstart" "$source_directory/scripts/lib.sh" "$tree/scripts"
ln -s "${library%/*}" "$tree/build/.libs"
: >"$tree/configure.ac"
: >"$tree/configure"
: >"$tree/build/libtool"
: >"$tree/Makefile.in"
echo all: >"$tree/build/Makefile"
# All packages are installed, and pprof shows nothing.
printf '#!/bin/sh\necho installed\n' >"$directory/bin/dpkg-query"
printf '#!/bin/sh\necho "flat%%"\n' >"$directory/bin/go"
for tool in $(sed -n 's/.*need_command \([a-z-]*\) .*/\1/p' "$tree/scripts/lib.sh") dot; do
	[ -e "$directory/bin/$tool" ] || command -v "$tool" >/dev/null ||
		ln -s /bin/true "$directory/bin/$tool"
done
chmod +x "$directory/bin/dpkg-query" "$directory/bin/go"

# quickstart NAME [VARIABLE=VALUE...] -- PROGRAM ARGUMENT...
quickstart() {
	out=$directory/$1
	shift
	settings=
	while [ "$1" != -- ]; do
		settings="$settings $1"
		shift
	done
	# shellcheck disable=SC2086 # no setting of a test has a blank in it
	env "PATH=$directory/bin:$PATH" $settings bash "$tree/scripts/quickstart" "$@" \
		>"$out.stdout" 2>"$out.stderr" </dev/null
	status=$?
}

# no_profile WORD...: it has failed, and says why with all these words.
no_profile() {
	expect_status 1
	for word in 'the program wrote no profile' "$@"; do
		grep -q -e "$word" "$out.stderr" || fail "$(basename "$out"): no '$word' in:" \
			"$(cat "$out.stderr")"
	done
}

quickstart exits -- "$victims/victim_process" exit
expect_status 0
expect_silence
grep -q '^  profile .*/victim_process\.[0-9]*\.0001\.heap\.pb\.gz$' "$out.stdout" ||
	fail "exits: $(cat "$out.stdout")"

# Not SIGINT: it is ignored in what a shell starts in the background, perhaps all the tests.
# shellcheck disable=SC2016 # the shell that ends itself is to read it
set -- sh -c 'kill -TERM $$'
quickstart term -- "$@"
expect_status 0
grep -q '^  profile .*/sh\.[0-9]*\.0001\.heap\.pb\.gz$' "$out.stdout" ||
	fail "term: $(cat "$out.stdout")"
quickstart term_set HEAPSAMPLE_FINAL=1 -- "$@"
no_profile 'status 143' HEAPSAMPLE_FINAL=term

for setting in HEAPSAMPLE=0 HEAPSAMPLE=check "HEAPSAMPLE_STREAM=$directory/stream" \
	HEAPSAMPLE_FINAL=0; do
	quickstart set "$setting" -- "$victims/victim_process" exit
	no_profile "with your settings .* $setting\$"
	! grep -q directory "$out.stderr" || fail "$setting: a directory is blamed"
done
finish
