#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The dynamic loader, other allocators, other preloaded libraries, and large address spaces.
. "$(dirname "$0")/lib.sh"
. "$tests/hostile.sh"

LIBRARIES=${LIBRARIES:-300}
MAPPINGS=10000
FILES=3000

need "${CC:-cc}"

must_build() {
	build "$@" || {
		fail "$1 cannot be built: $(cat "$directory/$1.build")"
		finish
	}
}

must_build victim_loader victim_loader.c -pthread -ldl
must_build library.so victim_loader_library.c -shared -fPIC
must_build neighbour.so preload_neighbour.c -shared -fPIC -pthread -ldl
must_build audit.so loader_audit.c -shared -fPIC
victim=$directory/victim_loader
library_of_victim=$directory/library.so

mkdir "$directory/libraries"
i=0
while [ $i -lt "$LIBRARIES" ]; do
	cp "$library_of_victim" "$directory/libraries/library.$i.so"
	i=$((i + 1))
done

# A case with the victim, which must succeed without the library.
works() {
	hostile "$@"
	ended_with 0
}

kind loader
works churn 1 -- "$victim" churn "$directory"/libraries/*.so
works bind_now 1 LD_BIND_NOW=1 -- "$victim" churn "$directory"/libraries/library.1?.so
works bind_not 1 LD_BIND_NOT=1 -- "$victim" churn "$directory"/libraries/library.1?.so
works deepbind 1 -- "$victim" deepbind "$library_of_victim"
works namespaces 1 -- "$victim" namespaces "$library_of_victim"
works nested 1 -- "$victim" nested
# The child has a profile if it was sampled.
works inherit some -- "$victim" inherit "$directory"/libraries/library.[5-7]?.so

# env is profiled too.  "nested" is left out: with such an audit library glibc's dlsym(RTLD_NEXT)
# fails if a program calls it through the PLT.
for mode in "churn $directory/libraries/library.2?.so" "deepbind $library_of_victim" \
	"mappings 100"; do
	# shellcheck disable=SC2086 # the arguments are words
	works "audit_${mode%% *}" some -- env LD_AUDIT="$directory/audit.so" "$victim" $mode
done

kind 'address space'
works mappings 1 -- "$victim" mappings $MAPPINGS
works mapped_files 1 -- "$victim" files "$directory" $FILES

# A case with libraries preloaded before and after ours: beside BEFORE AFTER ARGUMENT-OF-HOSTILE...
# shellcheck disable=SC2034 # hostile looks at them
beside() {
	PRELOAD=$1 PRELOAD_AFTER=$2
	shift 2
	hostile "$@"
	ended_with "${expected:-0}"
	PRELOAD='' PRELOAD_AFTER=''
}

# Either its malloc or the library's comes first.
kind 'beside another preloaded library'
neighbour() {
	mode=${1%% *}
	# shellcheck disable=SC2086 # the arguments are words
	beside "$directory/neighbour.so" '' "before_$mode" "$2" -e -- "$victim" $1
	# shellcheck disable=SC2086
	beside '' "$directory/neighbour.so" "after_$mode" "$2" -e -- "$victim" $1
}
neighbour "churn $directory/libraries/library.3?.so" 1
neighbour "deepbind $library_of_victim" 1
neighbour nested 1
neighbour "clocks $directory" 1
# Only one of the profiler's two threads can be started.  It must end again, or the process would
# not end with the program's last thread.
cat >"$directory/one_thread.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		   void *argument)
{
	static int count;
	create_fn *next = (create_fn *)dlsym(RTLD_NEXT, "pthread_create");
	return count++ > 0 || next == NULL ? EAGAIN : next(thread, attributes, start, argument);
}
END
cat >"$directory/leaves.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
static void *volatile block;
int main(void)
{
	for (int i = 0; i < 1000; i++) {
		block = malloc(10000);
		free(block);
	}
	pthread_exit(NULL);
}
END
${CC:-cc} -shared -fPIC -o "$directory/one_thread.so" "$directory/one_thread.c" -ldl || exit 99
${CC:-cc} -pthread -o "$directory/leaves" "$directory/leaves.c" || exit 99
beside '' "$directory/one_thread.so" one_thread any -m 'cannot be started' -- "$directory/leaves"
has_said 'cannot be started'
# Looks each function up when that is first called.
cat >"$directory/lazy.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
void *malloc(size_t bytes)
{
	static void *(*next)(size_t);
	if (next == NULL)
		next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	return next(bytes);
}
void free(void *block)
{
	static void (*next)(void *);
	if (next == NULL)
		next = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	next(block);
}
END
# Aligns each block to a cache line.
cat >"$directory/aligns.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
void *malloc(size_t bytes)
{
	static int (*next)(void **, size_t, size_t);
	void *block = NULL;
	if (next == NULL)
		next = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
	return next(&block, 64, bytes) == 0 ? block : NULL;
}
END
for wrapper in lazy aligns; do
	${CC:-cc} -shared -fPIC -fno-builtin -o "$directory/$wrapper.so" "$directory/$wrapper.c" -ldl ||
		exit 99
	beside "$directory/$wrapper.so" '' before_$wrapper any -- "$directory/leaves"
	beside '' "$directory/$wrapper.so" after_$wrapper any -- "$directory/leaves"
done
# An allocator whose free() must not be called before its malloc(), as in mimalloc 3.
cat >"$directory/fresh.c" <<'END'
#include <stddef.h>
#include <stdlib.h>
void *__libc_malloc(size_t bytes);
void __libc_free(void *block);
static int has_begun;
void *malloc(size_t bytes)
{
	has_begun = 1;
	return __libc_malloc(bytes);
}
void free(void *block)
{
	if (!has_begun)
		abort();
	__libc_free(block);
}
END
${CC:-cc} -shared -fPIC -fno-builtin -o "$directory/fresh.so" "$directory/fresh.c" || exit 99
beside "$directory/fresh.so" '' before_fresh 0 -m interposed -- "$directory/leaves"
has_said interposed
expected=139
neighbour crash 0
expected=0

# Another allocator, linked to the program, or preloaded before or after the library.
kind 'allocator'
for allocator in jemalloc tcmalloc tcmalloc_minimal tcmalloc_minimal_debug mimalloc; do
	if ! build "with_$allocator" victim_loader.c -pthread -Wl,--no-as-needed -l$allocator -ldl; then
		skip_case $allocator "no lib$allocator.so"
		continue
	fi
	shared=$(${CC:-cc} -print-file-name=lib$allocator.so)
	for mode in "churn $directory/libraries/library.4?.so" nested; do
		word=${mode%% *}
		# shellcheck disable=SC2086 # the arguments are words
		works "${allocator}_$word" 1 -- "$directory/with_$allocator" $mode
		# shellcheck disable=SC2086
		beside "$shared" '' "${allocator}_before_$word" 0 -m interposed -- "$victim" $mode
		has_said interposed
		# shellcheck disable=SC2086
		beside '' "$shared" "${allocator}_after_$word" 1 -- "$victim" $mode
	done
	# If the program is not position-independent its free() is a jump of its own.
	beside '' "$shared" "${allocator}_after_python" any -- "$python" -c 'print(1)'
done

# Names that libc has too, and that a program or a library may have for something else.
kind 'names of libc'
cat >"$directory/variables.c" <<'END'
#include <stdlib.h>
int clone = 42;
char **environ;
int main(void)
{
	for (int i = 0; i < 1000; i++)
		free(malloc(10000));
	return clone != 42 || environ != NULL || getenv("PATH") == NULL;
}
END
${CC:-cc} -fno-builtin -rdynamic -o "$directory/variables" "$directory/variables.c" || exit 99
works variables 1 -- "$directory/variables"
# A dlsym() that calls libc's, as in overlays of games: to that one RTLD_NEXT is what follows it.
cat >"$directory/dlsym.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
void *dlsym(void *handle, const char *name)
{
	static void *(*next)(void *, const char *);
	if (next == 0)
		*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (next == 0)
		*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	return next(handle, name);
}
END
option=-fno-optimize-sibling-calls
${CC:-cc} $option -shared -fPIC -o "$directory/dlsym.so" "$directory/dlsym.c" -ldl || exit 99
${CC:-cc} $option -pthread -rdynamic -o "$directory/dlsym" "$directory/leaves.c" \
	"$directory/dlsym.c" -ldl || exit 99
works dlsym 1 -- "$directory/dlsym"
beside "$directory/dlsym.so" '' before_dlsym 1 -- "$directory/leaves"
beside '' "$directory/dlsym.so" after_dlsym 1 -- "$directory/leaves"
# Its pthread_sigmask() allocates, as that of gprofng's collector does in its first call.
cat >"$directory/sigmask.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	int (*next)(int, const sigset_t *, sigset_t *);
	*(void **)&next = dlsym(RTLD_NEXT, "pthread_sigmask");
	free(malloc(10000));
	return next(how, set, old);
}
END
${CC:-cc} -fno-builtin -shared -fPIC -o "$directory/sigmask.so" "$directory/sigmask.c" -ldl || exit 99
beside "$directory/sigmask.so" '' sigmask 1 -- "$directory/leaves"

# Threads of C11 as tinycthread has them, for which success is 1.  The second library's threads do not
# come by our pthread_create().  Each thread begins when thrd_create() has returned.  When the first
# has ended the profiler still runs.
cat >"$directory/c11.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
struct thread {
	int (*start)(void *);
	void *argument;
};
static sem_t is_joined;
static void *run(void *memory)
{
	struct thread thread = *(struct thread *)memory;
	sem_wait(&is_joined);
	free(memory);
	return (void *)(long)thread.start(thread.argument);
}
int thrd_create(pthread_t *created, int (*start)(void *), void *argument)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	struct thread *thread = malloc(sizeof *thread);
	*thread = (struct thread){start, argument};
#ifdef BY_HANDLE
	*(void **)&create = dlsym(dlopen("libpthread.so.0", RTLD_NOW), "pthread_create");
#else
	create = pthread_create;
#endif
	return create(created, NULL, run, thread) == 0;
}
int thrd_join(pthread_t thread, int *result)
{
	void *value;
	sem_post(&is_joined);
	if (pthread_join(thread, &value) != 0)
		return 0;
	*result = (int)(long)value;
	return 1;
}
void thrd_exit(int result)
{
	pthread_exit((void *)(long)result);
}
END
cat >"$directory/c11_main.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
int thrd_create(pthread_t *created, int (*start)(void *), void *argument);
int thrd_join(pthread_t thread, int *result);
void thrd_exit(int result);
static int run(void *number)
{
	free(malloc(1000));
	if (*(int *)number % 2 != 0)
		thrd_exit(*(int *)number);
	return *(int *)number;
}
int main(void)
{
	int right = 0, result;
	pthread_t thread;
	for (int i = 0; i < 200; i++) {
		if (thrd_create(&thread, run, &i) == 1 && thrd_join(thread, &result) == 1)
			right += result == i;
		for (int j = 0; i == 0 && j < 300000; j++)
			free(malloc(1000));
	}
	printf("%d threads\n", right);
	return right != 200;
}
END
for name in c11 c11_by_handle; do
	[ $name = c11 ] && define='' || define=-DBY_HANDLE
	${CC:-cc} -D_GNU_SOURCE $define -fno-builtin -shared -fPIC -pthread \
		-o "$directory/lib$name.so" "$directory/c11.c" -ldl || exit 99
	${CC:-cc} -fno-builtin -pthread -o "$directory/$name" "$directory/c11_main.c" \
		"-L$directory" -l$name "-Wl,-rpath,$directory" || exit 99
	works $name 1 -- "$directory/$name"
	check check_profile.py uncounted "$directory/$name.1"/*.heap.pb.gz lost_ring
	works $name.off 0 HEAPSAMPLE=0 -- "$directory/$name"
done

# One that calls libc's: the profiler still runs when the main thread has ended.
cat >"$directory/c11_wrap.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <threads.h>
int thrd_create(thrd_t *created, thrd_start_t start, void *argument)
{
	int (*next)(thrd_t *, thrd_start_t, void *);
	*(void **)&next = dlsym(RTLD_NEXT, "thrd_create");
	return next(created, start, argument);
}
END
cat >"$directory/c11_last.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
static void say(void)
{
	puts("exits");
}
static int run(void *first)
{
	thrd_join(*(thrd_t *)first, NULL);
	for (int i = 0; i < 300000; i++)
		free(malloc(1000));
	return 0;
}
int main(void)
{
	static thrd_t first;
	thrd_t thread;
	atexit(say);
	free(malloc(1000));
	first = thrd_current();
	thrd_create(&thread, run, &first);
	thrd_exit(0);
}
END
${CC:-cc} -shared -fPIC -o "$directory/c11_wrap.so" "$directory/c11_wrap.c" -ldl || exit 99
${CC:-cc} -fno-builtin -pthread -o "$directory/c11_last" "$directory/c11_last.c" || exit 99
beside '' "$directory/c11_wrap.so" c11_wrap 1 -- "$directory/c11_last"
check check_profile.py uncounted "$directory"/c11_wrap.1/*.heap.pb.gz lost_ring
# One that fails: the main thread, which is the last one, ends by exit().
cat >"$directory/c11_fails.c" <<'END'
#include <threads.h>
int thrd_create(thrd_t *created, thrd_start_t start, void *argument)
{
	(void)created, (void)start, (void)argument;
	return thrd_nomem;
}
END
${CC:-cc} -shared -fPIC -o "$directory/c11_fails.so" "$directory/c11_fails.c" || exit 99
beside '' "$directory/c11_fails.so" c11_fails 1 -- "$directory/c11_last"

# A cfree() that frees a list.
cat >"$directory/list.c" <<'END'
#include <stdlib.h>
struct cell {
	struct cell *next;
};
void cfree(struct cell **list)
{
	for (struct cell *cell = *list; cell != NULL; cell = *list) {
		*list = cell->next;
		free(cell);
	}
}
END
cat >"$directory/list_main.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
void cfree(void *list);
static void **volatile kept;
__attribute__((noinline)) void site_list(void)
{
	kept = calloc(1, 10000);
}
int main(void)
{
	void **list, *cell;
	site_list();
	list = kept;
	for (int i = 0; i < 10; i++) {
		cell = malloc(sizeof(void *));
		*(void **)cell = *list;
		*list = cell;
	}
	cfree(list);
	puts(*list == NULL ? "empty" : "not empty");
	return *list != NULL;
}
END
${CC:-cc} -fno-builtin -shared -fPIC -o "$directory/liblist.so" "$directory/list.c" || exit 99
${CC:-cc} -fno-builtin -o "$directory/list" "$directory/list_main.c" "-L$directory" -llist \
	"-Wl,-rpath,$directory" || exit 99
works cfree 1 -- "$directory/list"
# It did not free the block that it was called with.
check check_profile.py site "$directory"/cfree.1/*.heap.pb.gz list 1 10000 1 10000
works cfree.off 0 HEAPSAMPLE=0 -- "$directory/list"

# A program with a malloc of its own is not profiled, whether that allocates or calls libc's.
kind 'own malloc'
hostile own_malloc 0 -m 'interposed' -- "$victims/victim_own_malloc"
has_said interposed
must_build own_wrapper preload_neighbour.c -DWITH_MAIN -pthread -ldl -rdynamic
hostile own_wrapper 0 -m 'interposed' -- "$directory/own_wrapper"
has_said interposed

# A static program is not profiled; scripts/quickstart says so before it builds anything.
kind 'static program'
if build victim_static victim_loader.c -static -pthread -ldl; then
	hostile static 0 -- "$directory/victim_static" mappings 100
	if command -v bash >/dev/null; then
		bash "$source_directory/scripts/quickstart" -- "$directory/victim_static" crash \
			>"$directory/quickstart" 2>&1 </dev/null && fail "quickstart profiles a static program"
		grep -q 'is linked statically' "$directory/quickstart" ||
			fail "quickstart: $(head -3 "$directory/quickstart")"
	fi
else
	skip_case static "static programs cannot be built here"
fi

finish_cases
