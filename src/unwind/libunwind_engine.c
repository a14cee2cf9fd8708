/* SPDX-License-Identifier: BSD-2-Clause */
/* Drives libunwind.  Run by the unwinding worker. */
#include "unwind/libunwind_engine.h"

#include <dlfcn.h>
#include <errno.h>
#include <libunwind.h>
#include <string.h>

#include "arch/unwind.h"
#include "base/arena.h"
#include "unwind/eh_frame_hdr.h"

#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define LIBRARY "libunwind-" STRING(UNW_TARGET) ".so.8"

/* For packagers' tools, which see by it what is loaded: an ELF note as systemd defines it. */
#define NOTE_TYPE 0x407c0c0a
#define NOTE_TEXT                                                                                  \
	"[{\"feature\":\"libunwind\",\"description\":\"Unwinds unusual frames\","                  \
	"\"priority\":\"recommended\",\"soname\":[\"" LIBRARY "\"]}]"
static const struct {
	uint32_t name_bytes, text_bytes, type;
	char name[4];
	char text[sizeof NOTE_TEXT];
} note __attribute__((used, aligned(4), section(".note.dlopen"))) = {
	4, sizeof NOTE_TEXT, NOTE_TYPE, "FDO", NOTE_TEXT,
};

/* Register states kept by libunwind (a power of two), for programs with thousands of hot pcs. */
#define CACHE_ENTRIES 4096
/* Words that one step may read: a damaged table must not keep us busy. */
#define READS_PER_STEP (1u << 18)

struct entry_points {
	__typeof__(unw_create_addr_space) *create_addr_space;
	__typeof__(unw_destroy_addr_space) *destroy_addr_space;
	__typeof__(unw_init_remote) *init_remote;
	__typeof__(unw_step) *step;
	__typeof__(unw_get_reg) *get_reg;
	__typeof__(unw_set_caching_policy) *set_caching_policy;
	__typeof__(unw_flush_cache) *flush_cache;
	/* Since 1.3; may be missing. */
	int (*set_cache_size)(unw_addr_space_t space, size_t entries, int flag);
	/* Exported, but in no public header. */
	int (*search_unwind_table)(unw_addr_space_t space, unw_word_t ip, void *dyn_info,
				   unw_proc_info_t *info, int need_unwind_info, void *arg);
};

/* unw_dyn_info_t with an unw_dyn_remote_table_info_t, in either layout. */
struct dyn_info {
	uint64_t next;
	uint64_t previous;
	uint64_t start_ip;
	uint64_t end_ip;
	uint64_t gp;
	int32_t format;
	int32_t pad;
	uint64_t rest[8]; /* [load_offset], name, segbase, table_len, table_data */
};

struct hs_libunwind_engine {
	const struct hs_mapping_table *table;
	struct hs_memory_cache *memory;
	struct hs_hint_frames *hinted;
	struct entry_points call;
	enum hs_libunwind_layout layout;
	unw_addr_space_t space;

	/* The unwind under way. */
	struct hs_regs regs;
	struct hs_stack_window window;
	bool no_info;        /* this step: find_proc_info() found nothing */
	bool cut;            /* this step: a word past the window was asked for */
	uint32_t reads_left; /* this step */
	union {
		unw_cursor_t cursor;
		uint64_t room[256]; /* in case the loaded library's is longer */
	} at;
};

/*
 * Reads unwind information and what it points to.  Not generated code, which has none: its memory
 * may be an executable stack, which has changed since.
 */
static bool read_object(const struct hs_libunwind_engine *engine, uint64_t address,
			unw_word_t *value)
{
	uint32_t code = hs_mapping_table_find_recorded(engine->table, address);

	return !hs_mapping_table_is_anonymous(engine->table, code) &&
	       hs_memory_cache_read(engine->memory, address, value, sizeof *value) == 0;
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
		      void *arg)
{
	struct hs_libunwind_engine *engine = arg;

	(void)space;
	if (write || engine->reads_left == 0)
		return -UNW_EINVAL;
	engine->reads_left--;
	if (hs_stack_window_read(&engine->window, address, value) ||
	    hs_hint_frames_read(engine->hinted, address, value, sizeof *value) ||
	    read_object(engine, address, value))
		return 0;
	if (hs_stack_window_is_cut_off(&engine->window, address))
		engine->cut = true;
	return -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write,
		      void *arg)
{
	struct hs_libunwind_engine *engine = arg;
	/* libunwind's numbers are DWARF's. */
	int index = hs_arch_register_index((unsigned)number);

	(void)space;
	if (write || index < 0)
		return -UNW_EBADREG;
	*value = *hs_arch_register(&engine->regs, (unsigned)index);
	return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write,
			void *arg)
{
	(void)space, (void)number, (void)value, (void)write, (void)arg;
	return -UNW_EBADREG;
}

