#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The tree keeps the rules of scripts/check-style, and each rule can fail: on a copy
# of the tree, one violation at a time.
set -u

source_tree=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd) || exit 99
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
failures=0

if ! command -v python3 >/dev/null; then
	echo "skipped: no python3"
	exit 77
fi

# result STATUS NAME OUTPUT
result() {
	if [ "$1" -eq 0 ]; then
		echo "ok $2"
	else
		printf 'NOT OK %s\n%s\n' "$2" "$3"
		failures=$((failures + 1))
	fi
}

cp -r "$source_tree"/{src,preload,include,examples,man,README,configure.ac,Makefile.am} "$scratch" || exit 99
mkdir "$scratch/tests" && cp -r "$source_tree/tests/results" "$scratch/tests" || exit 99
chmod -R u+w "$scratch"
cd "$scratch" || exit 99

# Without the packages of the machine, which take longer to load than a check takes.
check() {
	python3 -I -S "$source_tree/scripts/check-style" "$@"
}

# violations FILE: of FILE and of the documentation, less what the tree itself is guilty of.
violations() {
	local output status

	output=$(check --root="$scratch" "$1")
	status=$?
	[ "$status" -eq 1 ] || echo "exit status $status"
	grep -vxF -f "$scratch/baseline" <<<"$output"
}

# fails RULE FILE WHAT: with the change made to FILE, exactly one violation of RULE is found there.
fails() {
	local output

	output=$(violations "$2")
	[[ $output = "$2":[0-9]*": $1: "* && $output != *$'\n'* ]]
	result $? "$1: $3" "$output"
	restore "$2"
}

# passes FILE WHAT: what looks like a violation of the change made to FILE is none.
passes() {
	local output

	output=$(check --root="$scratch" "$1" | grep -vxF -f "$scratch/baseline")
	[ -z "$output" ]
	result $? "passes: $2" "$output"
	restore "$1"
}

restore() {
	rm -f "$1"
	[ ! -e "$source_tree/$1" ] || { cp "$source_tree/$1" "$1" && chmod u+w "$1"; }
}

# new FILE LINE...: a C file that keeps the rules but for the lines given.
new() {
	local file=$1
	shift
	printf '%s\n' '/* SPDX-License-Identifier: BSD-2-Clause */' "$@" >"$file"
}

output=$(check --root="$source_tree")
result $? "the tree itself" "$output"
printf '%s\n' "${output:-none}" >baseline

#####################
# Shape of the text #
#####################

echo 'int i;' >src/base/new.h
fails spdx src/base/new.h "a header without the licence line"
sed -i 1d man/libheapsample.7
fails spdx man/libheapsample.7 "the manual page without it"
new src/base/new.c 'void f(void);' 'void f(void)' '{' '        int i;' '}'
fails tabs src/base/new.c "spaces"
new src/base/new.c 'void f(void);' 'void f(void)' '{' $'   \tint i;' '}'
fails tabs src/base/new.c "spaces before a tab"
new src/base/new.c 'int i; '
fails trailing src/base/new.c "a blank at the end of a line"
new src/base/new.c "$(printf '\t/* %089d */' 0)"
fails columns src/base/new.c "101 columns"
new src/base/new.c "$(printf '\t/* %086d */' 0)"
passes src/base/new.c "100 columns"
for file in new.py new; do
	printf '#!/usr/bin/env python3\n# %s\n# %098d\n' 'SPDX-License-Identifier: BSD-2-Clause' 0 \
		>"examples/$file"
	passes "examples/$file" "100 columns of Python"
	printf '#!/usr/bin/env python3\n# %s\n# %099d\n' 'SPDX-License-Identifier: BSD-2-Clause' 0 \
		>"examples/$file"
	fails columns "examples/$file" "101 columns of Python"
done
new src/base/new.c "$(yes '' | head -n 399; echo .)"
fails length src/base/new.c "401 lines"
new src/base/new.c '/* over 400 lines because this is a test */' "$(yes '' | head -n 399; echo .)"
passes src/base/new.c "401 lines with a reason"

##############
# Visibility #
##############

new src/base/new.h 'extern int hs_new;'
fails hidden src/base/new.h "a variable that other files use, looked for in a table of addresses"
new src/base/new.h 'extern HS_HIDDEN int hs_new;'
passes src/base/new.h "a hidden one"

################
# Constructors #
################

new preload/new.c '__attribute__((constructor)) static void start(int count, char **words)' '{' '}'
fails constructor preload/new.c "one with arguments"
new preload/new.c '__attribute__((constructor)) static void start(void)' '{' '}'
passes preload/new.c "one without"

##########
# Arrows #
##########

while read -r file included; do
	mkdir -p "$(dirname "$file")"
	new "$file" "#include \"$included\""
	fails include "$file" "$file includes $included"
done <<-END
	src/base/new.c sample/ring.h
	src/arch/x86_64/new.h base/sys.h
	src/sample/new.c maps/mapping_table.h
	src/maps/new.c unwind/frame.h
	src/unwind/new.c symbolize/symbols.h
	src/unwind/new.c profile/producer.h
	src/symbolize/new.c maps/mapping_table.h
	src/profile/new.c output/dump_file.h
	src/output/new.c profile/producer.h
	src/session/new.c preload/next.h
	src/base/new.c ../sample/ring.h
	preload/new.c base/options.h
	preload/new.c unwind/frame.h
	src/unheard_of/new.c base/sys.h
