/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operator new that fails, and exceptions that pass through it or past allocations.
 *
 * usage: victim_hostile_new MODE, see the table at the end
 *
 * With -DLIBRARY: a library for victim_hostile_opens.c.
 */
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static volatile const std::size_t too_large[] = {
	std::size_t(1) << 47, PTRDIFF_MAX, std::size_t(PTRDIFF_MAX) + 1, SIZE_MAX - 15, SIZE_MAX,
};

static const char *what_came(void *(*call)(std::size_t), std::size_t size)
{
	try {
		return call(size) != nullptr ? "a block" : "NULL";
	} catch (const std::bad_array_new_length &) {
		return "bad_array_new_length";
	} catch (const std::bad_alloc &) {
		return "bad_alloc";
	} catch (const std::exception &) {
		return "another exception";
	} catch (int) {
		return "a number";
	}
}

struct alignas(256) Wide {
	char bytes[256];
};

/* wraps: libstdc++ before version 13 rounds sizes near SIZE_MAX up to a small one. */
static const struct {
	const char *name;
	void *(*call)(std::size_t);
	bool wraps = false;
} calls[] = {
	{"new", [](std::size_t n) { return ::operator new(n); }},
	{"new[]", [](std::size_t n) { return ::operator new[](n); }},
	{"new, nothrow", [](std::size_t n) { return ::operator new(n, std::nothrow); }},
	{"new[], nothrow", [](std::size_t n) { return ::operator new[](n, std::nothrow); }},
	{"new, aligned", [](std::size_t n) { return ::operator new(n, std::align_val_t(64)); },
	 true},
	{"new[], aligned", [](std::size_t n) { return ::operator new[](n, std::align_val_t(64)); },
	 true},
	{"new, aligned, nothrow",
	 [](std::size_t n) { return ::operator new(n, std::align_val_t(4096), std::nothrow); },
	 true},
	{"new[], aligned, nothrow",
	 [](std::size_t n) { return ::operator new[](n, std::align_val_t(4096), std::nothrow); },
	 true},
	{"array", [](std::size_t n) { return static_cast<void *>(new long[n]); }},
	{"array, nothrow",
	 [](std::size_t n) { return static_cast<void *>(new (std::nothrow) long[n]); }},
	{"array, aligned", [](std::size_t n) { return static_cast<void *>(new Wide[n]); }},
};

static void print_calls()
{
	for (std::size_t size : too_large)
		for (const auto &each : calls) {
			if (each.wraps && size > SIZE_MAX - 4096)
				continue;
			errno = 77;
			const char *came = what_came(each.call, size);
			std::printf("%s %zx: %s, errno %d\n", each.name, size, came, errno);
		}
}

static int fail()
{
	print_calls();
	/* Size 0 does not fail, and errno stays. */
	for (const auto &each : calls) {
		errno = 77;
		const char *came = what_came(each.call, 0);
		std::printf("%s 0: %s, errno %d\n", each.name, came, errno);
	}
	std::printf("new, alignment 3: %s\n",
		    what_came([](std::size_t n) { return ::operator new(n, std::align_val_t(3)); },
			      100));
	return 0;
}

/* --- handlers ------------------------------------------------------------------------- */

static int handler_calls;
static std::jmp_buf jump;

static void give_up()
{
	if (++handler_calls % 3 == 0)
		std::set_new_handler(nullptr);
}

static void throw_number()
{
	handler_calls++;
	throw 5;
}

static void throw_out_of_memory()
{
	handler_calls++;
	throw std::bad_alloc();
}

static void jump_out()
{
	handler_calls++;
	std::longjmp(jump, 1);
}

static void print_handled(const char *name, std::new_handler handler)
{
	for (const auto &each : calls) {
		std::set_new_handler(handler);
		handler_calls = 0;
		const char *came = what_came(each.call, PTRDIFF_MAX / 64);
		std::printf("%s, %s: %s after %d calls\n", name, each.name, came, handler_calls);
	}
	std::set_new_handler(nullptr);
}

static int handle()
{
	print_handled("gives up", give_up);
	print_handled("throws bad_alloc", throw_out_of_memory);
	/* The number passes our operator new; libstdc++'s nothrow forms catch it. */
	print_handled("throws a number", throw_number);
	std::set_new_handler(jump_out);
	handler_calls = 0;
	for (volatile int i = 0; i < 100; i = i + 1)
		if (setjmp(jump) == 0)
			std::free(::operator new(PTRDIFF_MAX / 2));
	std::set_new_handler(nullptr);
	std::printf("jumped out %d times\n", handler_calls);
	return 0;
}

