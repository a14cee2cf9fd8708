/* SPDX-License-Identifier: BSD-2-Clause */
/* The raw system calls: results, injected faults, and reading memory that may not be mapped. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/regs.h"
#include "base/sys.h"
#include "check.h"
#include "process_vm.h"

static long fault_number;
static long fault_value;
static unsigned fault_count; /* how many calls still fail */

static long fail_some(long number)
{
	if (number != fault_number || fault_count == 0)
		return 0;
	fault_count--;
	return fault_value;
}

static void inject(long number, long value, unsigned count)
{
	fault_number = number;
	fault_value = value;
	fault_count = count;
	hs_sys_fault = fail_some;
}

static void test_errors_are_negative_errno(void)
{
	errno = 1234;
	CHECK_INT(hs_sys_open("/no/such/file", O_RDONLY, 0), -ENOENT);
	CHECK_INT(hs_sys_close(-1), -EBADF);
	CHECK_INT(errno, 1234);
}

static void test_fault_replaces_the_call(void)
{
	inject(SYS_getpid, -EPERM, 1);
	CHECK_INT(hs_sys_getpid(), -EPERM);
	CHECK_INT(hs_sys_getpid(), getpid());
	inject(SYS_mmap, -ENOMEM, 1);
	CHECK(hs_sys_map(4096, PROT_NONE) == NULL);
	hs_sys_fault = NULL;
}

static void test_fault_cuts_a_transfer(void)
{
	char bytes[8] = "";
	int ends[2];

	CHECK_INT(pipe(ends), 0);
	inject(SYS_write, 3, 1);
	CHECK_INT(hs_syscall(SYS_write, ends[1], (long)"1234567", 7, 0, 0, 0), 3);
	inject(SYS_write, 3, 1);
	CHECK_INT(hs_sys_write_all(ends[1], "4567", 4), 0);
	inject(SYS_read, 2, 1);
	CHECK_INT(hs_sys_read(ends[0], bytes, 7), 2);
	inject(SYS_read, 100, 1); /* not more than was asked for */
	CHECK_INT(hs_sys_read(ends[0], bytes + 2, 5), 5);
	CHECK_STR(bytes, "1234567");
	hs_sys_fault = NULL;
	close(ends[0]);
	close(ends[1]);
}

static void test_map_is_zero_and_unmaps(void)
{
	char *memory = hs_sys_map(8192, PROT_READ | PROT_WRITE);

	CHECK(memory != NULL);
	CHECK(memory[0] == 0 && memory[8191] == 0);
	memory[8191] = 1;
	CHECK_INT(hs_sys_advise(memory, 8192, MADV_DONTNEED), 0);
	CHECK_INT(memory[8191], 0);
	CHECK_INT(hs_sys_protect(memory, 4096, PROT_NONE), 0);
	CHECK_INT(hs_sys_unmap(memory, 8192), 0);
	CHECK(hs_sys_map(0, PROT_NONE) == NULL);
}

/* A page full of a pattern, with nothing mapped behind it. */
static unsigned char *map_with_end(void)
{
	unsigned char *memory = hs_sys_map(8192, PROT_READ | PROT_WRITE);

	for (int i = 0; i < 4096; i++)
		memory[i] = (unsigned char)(i * 7 + 1);
	hs_sys_unmap(memory + 4096, 4096);
	return memory;
}

static void check_read_memory(void)
{
	unsigned char *memory = map_with_end(), buffer[256];
	uintptr_t end = (uintptr_t)memory + 4096;

	CHECK_INT(hs_sys_read_memory((uintptr_t)memory, buffer, sizeof buffer), sizeof buffer);
	CHECK(memcmp(buffer, memory, sizeof buffer) == 0);

	/* From 100 bytes before the mapping's end: only these 100 are read. */
	memset(buffer, 0, sizeof buffer);
	CHECK_INT(hs_sys_read_memory(end - 100, buffer, sizeof buffer), 100);
	CHECK(memcmp(buffer, memory + 4096 - 100, 100) == 0);
	CHECK_INT(buffer[100], 0);

	CHECK_INT(hs_sys_read_memory(end, buffer, sizeof buffer), -EFAULT);
	CHECK_INT(hs_sys_read_memory(16, buffer, sizeof buffer), -EFAULT);
	/* Reads all, or fails. */
	memset(buffer, 0, sizeof buffer);
	CHECK_INT(hs_sys_read_memory_all(end - sizeof buffer, buffer, sizeof buffer), 0);
	CHECK(memcmp(buffer, memory + 4096 - sizeof buffer, sizeof buffer) == 0);
	CHECK_INT(hs_sys_read_memory_all(end - 100, buffer, sizeof buffer), -EFAULT);
	CHECK_INT(hs_sys_read_memory_all(end, buffer, sizeof buffer), -EFAULT);
	CHECK_INT(hs_sys_read_memory_all(0, buffer, sizeof buffer), -EFAULT);
	CHECK_INT(hs_sys_read_memory_all(end, buffer, 0), 0);

	hs_sys_unmap(memory, 4096);
	CHECK_INT(hs_sys_read_memory((uintptr_t)memory, buffer, sizeof buffer), -EFAULT);
}

