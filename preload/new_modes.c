/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding out where each form of operator new allocates.  See enum hs_new_mode.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "preload/next.h"
#include "sample/thread_state.h"

/* The alignment and the size of the blocks that are tried. */
#define TRIED_BYTES 64

/* Whether a file is a C++ runtime: libstdc++, or LLVM's. */
static bool is_cxx_runtime(const char *file)
{
	static const char *const names[] = {"libstdc++.so.", "libc++.so.", "libc++abi.so."};
	const char *slash = strrchr(file, '/'), *name = slash != NULL ? slash + 1 : file;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

/*
 * Whether all of these functions that are called are ours: the program, or a library that comes
 * before us, may define some.  If it defines a form of operator new, the runtime's other forms call
 * that one, and ours must call the runtime's.
 */
static bool is_none_before_ours(void)
{
	if (dlsym(RTLD_DEFAULT, "malloc") != (void *)malloc ||
	    dlsym(RTLD_DEFAULT, "free") != (void *)free)
		return false;
#define CHECK_NAMED(name, arguments, names)                                                        \
	if (dlsym(RTLD_DEFAULT, #name) != (void *)name)                                            \
		return false;
	HS_NEXT_PLAIN_NEW(CHECK_NAMED)
	HS_NEXT_PLAIN_DELETE(CHECK_NAMED)
#undef CHECK_NAMED
	return true;
}

/* Whether plain operator new and delete are one C++ runtime's, whose malloc and free are ours. */
static bool is_new_standard(void)
{
	struct hs_next_object runtime;

	if (!is_none_before_ours())
		return false;
	runtime = hs_next_object_of(*(void **)(void *)&hs_next._Znwm);
	if (!is_cxx_runtime(runtime.file))
		return false;
#define CHECK_NAMED(name, arguments, names)                                                        \
	if (!hs_next_object_has(&runtime, (uintptr_t)hs_next.name))                                \
		return false;
	HS_NEXT_PLAIN_NEW(CHECK_NAMED)
	HS_NEXT_PLAIN_DELETE(CHECK_NAMED)
#undef CHECK_NAMED
	return true;
}

static bool has_new(const struct hs_next_object *allocator)
{
#define CHECK_NAMED(name, arguments, names)                                                        \
	if (hs_next_object_has(allocator, (uintptr_t)hs_next.name))                                \
		return true;
	HS_NEXT_NEW(CHECK_NAMED)
	HS_NEXT_DELETE(CHECK_NAMED)
#undef CHECK_NAMED
	return false;
}

static enum hs_new_mode new_mode(const struct hs_next_object *allocator)
{
	if (hs_next._Znwm == NULL)
		return HS_NEW_FALLBACK;
	if (has_new(allocator))
		return HS_NEW_SAMPLED;
	return is_new_standard() ? HS_NEW_STANDARD : HS_NEW_PASSES;
}

/*
 * A missing form that C++ libraries make of another one is made of that here too: its blocks may be
 * of another kind than malloc's.
 */
static void complete_new(void)
{
#define MAKE(array, scalar)                                                                        \
	if (hs_next.array == NULL && hs_next.scalar != NULL)                                       \
		hs_next.array = scalar;
	MAKE(_Znam, _Znwm)
	MAKE(_ZnamRKSt9nothrow_t, _ZnwmRKSt9nothrow_t)
	MAKE(_ZnamSt11align_val_t, _ZnwmSt11align_val_t)
	MAKE(_ZnamSt11align_val_tRKSt9nothrow_t, _ZnwmSt11align_val_tRKSt9nothrow_t)
#undef MAKE
}

/* is_standard: what malloc serves in HS_NEW_STANDARD. */
static enum hs_new_mode form_mode(const struct hs_next_object *allocator, uintptr_t form,
				  bool is_standard)
{
	if (form == 0)
		return HS_NEW_FALLBACK;
	if (hs_next_object_has(allocator, form))
		return HS_NEW_SAMPLED;
	return is_standard ? HS_NEW_STANDARD : HS_NEW_PASSES;
}

static void set_modes(const struct hs_next_object *allocator, bool is_standard)
{
#define SET(name, standard)                                                                        \
	hs_next.modes.name = form_mode(allocator, (uintptr_t)hs_next.name, standard);
#define SET_PLAIN(name, arguments, names) SET(name, is_standard)
#define SET_ALIGNED(name, arguments, names) SET(name, false)
	HS_NEXT_PLAIN_NEW(SET_PLAIN)
	HS_NEXT_ALIGNED_NEW(SET_ALIGNED)
#undef SET_ALIGNED
#undef SET_PLAIN
#undef SET
}

static bool is_any_known(void)
{
#define CHECK_NAMED(name, arguments, names)                                                        \
	if (hs_next.name != NULL)                                                                  \
		return true;
	HS_NEXT_NEW(CHECK_NAMED)
	HS_NEXT_DELETE(CHECK_NAMED)
#undef CHECK_NAMED
	return false;
}

void hs_next_find_new_modes(void)
{
	struct hs_next_object allocator = {.file = ""};
	enum hs_new_mode mode;

	/* In a C program there is nothing to find. */
	if (is_any_known())
		allocator = hs_next_object_of(*(void **)(void *)&hs_allocator.malloc);
	mode = new_mode(&allocator);

	complete_new();
	set_modes(&allocator, mode == HS_NEW_STANDARD);
	hs_next.new_mode = mode;
}

/* Whether operator new will not throw. */
static bool has_memory(void)
{
	void *block = hs_allocator.malloc(TRIED_BYTES);

	hs_allocator.free(block);
	return block != NULL;
}

/*
 * An allocator's form may call malloc, or another function of ours, by name: the countdown tells.
 * That of the second call, since a first one may allocate something of its own.
 */
void hs_next_try_new(void)
{
	const uint64_t countdown = hs_thread.bytes_until_sample;
	static const char nothrow;
	bool comes_back = false;
	void *block;

	if (hs_next.new_mode != HS_NEW_SAMPLED || !has_memory())
		return;
#define TRY(name, arguments, delete)                                                               \
	for (int i = 0; i < 2 && hs_next.modes.name == HS_NEW_SAMPLED; i++) {                      \
		hs_thread.bytes_until_sample = HS_NEXT_COUNTDOWN;                                  \
		block = hs_next.name arguments;                                                    \
		comes_back = hs_thread.bytes_until_sample != HS_NEXT_COUNTDOWN;                    \
		delete;                                                                            \
	}                                                                                          \
	if (hs_next.modes.name == HS_NEW_SAMPLED && comes_back)                                    \
		hs_next.modes.name = HS_NEW_PASSES;
	TRY(_Znwm, (TRIED_BYTES), _ZdlPv(block))
	TRY(_Znam, (TRIED_BYTES), _ZdaPv(block))
	TRY(_ZnwmRKSt9nothrow_t, (TRIED_BYTES, &nothrow), _ZdlPv(block))
	TRY(_ZnamRKSt9nothrow_t, (TRIED_BYTES, &nothrow), _ZdaPv(block))
	TRY(_ZnwmSt11align_val_t, (TRIED_BYTES, TRIED_BYTES),
	    _ZdlPvSt11align_val_t(block, TRIED_BYTES))
	TRY(_ZnamSt11align_val_t, (TRIED_BYTES, TRIED_BYTES),
	    _ZdaPvSt11align_val_t(block, TRIED_BYTES))
	TRY(_ZnwmSt11align_val_tRKSt9nothrow_t, (TRIED_BYTES, TRIED_BYTES, &nothrow),
	    _ZdlPvSt11align_val_t(block, TRIED_BYTES))
	TRY(_ZnamSt11align_val_tRKSt9nothrow_t, (TRIED_BYTES, TRIED_BYTES, &nothrow),
	    _ZdaPvSt11align_val_t(block, TRIED_BYTES))
#undef TRY
	hs_thread.bytes_until_sample = countdown;
}