/* --- exceptions past allocations ------------------------------------------------------- */

struct Thrower {
	std::string text = "longer than what a string keeps in itself";
	std::unique_ptr<int[]> numbers{new int[100]};

	explicit Thrower(int depth)
	{
		if (depth > 0)
			Thrower deeper(depth - 1);
		else
			throw std::runtime_error(text);
	}
};

static int throw_often()
{
	unsigned caught = 0;
	std::exception_ptr kept;
	std::vector<std::thread> threads;

	for (int round = 0; round < 300; round++) {
		try {
			std::unique_ptr<Thrower> thrower(new Thrower(round % 40));
		} catch (...) {
			kept = std::current_exception();
			std::vector<int> while_caught(1000);
			caught += while_caught.size() == 1000;
		}
	}
	/* From one thread to others. */
	for (int i = 0; i < 4; i++)
		threads.emplace_back([&kept, &caught] {
			try {
				std::rethrow_exception(kept);
			} catch (const std::runtime_error &error) {
				__atomic_fetch_add(&caught, unsigned(std::strlen(error.what())),
						   __ATOMIC_RELAXED);
			}
		});
	for (auto &thread : threads)
		thread.join();
	std::printf("caught %u\n", caught);
	return 0;
}

/* Throws out of a signal handler.  -fnon-call-exceptions: gcc expects loads to throw. */
static void throw_from_handler(int number)
{
	throw std::string(50, char(number));
}

static int throw_from_handlers()
{
#ifdef __clang__
	/* clang does not expect exceptions there. */
	return 0;
#endif
	struct sigaction action = {};
	unsigned caught = 0;

	action.sa_handler = throw_from_handler;
	action.sa_flags = SA_NODEFER;
	sigaction(SIGSEGV, &action, nullptr);
	for (int round = 0; round < 200; round++) {
		std::unique_ptr<std::string> text(new std::string(100, 'z'));

		try {
			caught += *static_cast<volatile unsigned *>(nullptr);
		} catch (const std::string &thrown) {
			caught += unsigned(thrown.size() + text->size());
		}
	}
	std::printf("caught %u\n", caught);
	return 0;
}

static unsigned destroyed;

struct AtEnd {
	std::vector<int> *numbers = new std::vector<int>(100);

	~AtEnd()
	{
		std::vector<int> more(*numbers);

		delete numbers;
		/* Constructed while this object is destroyed, and destroyed after it. */
		static thread_local std::string late(1000, 'x');
		__atomic_fetch_add(&destroyed, unsigned(more.size() + late.size()),
				   __ATOMIC_RELAXED);
	}
};

static int destroy_thread_locals()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 50; i++)
		threads.emplace_back([] {
			static thread_local AtEnd at_end;
			at_end.numbers->push_back(1);
		});
	for (auto &thread : threads)
		thread.join();
	std::printf("destroyed %u\n", destroyed);
	return 0;
}

/* Nobody catches the exception: std::terminate() prints it. */
static int terminate()
{
	std::thread thread([] { throw std::runtime_error(std::string(100, 'y')); });

	thread.join();
	return 0;
}

/* Operator new fails in a function that must not throw. */
static int fail_noexcept()
{
	struct Here {
		static void *allocate() noexcept
		{
			return ::operator new(PTRDIFF_MAX);
		}
	};

	return Here::allocate() == nullptr;
}

static const struct {
	const char *name;
	int (*run)();
} modes[] = {
	{"fail", fail},
	{"handle", handle},
	{"throw", throw_often},
	{"throw-from-handler", throw_from_handlers},
	{"thread-local", destroy_thread_locals},
	{"terminate", terminate},
	{"noexcept", fail_noexcept},
};

extern "C" int run_in_library(const char *name)
{
	for (const auto &mode : modes)
		if (std::strcmp(name, mode.name) == 0)
			return mode.run();
	return 2;
}

#ifndef LIBRARY
int main(int argc, char **argv)
{
	return argc == 2 ? run_in_library(argv[1]) : 2;
}
#endif