static void test_read_memory(void)
{
	unsigned char *memory = hs_sys_map(4096, PROT_NONE), byte;

	check_read_memory();
	/* /proc/self/mem can read more. */
	CHECK_INT(hs_sys_read_memory((uintptr_t)memory, &byte, 1),
		  may_read_by_process_vm() ? -EFAULT : 1);
	hs_sys_unmap(memory, 4096);
}

static void test_read_memory_where_the_call_is_refused(void)
{
	inject(SYS_process_vm_readv, -EPERM, 1000);
	check_read_memory();
	CHECK(fault_count < 1000);
	inject(SYS_process_vm_readv, -ENOSYS, 1000);
	check_read_memory();
	hs_sys_fault = NULL;
}

static void test_read_memory_all_goes_on_after_interrupts(void)
{
	unsigned char *memory = map_with_end(), buffer[256];

	inject(SYS_process_vm_readv, -EINTR, 3);
	CHECK_INT(hs_sys_read_memory_all((uintptr_t)memory, buffer, sizeof buffer), 0);
	CHECK_INT(fault_count, 0);
	CHECK(memcmp(buffer, memory, sizeof buffer) == 0);
	inject(SYS_process_vm_readv, -ENOMEM, 1);
	CHECK_INT(hs_sys_read_memory_all((uintptr_t)memory, buffer, sizeof buffer), -ENOMEM);
	hs_sys_fault = NULL;
	hs_sys_unmap(memory, 4096);
}

static void test_write_all_goes_on_after_interrupts(void)
{
	int ends[2];
	char got[16] = "";

	CHECK_INT(pipe(ends), 0);
	inject(SYS_write, -EINTR, 3);
	CHECK_INT(hs_sys_write_all(ends[1], "abcdef", 6), 0);
	CHECK_INT(fault_count, 0);
	hs_sys_fault = NULL;
	CHECK_INT(read(ends[0], got, sizeof got), 6);
	CHECK_STR(got, "abcdef");
	inject(SYS_write, -ENOSPC, 1);
	CHECK_INT(hs_sys_write_all(ends[1], "abcdef", 6), -ENOSPC);
	inject(SYS_write, -EINTR, UINT_MAX); /* not for ever */
	CHECK_INT(hs_sys_write_all(ends[1], "abcdef", 6), -EIO);
	hs_sys_fault = NULL;
	close(ends[0]);
	close(ends[1]);
}

static int drained_fd;
static unsigned char drained[300000];
static size_t drained_bytes;
static unsigned writes;

/* Called before each system call: makes room in the pipe. */
static long drain_pipe(long number)
{
	ssize_t got = 1;

	if (number == SYS_write) {
		writes++;
		while (got > 0) {
			got = read(drained_fd, drained + drained_bytes,
				   sizeof drained - drained_bytes);
			drained_bytes += got > 0 ? (size_t)got : 0;
		}
	}
	return 0;
}

static void test_write_all_goes_on_after_short_writes(void)
{
	static unsigned char sent[sizeof drained];
	int ends[2];

	for (size_t i = 0; i < sizeof sent; i++)
		sent[i] = (unsigned char)(i % 251);
	CHECK_INT(pipe2(ends, O_NONBLOCK), 0);
	drained_fd = ends[0];
	hs_sys_fault = drain_pipe;
	CHECK_INT(hs_sys_write_all(ends[1], sent, sizeof sent), 0);
	hs_sys_fault = NULL;
	drain_pipe(SYS_write);
	CHECK(writes > 2);
	CHECK_INT(drained_bytes, sizeof sent);
	CHECK(memcmp(sent, drained, sizeof sent) == 0);
	close(ends[0]);
	close(ends[1]);
}