END
while read -r file included; do
	new "$file" "#include \"$included\""
	passes "$file" "$file includes $included"
done <<-END
	src/unwind/new.c sample/record.h
	src/symbolize/new.c maps/mapping.h
	src/profile/new.c output/profile_view.h
	src/session/new.c output/dump_file.h
	preload/new.c base/arena.h
	preload/new.c session/session.h
END

####################
# Banned functions #
####################

banned=(abort exit assert getenv syslog dladdr dl_iterate_phdr dlopen printf fprintf
	sprintf vsprintf snprintf vsnprintf puts perror fopen setlocale strerror strcpy strcat qsort)
calls=("${banned[@]/#/$'\t'}")
for file in src/sample/new.c preload/new.c; do
	new "$file" 'void f(void);' 'void f(void)' '{' "${calls[@]/%/(0);}" '}'
	output=$(violations "$file")
	for function in "${banned[@]}"; do
		[ "$(grep -cF ": banned: $function() " <<<"$output")" -eq 1 ]
		result $? "banned: $function() in $file" "$output"
	done
	[ "$(wc -l <<<"$output")" -eq "${#banned[@]}" ]
	result $? "banned: each once, and nothing else in $file" "$output"
	restore "$file"
done
new preload/new.c 'void f(void);' 'void f(void)' '{' $'\treturn exit(0);' '}'
fails banned preload/new.c "a returned call"
new src/base/new.c 'void exit(int status)'
fails banned src/base/new.c "a definition in src"
new preload/new.c 'void exit(int status)' '{' '}'
passes preload/new.c "the definition of an interposed function"
new src/base/new.c '/* never abort(); */' 'const char *text = "exit(1)";' '// printf("x")'
passes src/base/new.c "names in comments and strings"
new src/base/new.c 'void f(void)' '{' $'\t_exit(0); hs_abort(); x->exit(0); static_assert(1);' '}'
passes src/base/new.c "other functions whose names end so"

#########
# Texts #
#########

sed -i '/^\.It Ev HEAPSAMPLE_DEPTH/d' man/libheapsample.7
fails options man/libheapsample.7 "a variable the manual page lacks"
sed -i '/^  HEAPSAMPLE_DEPTH /d' README
fails options README "a variable the README lacks"
sed -i 's/^  HEAPSAMPLE_DEPTH .*/&\n  HEAPSAMPLE_WIDTH          1/' README
fails options README "a variable the code lacks"
sed -i 's/^  HEAPSAMPLE_DEPTH  *128/  HEAPSAMPLE_DEPTH  129/' README
fails options README "another default in the README"
sed -i 's/^\( *soak, interval 1 .*\)samples in/\1samples/' README
fails results README "another result in the README"
sed -i 's/^interval 1 differences: .*/interval 1 differences: 12/' tests/results/soak
output=$(violations README)
[[ $output = README:*": results: "* ]]
result $? "results: another result in a file" "$output"
restore tests/results/soak
sed -i '/^\.It Ev HEAPSAMPLE_DEPTH/,/^\.Cm/s/128/129/' man/libheapsample.7
fails options man/libheapsample.7 "another default in the manual page"
sed -i 's/^\.It .*stack_truncated.*/.It Li stack_shortened/' man/libheapsample.7
fails manual man/libheapsample.7 "a count the manual page lacks"
sed -i 's/^\.It .*\[truncated\].*/.It Li [shortened]/' man/libheapsample.7
fails manual man/libheapsample.7 "a pseudo frame the manual page lacks"
sed -i 's/^\.It "NUMBER events are missing/.It "NUMBER events were lost/' man/libheapsample.7
fails manual man/libheapsample.7 "a message the manual page lacks"
sed -i 's/^\( *pprof -top \)app\.4711\.0001\./\1app.*./' README
fails 'one profile' README "a command that adds profiles up"

header=include/heapsample/heapsample.h
page=man/heapsample.3
sed -i 1d $page
fails spdx $page "the manual page of the C API without it"
sed -i '/^\.Fn heapsample_stop /d' $page
fails api $page "a function the synopsis lacks"
sed -i '/^\.Nm heapsample_stop /d' $page
fails api $page "a function the page's NAME lacks"
sed -i 's/^\.Fn heapsample_stop .*/&\n.Ft int\n.Fn heapsample_pause void/' $page
fails api $header "a function the header lacks"
sed -i '/^\.Fn heapsample_dump/s/capacity/bytes/' $page
output=$(violations $page)
[[ $output = *"api: heapsample_dump as int("*"capacity) of $header"* ]]
result $? "api: another argument in the synopsis" "$output"
restore $page
sed -i 's/^int heapsample_stop(void);/&\nint heapsample_pause(int seconds);/' $header
output=$(violations $header)
[[ $output = *"$page:1: api: heapsample_pause as int(int seconds) of $header is missing"* ]]
result $? "api: a function of the header's that the page lacks" "$output"
restore $header
sed -i '/^static void pool_give/s/void \*block/void *gone/' examples/pool.c
output=$(violations examples/pool.c)
[[ $output = "$page:1: api: not in examples/pool.c: static void pool_give("* ]]
result $? "api: an example that was changed" "$output"
restore examples/pool.c

exit $((failures > 0))