/* No code registered with _U_dyn_register(): that would be in the program's own libunwind. */
static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *address, void *arg)
{
	(void)space, (void)address, (void)arg;
	return -UNW_ENOINFO;
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *arg)
{
	(void)space, (void)info, (void)arg;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *arg)
{
	(void)space, (void)cursor, (void)arg;
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t space, unw_word_t address, char *buffer, size_t bytes,
			 unw_word_t *offset, void *arg)
{
	(void)space, (void)address, (void)buffer, (void)bytes, (void)offset, (void)arg;
	return -UNW_ENOINFO;
}

/*
 * Searches the mapping's table, in the space of hint_frames.h if a hint made the mapping.
 * libunwind knows no wide ones.
 */
static bool find(struct hs_libunwind_engine *engine, const struct hs_mapping *mapping,
		 unw_word_t ip, unw_proc_info_t *info, int need_unwind_info)
{
	struct dyn_info dyn_info = {.format = UNW_INFO_FORMAT_REMOTE_TABLE};
	uint64_t *remote = &dyn_info.rest[engine->layout == HS_LIBUNWIND_WITH_LOAD_OFFSET ? 1 : 0];
	struct hs_search_table table;

	if (ip < mapping->start || ip >= mapping->end ||
	    !((mapping->flags & HS_MAPPING_HINT) != 0
		      ? hs_hint_frames_find(engine->hinted, mapping, &table)
		      : hs_eh_frame_hdr_read(engine->memory, mapping, &table)) ||
	    table.is_wide)
		return false;
	dyn_info.start_ip = mapping->start + table.shift;
	dyn_info.end_ip = mapping->end + table.shift;
	remote[1] = table.base;
	remote[2] = table.count; /* in words of 8 bytes, which is one entry */
	remote[3] = table.entries;
	if (engine->call.search_unwind_table(engine->space, ip + table.shift, &dyn_info, info,
					     need_unwind_info, engine) != 0)
		return false;
	info->start_ip -= table.shift;
	info->end_ip -= table.shift;
	return true;
}

/*
 * Without unwind information the step must fail at once, by an error other than UNW_ENOINFO:
 * libunwind would guess, differently in each release and sometimes wrongly.  The unwinder follows
 * the frame pointer itself.
 */
static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
			  int need_unwind_info, void *arg)
{
	struct hs_libunwind_engine *engine = arg;
	const struct hs_mapping *mapping =
		hs_mapping_table_get(engine->table, hs_mapping_table_find(engine->table, ip));

	(void)space;
	if (mapping != NULL && find(engine, mapping, ip, info, need_unwind_info))
		return 0;
	engine->no_info = true;
	return -UNW_ESTOPUNWIND;
}

bool hs_libunwind_engine_has_info(struct hs_libunwind_engine *engine,
				  const struct hs_stack_window *window, uint64_t pc)
{
	unw_proc_info_t info;

	engine->window = *window;
	engine->reads_left = READS_PER_STEP;
	return find_proc_info(engine->space, pc, &info, 0, engine) == 0;
}

struct hs_libunwind_engine *hs_libunwind_engine_create(const struct hs_mapping_table *table,
						       struct hs_memory_cache *memory,
						       struct hs_hint_frames *hinted)
{
	struct hs_libunwind_engine *engine = hs_arena_zalloc(sizeof *engine);

	if (engine != NULL) {
		engine->table = table;
		engine->memory = memory;
		engine->hinted = hinted;
	}
	return engine;
}

void hs_libunwind_engine_destroy(struct hs_libunwind_engine *engine)
{
	if (engine == NULL)
		return;
	if (engine->space != NULL)
		engine->call.destroy_addr_space(engine->space);
	hs_arena_free(engine);
}