static void test_write_all_reports_a_full_file(void)
{
	char path[] = "test_sys.XXXXXX", text[1500] = "";
	int fd = mkstemp(path);
	struct rlimit saved, limit;
	struct stat info;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &saved);
	limit = saved;
	limit.rlim_cur = 1000;
	setrlimit(RLIMIT_FSIZE, &limit);
	CHECK_INT(hs_sys_write_all(fd, text, sizeof text), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &saved);
	CHECK_INT(hs_sys_fstat(fd, &info), 0);
	CHECK_INT(info.st_size, 1000);
	close(fd);
	CHECK_INT(hs_sys_unlink(AT_FDCWD, path), 0);
	CHECK_INT(hs_sys_stat(path, &info), -ENOENT);
}

static void test_reading_files(void)
{
	char path[] = "test_sys.XXXXXX", moved[] = "test_sys.moved", buffer[32];
	int fd = mkstemp(path);

	CHECK_INT(hs_sys_write_all(fd, "0123456789", 10), 0);
	inject(SYS_pread64, -EINTR, 2);
	CHECK_INT(hs_sys_pread_all(fd, buffer, 4, 3), 0);
	hs_sys_fault = NULL;
	CHECK(memcmp(buffer, "3456", 4) == 0);
	CHECK_INT(hs_sys_pread_all(fd, buffer, 4, 7), -ENODATA);
	close(fd);

	CHECK_INT(hs_sys_rename(AT_FDCWD, path, moved, 0), 0);
	inject(SYS_pread64, -EINTR, 2);
	CHECK_INT(hs_sys_read_file(moved, buffer, sizeof buffer), 10);
	CHECK_STR(buffer, "0123456789");
	CHECK_INT(hs_sys_read_file(moved, buffer, 5), 4);
	CHECK_STR(buffer, "0123");
	inject(SYS_pread64, -EIO, 1);
	CHECK_INT(hs_sys_read_file(moved, buffer, sizeof buffer), -EIO);
	hs_sys_fault = NULL;
	CHECK_INT(hs_sys_read_file(path, buffer, sizeof buffer), -ENOENT);
	CHECK_INT(hs_sys_unlink(AT_FDCWD, moved), 0);
}

/* The program closes all it does not know, and opens a file of its own, before a read. */
static int taken = -1;

static long take_descriptor(long number)
{
	int lowest;

	if (number != SYS_pread64 || taken >= 0)
		return 0;
	lowest = dup(STDERR_FILENO);
	for (int fd = 3; fd <= lowest; fd++)
		close(fd);
	taken = open("/dev/null", O_RDONLY);
	return 0;
}

static void test_descriptor_of_the_program(void)
{
	const char *const paths[] = {"/proc/self/stat", "/etc/passwd"};
	char buffer[64];

	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		taken = -1;
		atomic_store(&hs_sys_fault, take_descriptor);
		CHECK_INT(hs_sys_read_file(paths[i], buffer, sizeof buffer), -EBADF);
		atomic_store(&hs_sys_fault, NULL);
		CHECK(taken >= 3);
		CHECK_INT(close(taken), 0);
	}
}

static void test_file_of_the_kernel(void)
{
	char path[] = "test_sys.XXXXXX", buffer[64];
	int fd = mkstemp(path);

	CHECK_INT(hs_sys_write_all(fd, "1 (x) Z", 7), 0);
	close(fd);
	CHECK_INT(hs_sys_read_kernel_file(path, buffer, sizeof buffer), -EINVAL);
	CHECK_INT(hs_sys_read_kernel_file("/proc/self/stat", buffer, sizeof buffer), 63);
	CHECK_INT(hs_sys_unlink(AT_FDCWD, path), 0);
}

static void test_state_in_stat(void)
{
	CHECK_STR(hs_sys_state_in_stat("1 (x) Z 0"), "Z 0");
	CHECK_STR(hs_sys_state_in_stat("1 (a) Z (b) S 0"), "S 0");
	CHECK(hs_sys_state_in_stat("1 (x)") == NULL);
	CHECK(hs_sys_state_in_stat("") == NULL);
}

static void test_working_directory(void)
{
	char directory[] = "test_sys.XXXXXX", before[PATH_MAX], buffer[PATH_MAX];
	int start = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK(getcwd(before, sizeof before) != NULL);
	CHECK_INT(hs_sys_working_directory(buffer, sizeof buffer), strlen(before));
	CHECK_STR(buffer, before);
	CHECK_INT(hs_sys_working_directory(buffer, strlen(before)), 0);
	CHECK_STR(buffer, "");
	CHECK(mkdtemp(directory) != NULL);
	CHECK_INT(chdir(directory), 0);
	CHECK_INT(unlinkat(start, directory, AT_REMOVEDIR), 0);
	CHECK_INT(hs_sys_working_directory(buffer, sizeof buffer), 0);
	CHECK_STR(buffer, "");
	CHECK_INT(fchdir(start), 0);
	close(start);
}

static void test_futex_times_out(void)
{
	_Atomic uint32_t word = 5;

	CHECK_INT(hs_sys_futex_wait(&word, 4, -1), -EAGAIN);
	CHECK_INT(hs_sys_futex_wait(&word, 5, 1000), -ETIMEDOUT);
}

static unsigned pauses;

static _Atomic uint32_t private_word = 5, shared_word = 6;

static int wait_either(uint32_t private_value, uint32_t shared_value, int64_t timeout_ns)
{
	return hs_sys_futex_wait_either(&private_word, private_value, (uintptr_t)&shared_word,
					shared_value, timeout_ns);
}

/* Wakes until a thread was woken. */
static void *wake_private(void *unused)
{
	while (hs_sys_futex_wake(&private_word, 1) == 0)
		usleep(1000);
	return unused;
}

static void *wake_shared(void *unused)
{
	while (hs_syscall(SYS_futex, (long)&shared_word, FUTEX_WAKE, 1, 0, 0, 0) == 0)
		usleep(1000);
	return unused;
}

static void test_futex_of_two(void)
{
	void *(*const wake[])(void *) = {wake_private, wake_shared};
	pthread_t thread;

	if (wait_either(4, 6, -1) == -ENOSYS)
		return; /* before Linux 5.16 */
	CHECK_INT(wait_either(4, 6, -1), -EAGAIN);
	CHECK_INT(wait_either(5, 7, -1), -EAGAIN);
	CHECK_INT(wait_either(5, 6, 1000), -ETIMEDOUT);
	CHECK_INT(hs_sys_futex_wait_either(&private_word, 5, 4096, 6, -1), -EFAULT);
	for (int which = 0; which < 2; which++) {
		CHECK(pthread_create(&thread, NULL, wake[which], NULL) == 0);
		CHECK_INT(wait_either(5, 6, -1), which);
		CHECK(pthread_join(thread, NULL) == 0);
	}
}

static long refuse_futex(long number)
{
	pauses += number == SYS_nanosleep;
	return number == SYS_futex ? -EPERM : 0;
}

static void test_futex_that_is_refused_does_not_spin(void)
{
	_Atomic uint32_t word = 5;

	hs_sys_fault = refuse_futex;
	CHECK_INT(hs_sys_futex_wait(&word, 5, -1), -EPERM);
	hs_sys_fault = NULL;
	CHECK_INT(pauses, 1);
}

static void test_clock_that_cannot_be_read(void)
{
	errno = 1234;
	CHECK_INT(hs_sys_clock_ns(1000), 0);
	CHECK_INT(errno, 1234);
}

static uint64_t read_by_libc(clockid_t clock)
{
	struct timespec now;

	CHECK_INT(clock_gettime(clock, &now), 0);
	return (uint64_t)now.tv_sec * HS_SECOND_NS + (uint64_t)now.tv_nsec;
}

static void check_clock(clockid_t clock)
{
	uint64_t before = read_by_libc(clock), now = hs_sys_clock_ns(clock);

	CHECK(before <= now && now <= read_by_libc(clock));
}

static void test_clocks(void)
{
	uint64_t last_ns = hs_sys_monotonic_ns(), now_ns;

	check_clock(CLOCK_MONOTONIC);
	inject(SYS_clock_gettime, -EPERM, 101);
	CHECK_INT(hs_sys_clock_ns(CLOCK_MONOTONIC), 0);
	/* Every wait ends. */
	for (int i = 0; i < 100; i++, last_ns = now_ns) {
		now_ns = hs_sys_monotonic_ns();
		CHECK(now_ns > last_ns);
	}
	hs_sys_clock_start();
	inject(SYS_clock_gettime, -EPERM, 1000);
	if (getauxval(AT_SYSINFO_EHDR) != 0) {
		check_clock(CLOCK_MONOTONIC);
		check_clock(CLOCK_THREAD_CPUTIME_ID);
		CHECK_INT(fault_count, 1000);
	}
	hs_sys_fault = NULL;
	check_clock(CLOCK_MONOTONIC);
	test_clock_that_cannot_be_read();
}