static int find_entry_points(struct entry_points *call, void *library)
{
	/* Where each address goes: POSIX has function pointers fit into void *. */
	const struct {
		const char *name;
		void *to;
		bool optional;
	} wanted[] = {
		{STRING(unw_create_addr_space), &call->create_addr_space, false},
		{STRING(unw_destroy_addr_space), &call->destroy_addr_space, false},
		{STRING(unw_init_remote), &call->init_remote, false},
		{STRING(unw_step), &call->step, false},
		{STRING(unw_get_reg), &call->get_reg, false},
		{STRING(unw_set_caching_policy), &call->set_caching_policy, false},
		{STRING(unw_flush_cache), &call->flush_cache, false},
		{STRING(unw_set_cache_size), &call->set_cache_size, true},
		{STRING(UNW_OBJ(dwarf_search_unwind_table)), &call->search_unwind_table, false},
	};

	for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
		void *address = dlsym(library, wanted[i].name);
		if (address == NULL && !wanted[i].optional)
			return -ENOSYS;
		memcpy(wanted[i].to, &address, sizeof address);
	}
	return 0;
}

int hs_libunwind_engine_load(struct hs_libunwind_engine *engine)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	return library == NULL ? -ENOENT : find_entry_points(&engine->call, library);
}

int hs_libunwind_engine_start(struct hs_libunwind_engine *engine)
{
	/* Newer releases have more accessors, optional ones at the end. */
	union {
		unw_accessors_t accessors;
		void *room[32];
	} own = {.room = {NULL}};

	own.accessors.find_proc_info = find_proc_info;
	own.accessors.put_unwind_info = put_unwind_info;
	own.accessors.get_dyn_info_list_addr = get_dyn_info_list_addr;
	own.accessors.access_mem = access_mem;
	own.accessors.access_reg = access_reg;
	own.accessors.access_fpreg = access_fpreg;
	own.accessors.resume = resume;
	own.accessors.get_proc_name = get_proc_name;
	engine->space = engine->call.create_addr_space(&own.accessors, 0);
	if (engine->space == NULL)
		return -ENOMEM;
	/* Per address space; a per-thread cache would be shared by all of them on a thread. */
	engine->call.set_caching_policy(engine->space, UNW_CACHE_GLOBAL);
	if (engine->call.set_cache_size != NULL)
		engine->call.set_cache_size(engine->space, CACHE_ENTRIES, 0);
	return 0;
}

void hs_libunwind_engine_set_layout(struct hs_libunwind_engine *engine,
				    enum hs_libunwind_layout layout)
{
	engine->layout = layout;
}

void hs_libunwind_engine_flush(struct hs_libunwind_engine *engine)
{
	if (engine->space != NULL)
		engine->call.flush_cache(engine->space, 0, 0);
}

int hs_libunwind_engine_begin(struct hs_libunwind_engine *engine, const struct hs_regs *regs,
			      const struct hs_stack_window *window)
{
	engine->regs = *regs;
	engine->window = *window;
	engine->reads_left = READS_PER_STEP;
	if (engine->call.init_remote(&engine->at.cursor, engine->space, engine) < 0)
		return -EINVAL;
	return 0;
}

enum hs_step hs_libunwind_engine_step(struct hs_libunwind_engine *engine, uint64_t *pc,
				      uint64_t *sp)
{
	int result;

	engine->no_info = false;
	engine->cut = false;
	engine->reads_left = READS_PER_STEP;
	result = engine->call.step(&engine->at.cursor);
	if (engine->no_info)
		return HS_STEP_NO_INFO;
	if (result == 0)
		return HS_STEP_END;
	if (result > 0 && engine->call.get_reg(&engine->at.cursor, UNW_REG_IP, pc) == 0 &&
	    engine->call.get_reg(&engine->at.cursor, UNW_REG_SP, sp) == 0)
		return HS_STEP_FRAME;
	return engine->cut ? HS_STEP_CUT : HS_STEP_BAD;
}

void hs_libunwind_engine_get_regs(struct hs_libunwind_engine *engine, struct hs_regs *regs)
{
	static const int numbers[HS_ARCH_REGS] = HS_ARCH_DWARF_NUMBERS;

	for (unsigned i = 0; i < HS_ARCH_REGS; i++) {
		unw_word_t value;

		if (engine->call.get_reg(&engine->at.cursor, numbers[i], &value) != 0)
			value = 0;
		*hs_arch_register(regs, i) = value;
	}
}