static void test_threads_that_are_gone(void)
{
	CHECK(!hs_sys_thread_is_gone(hs_sys_gettid()));
	/* Above the largest pid_max of the kernel. */
	CHECK(hs_sys_thread_is_gone(1 << 23));
}

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* Makes the children's CLOCK_MONOTONIC an earlier one.  False: that is not allowed. */
static bool set_clock_back(void)
{
	static const char offset[] = "monotonic -10 0";
	int fd, error;

	if (unshare(CLONE_NEWTIME) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWTIME) != 0)
		return false;
	fd = hs_sys_open("/proc/self/timens_offsets", O_WRONLY, 0);
	error = hs_sys_write_all(fd, offset, strlen(offset));
	hs_sys_close(fd);
	return error == 0;
}

static void test_clock_that_goes_back(void)
{
	uint64_t before, after;
	int status;
	pid_t child = fork(), grandchild;

	if (child == 0) {
		if (!set_clock_back()) {
			printf("# no time namespaces\n");
			fflush(stdout);
			_exit(0);
		}
		before = hs_sys_monotonic_ns();
		grandchild = fork();
		if (grandchild == 0) {
			after = hs_sys_monotonic_ns();
			CHECK(after >= before);
			usleep(1000);
			CHECK(hs_sys_monotonic_ns() > after);
			_exit(CHECK_RESULT());
		}
		waitpid(grandchild, &status, 0);
		_exit(status != 0);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

static void test_real_time(void)
{
	const struct sched_param lowest = {.sched_priority = 1}, none = {0};

	CHECK(!hs_sys_is_real_time());
	if (sched_setscheduler(0, SCHED_RR, &lowest) != 0)
		return;
	CHECK(hs_sys_is_real_time());
	CHECK_INT(sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest), 0);
	CHECK(hs_sys_is_real_time());
	CHECK_INT(sched_setscheduler(0, SCHED_OTHER, &none), 0);
	inject(SYS_sched_getscheduler, -EPERM, 1);
	CHECK(!hs_sys_is_real_time());
	hs_sys_fault = NULL;
}

static void test_random_without_the_call(void)
{
	CHECK(hs_sys_random() != hs_sys_random());
	inject(SYS_getrandom, -ENOSYS, 1);
	CHECK(hs_sys_random() != 0);
	CHECK_INT(fault_count, 0);
	hs_sys_fault = NULL;
}

static void test_touch(void)
{
	unsigned char *start = hs_sys_map(5 * 4096, PROT_READ | PROT_WRITE), pages[5];
	const unsigned char byte = 1;
	struct rusage before, after;

	CHECK(start != NULL);
	start[4096] = 7;
	hs_sys_touch(start + 4095, 2 * 4096);
	hs_sys_touch(start + 4 * 4096, 0);
	CHECK_INT(mincore(start, 5 * 4096, pages), 0);
	CHECK_INT(pages[0] & pages[1] & pages[2] & 1, 1);
	CHECK_INT((pages[3] | pages[4]) & 1, 0);
	CHECK_INT(start[4096], 7);
	/* Pages that had only been read would be replaced when they are written. */
	CHECK_INT(getrusage(RUSAGE_THREAD, &before), 0);
	hs_arch_copy(start, &byte, 1); /* not seen by a sanitizer, which has pages of its own */
	hs_arch_copy(start + 2 * 4096, &byte, 1);
	CHECK_INT(getrusage(RUSAGE_THREAD, &after), 0);
	CHECK_INT(after.ru_minflt - before.ru_minflt, 0);
	CHECK_INT(hs_sys_unmap(start, 5 * 4096), 0);
}

int main(void)
{
	RUN(test_errors_are_negative_errno);
	RUN(test_fault_replaces_the_call);
	RUN(test_fault_cuts_a_transfer);
	RUN(test_map_is_zero_and_unmaps);
	RUN(test_read_memory);
	RUN(test_read_memory_where_the_call_is_refused);
	RUN(test_read_memory_all_goes_on_after_interrupts);
	RUN(test_write_all_goes_on_after_interrupts);
	RUN(test_write_all_goes_on_after_short_writes);
	RUN(test_write_all_reports_a_full_file);
	RUN(test_reading_files);
	RUN(test_descriptor_of_the_program);
	RUN(test_file_of_the_kernel);
	RUN(test_state_in_stat);
	RUN(test_working_directory);
	RUN(test_futex_times_out);
	RUN(test_futex_of_two);
	RUN(test_futex_that_is_refused_does_not_spin);
	RUN(test_clock_that_cannot_be_read);
	RUN(test_clocks);
	RUN(test_clock_that_goes_back);
	RUN(test_threads_that_are_gone);
	RUN(test_real_time);
	RUN(test_random_without_the_call);
	RUN(test_touch);
	return CHECK_RESULT();
}
