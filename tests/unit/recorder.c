/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's pure parts: lists of CPUs, lines of /proc, ELF notes, what flows past, and the file's header. */
#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "below.h"
#include "codec/proc_stat.h"
#include "codec/procmaps.h"
#include "own_dir.h"
#include "read/source.h"
#include "record/build_id.h"
#include "record/flow.h"
#include "record/sideband.h"
#include "record/writer.h"
#include "sys/cpulist.h"

static void test_cpulist(void **state)
{
	static const char *const wrong[] = { "",   ",",	 "1,",	  "a",	  "3-1", "1-",
					     "-1", "0 ", "65536", "1--2", "0x1", "99999999999999999999" };
	struct cpulist l = { 0 };

	(void)state;
	assert_int_equal(cpulist_parse(&l, "8,0-2,1,10-11"), 0);
	assert_int_equal(l.v.n, 6);
	assert_int_equal(l.v.v[0], 0);
	assert_int_equal(l.v.v[3], 8);
	assert_int_equal(l.v.v[5], 11);
	assert_true(cpulist_has(&l, 10));
	assert_false(cpulist_has(&l, 9));
	for (u32 i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(cpulist_parse(&l, wrong[i]), ERR_USAGE);
	assert_int_equal(cpulist_parse(&l, "65535"), 0);
	cpulist_free(&l);
}

static bool parse_line(const char *line, struct maps_line *l)
{
	return maps_line_parse(line, strlen(line), l);
}

static void test_maps_line(void **state)
{
	struct maps_line l;

	(void)state;
	assert_true(parse_line("55be777a7000-55be777ac000 r-xp 00002000 fe:00 248056      /usr/bin/sleep", &l));
	assert_true(l.start == 0x55be777a7000 && l.end == 0x55be777ac000 && l.pgoff == 0x2000);
	assert_int_equal(l.prot, PROT_READ | PROT_EXEC);
	assert_int_equal(l.flags, MAP_PRIVATE);
	assert_true(l.maj == 0xfe && l.min == 0 && l.ino == 248056);
	assert_int_equal(l.path.len, strlen("/usr/bin/sleep"));
	assert_memory_equal(l.path.p, "/usr/bin/sleep", l.path.len);

	assert_true(parse_line("0-1000 rw-s 00000000 00:05 18446744073709551615 /dev/zero (deleted)", &l));
	assert_int_equal(l.flags, MAP_SHARED);
	assert_true(l.ino == UINT64_MAX);
	assert_memory_equal(l.path.p, "/dev/zero (deleted)", l.path.len);
	assert_true(parse_line("7fff0000-7fff1000 ---p 00000000 00:00 0 ", &l));
	assert_int_equal(l.path.len, 0);
	assert_int_equal(l.prot, 0);
	assert_true(parse_line("1000-2000 r-xp 00000000 00:00 0                          [vdso]", &l));
	assert_memory_equal(l.path.p, "[vdso]", l.path.len);
	assert_true(parse_line("1000-2000 r-xp 0 0:0 7 /a b\t \x1b[31m\\x", &l));
	assert_memory_equal(l.path.p, "/a b\t \x1b[31m\\x", l.path.len);
}

static void test_maps_line_wrong(void **state)
{
	static const char *const wrong[] = {
		"",
		"1000",
		"1000-2000",
		"1000-2000 r-xp",
		"2000-1000 r-xp 0 0:0 0",
		"1000-2000 rxwp 0 0:0 0",
		"1000-2000 r-xz 0 0:0 0",
		"1000-2000 r-xp 0 00 0",
		"11112222333344445-11112222333344446 r-xp 0 0:0 0",
		"1000-2000 r-xp g 0:0 0",
	};
	struct maps_line l;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(wrong); i++)
		assert_false(parse_line(wrong[i], &l));
}

static void test_maps_path(void **state)
{
	struct bytes b = { 0 };

	(void)state;
	maps_path_plain((struct str){ "/a\\012b\\0\\012", 13 }, &b);
	assert_int_equal(b.len, 7);
	assert_memory_equal(b.p, "/a\nb\\0\n", 7);
	bytes_free(&b);
}

static void test_proc_stat(void **state)
{
	static const char evil[] = "77 (a) S 9 (b) R 1 2 3 4 5 0 7 8 9 10 11 12 13 14 15 16 2 18";
	static const char kernel[] = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 5 0";
	struct proc_stat s;

	(void)state;
	assert_true(proc_stat_parse(kernel, strlen(kernel), &s));
	assert_int_equal(s.comm.len, 8);
	assert_int_equal(s.ppid, 0);
	assert_int_equal(s.threads, 1);
	assert_int_equal(s.start_ticks, 5);
	assert_true(s.flags & 0x200000);
	/* A name that imitates the fields behind it. */
	assert_true(proc_stat_parse(evil, strlen(evil), &s));
	assert_int_equal(s.comm.len, strlen("a) S 9 (b"));
	assert_int_equal(s.ppid, 1);
	assert_int_equal(s.threads, 2);
	for (size_t n = 0; n < strlen(kernel); n++) {
		char *cut = strndup(kernel, n); /* its own allocation, so that a read behind it shows */

		(void)proc_stat_parse(cut, n, &s);
		free(cut);
	}
	assert_false(proc_stat_parse("1 )x(", 5, &s));
	assert_false(proc_stat_parse("", 0, &s));
}

static void test_notes(void **state)
{
	/* A note of another owner, then the build id. */
	static const u8 notes[] = { 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 'X', 'e', 'n', 0, 9, 0, 0, 0,
				    4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 0 };
	static const u8 huge[] = { 4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 3, 0, 0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4 };
	struct build_id id = { 0 };

	(void)state;
	assert_true(build_id_in_notes(notes, sizeof(notes), false, &id));
	assert_int_equal(id.size, 3);
	assert_memory_equal(id.id, "\1\2\3", 3);
	for (size_t n = 0; n < sizeof(notes) - 1; n++) {
		u8 *cut = malloc(n + 1);

		memcpy(cut, notes, n);
		assert_int_equal(build_id_in_notes(cut, n, false, &id), false);
		free(cut);
	}
	assert_false(build_id_in_notes(huge, sizeof(huge), false, &id));
	assert_false(build_id_in_notes(notes, sizeof(notes), true, &id));
}

/* An ELF file with a run of notes that say nothing, then with the build id 1, 2, 3. */
static void write_elf(const char *path, u32 nothing)
{
	static const u8 note[] = { 4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 0 };
	const size_t notes_at = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
	Elf64_Ehdr head = { .e_phoff = sizeof(head), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2 };
	Elf64_Phdr segments[2] = { { .p_type = PT_NOTE, .p_offset = notes_at, .p_filesz = nothing },
				   { .p_type = PT_NOTE, .p_offset = notes_at + nothing, .p_filesz = sizeof(note) } };
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	fwrite(&head, sizeof(head), 1, f);
	fwrite(segments, sizeof(segments), 1, f);
	for (u32 i = 0; i < nothing; i++)
		fputc(0, f);
	fwrite(note, sizeof(note), 1, f);
	assert_int_equal(fclose(f), 0);
}

/* What is read of a file's notes is bounded, however many runs of them its headers tell of. */
static void test_notes_of_file(void **state)
{
	char path[] = "/tmp/reticle-notes-XXXXXX";
	struct build_id id = { 0 };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	write_elf(path, 60000);
	assert_true(build_id_of_file(path, &id));
	assert_int_equal(id.size, 3);
	write_elf(path, 65536);
	assert_false(build_id_of_file(path, &id));
	unlink(path);
}

#define SAMPLE_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN)

static void one_event(struct event_set *set, struct evlist *l)
{
	struct open_event e = { .name = strdup("cpu-clock"), .cgroup = -1 };
	struct opened o = { .fd = -1, .id = 42 };

	e.attr = (struct attr){ .type = PERF_TYPE_SOFTWARE,
				.size = ATTR_SIZE_VER7,
				.sample_type = SAMPLE_TYPE,
				.flags = ATTR_SAMPLE_ID_ALL };
	vec_push(&e.on, o);
	vec_push(&set->events, e);
	evlist_add(l, &e.attr, e.name, NULL);
	evlist_add_id(l, 0, 42);
	assert_int_equal(evlist_seal(l, NULL, "test"), 0);
}

static void free_events(struct event_set *set, struct evlist *l)
{
	evlist_free(l);
	for (size_t i = 0; i < set->events.n; i++) {
		vec_free(&set->events.v[i].on);
		free(set->events.v[i].name);
	}
	vec_free(&set->events);
}

static void put_sample(const struct evlist *l, u64 time, u64 ip, u64 caller, struct bytes *out)
{
	struct sample s = { .has = SAMPLE_TYPE, .ip = ip, .pid = 7, .tid = 7, .time = time };
	u64 chain[] = { ip, caller };

	s.chain = (struct u64s){ (const u8 *)chain, 2, false };
	assert_int_equal(sample_encode(&l->events.v[0].layout, &s, out), 0);
}

static void put_map_of(const struct evlist *l, u32 pid, u64 start, u32 prot, const char *name, struct bytes *out)
{
	struct record r = { .h.type = PERF_RECORD_MMAP2 };

	r.mmap = (struct rec_mmap){ .pid = pid,
				    .tid = pid,
				    .start = start,
				    .len = 0x3000,
				    .prot = prot,
				    .filename = { name, (u32)strlen(name) } };
	assert_int_equal(record_encode(&r, &l->trailer, out), 0);
}

static void put_map(const struct evlist *l, u64 start, u32 prot, const char *name, struct bytes *out)
{
	put_map_of(l, 7, start, prot, name, out);
}

static void count_file(void *ctx, const char *file, u32 pid, const struct flow_build_id *known)
{
	struct bytes *b = ctx;

	assert_int_equal(pid, 7);
	assert_null(known);
	bytes_printf(b, "%s ", file);
}

static void first_id(void *ctx, const char *file, u32 pid, const struct flow_build_id *known)
{
	(void)pid;
	assert_string_equal(file, "/lib");
	assert_non_null(known);
	assert_int_equal(known->size, 20);
	*(u8 *)ctx = known->id[0];
}

/* Build ids that come with mappings: one per file is kept, however often it is mapped. */
static void test_mapped_build_ids(void **state)
{
	struct record r = { .h = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_MMAP_BUILD_ID } };
	struct event_set set = { 0 };
	struct evlist l = { 0 };
	struct bytes data = { 0 };
	struct flow f;
	u8 id = 0;

	(void)state;
	one_event(&set, &l);
	r.mmap = (struct rec_mmap){
		.pid = 7, .tid = 7, .start = 0x1000, .len = 0x1000, .prot = PROT_EXEC, .filename = { "/lib", 4 }
	};
	r.mmap.build_id_size = 20;
	for (u32 i = 0; i < 100; i++) {
		memset(r.mmap.build_id, 0x5a, sizeof(r.mmap.build_id));
		r.mmap.build_id[0] = (u8)(i + 1);
		assert_int_equal(record_encode(&r, &l.trailer, &data), 0);
	}
	put_sample(&l, 1000, 0x1234, 0x1234, &data);
	flow_init(&f, &l, true);
	flow_look(&f, &(struct iovec){ data.p, data.len }, 1);
	assert_int_equal(f.build_ids.n, 1);
	flow_files(&f, first_id, &id);
	assert_int_equal(id, 1);
	flow_free(&f);
	bytes_free(&data);
	free_events(&set, &l);
}

static void told_file(void *ctx, const char *file, u32 pid, const struct flow_build_id *known)
{
	(void)pid;
	bytes_printf(ctx, "%s %u ", file, known ? known->size : 0);
}

static void check_told(struct flow *f, const struct bytes *data, bool again, const char *expected)
{
	struct bytes told = { 0 };

	if (again)
		flow_restart(f);
	flow_look(f, &(struct iovec){ data->p, data->len }, 1);
	flow_settle(f);
	flow_files(f, told_file, &told);
	bytes_u8(&told, 0);
	assert_string_equal((char *)told.p, expected);
	bytes_free(&told);
}

/* A process below another root directory, in which there is a program. */
struct other_root {
	char root[OWN_DIR_PATH], program[80];
	pid_t pid; /* 0: this user may not have one */
};

static void begin_root(struct other_root *o)
{
	own_dir_make(o->root);
	snprintf(o->program, sizeof(o->program), "%s/program", o->root);
	write_elf(o->program, 0);
	o->pid = start_below(o->root);
}

static void remove_root(const struct other_root *o)
{
	unlink(o->program);
	rmdir(o->root);
}

/* One path is two files below two roots: that of the process that was hit counts, and is never looked for in ours. */
static void test_other_root(void **state)
{
	struct other_root other;
	struct event_set set = { 0 };
	struct evlist l = { 0 };
	struct bytes data = { 0 };
	struct flow f;
	size_t before;
	u32 pid;

	(void)state;
	begin_root(&other);
	pid = (u32)other.pid;
	if (pid) {
		one_event(&set, &l);
		put_map_of(&l, (u32)getpid(), 0x10000, PROT_EXEC, "/program", &data);
		put_map_of(&l, pid, 0x20000, PROT_EXEC, "/program", &data);
		put_map_of(&l, pid, 0x30000, PROT_EXEC, "/bin/sh", &data);
		put_sample(&l, 1000, 0x20000, 0x30000, &data);
		flow_init(&f, &l, true);
		check_told(&f, &data, false, "/program 3 ");
		check_told(&f, &data, true, "/program 3 ");
		before = data.len;
		put_sample(&l, 1000, 0x10000, 0x20000, &data); /* what was hit in our root goes first */
		check_told(&f, &data, true, "/program 0 ");
		data.len = before;
		end_below(other.pid);
		check_told(&f, &data, true, ""); /* it cannot be asked any more */
		flow_free(&f);
		flow_init(&f, &l, false);
		f.no_files = true;
		check_told(&f, &data, false, "");
		assert_int_equal(f.maps.n + f.of_file.n, 0);
		flow_free(&f);
		bytes_free(&data);
		free_events(&set, &l);
	}
	remove_root(&other);
	if (!pid)
		skip();
}

static void count_open(void *ctx, const char *file, u32 pid, const struct flow_build_id *known)
{
	(void)file, (void)pid;
	*(u32 *)ctx += known && known->fd >= 0;
}

/* So many files below another root directory, of which some are hit: all at once, or the last one at once and then the
 * first. Returns how many are open at the end; UINT32_MAX: this user cannot make such a process. */
static u32 open_after(u32 files, bool all)
{
	char name[80];
	struct event_set set = { 0 };
	struct evlist l = { 0 };
	struct bytes data = { 0 };
	struct other_root other;
	struct flow f;
	u32 open = 0, pid;

	begin_root(&other);
	pid = (u32)other.pid;
	one_event(&set, &l);
	flow_init(&f, &l, true);
	f.want_open = true;
	for (u32 i = 0; i < files; i++) {
		snprintf(name, sizeof(name), "%s/%u", other.root, i);
		assert_int_equal(link(other.program, name), 0);
		put_map_of(&l, pid, 0x10000 * (i + 1), PROT_EXEC, name + strlen(other.root), &data);
		if (all)
			put_sample(&l, 1000, 0x10000 * (i + 1), 0x10000 * (i + 1), &data);
	}
	for (u32 hit = files; pid && hit; hit = hit == files ? 1 : 0) {
		put_sample(&l, 1000, 0x10000 * hit, 0x10000 * hit, &data);
		flow_look(&f, &(struct iovec){ data.p, data.len }, 1);
		flow_settle(&f);
		data.len = 0;
	}
	flow_files(&f, count_open, &open);
	end_below(other.pid);
	for (u32 i = 0; i < files; i++) {
		snprintf(name, sizeof(name), "%s/%u", other.root, i);
		unlink(name);
	}
	remove_root(&other);
	flow_free(&f);
	bytes_free(&data);
	free_events(&set, &l);
	return pid ? open : UINT32_MAX;
}

/* More files than may stay open: those are open at the end that were hit, at once or later. Where all that are open
 * were hit, none makes room for one more. */
static void test_hit_files_stay_open(void **state)
{
	u32 few = open_after(FLOW_MOST_OPEN + 2, false);

	(void)state;
	if (few == UINT32_MAX)
		skip();
	assert_int_equal(few, 2);
	assert_int_equal(open_after(FLOW_MOST_OPEN + 1, true), FLOW_MOST_OPEN);
}

/* However the ring's end cuts the records, the same is seen. */
static void test_flow(void **state)
{
	struct event_set set = { 0 };
	struct evlist l = { 0 };
	struct bytes data = { 0 };
	struct record lost = { .h.type = PERF_RECORD_LOST, .lost = { 42, 5 } };

	(void)state;
	one_event(&set, &l);
	put_map(&l, 0x10000, PROT_READ | PROT_EXEC, "/hit", &data);
	put_map(&l, 0x20000, PROT_READ | PROT_EXEC, "/called", &data);
	put_map(&l, 0x30000, PROT_READ | PROT_EXEC, "/cold", &data);
	put_map(&l, 0x10000, PROT_READ, "/data", &data);
	put_sample(&l, 2000, 0x12345, 0x20000, &data);
	put_sample(&l, 1000, 0x12345, 0x22fff, &data);
	record_encode(&lost, &l.trailer, &data);
	for (size_t cut = 8; cut < data.len; cut += 8) {
		struct iovec part[] = { { data.p, cut }, { data.p + cut, data.len - cut } };
		struct bytes files = { 0 };
		struct flow f;

		flow_init(&f, &l, true);
		flow_look(&f, part, 2);
		assert_int_equal(f.samples, 2);
		assert_int_equal(f.lost, 5);
		assert_int_equal(f.first_time, 1000);
		assert_int_equal(f.last_time, 2000);
		if (cut & 8) { /* found out early, it is the same */
			f.settle_at = 1;
			flow_settle(&f);
			assert_int_equal(f.hits.n, 0);
		}
		flow_files(&f, count_file, &files);
		bytes_u8(&files, 0);
		assert_string_equal((char *)files.p, "/hit /called ");
		assert_int_equal(flow_hit(&f, 0x12000, 0x12001), !(cut & 8));
		assert_false(flow_hit(&f, 0x13000, 0x20000));
		assert_int_equal(flow_hit(&f, 0, UINT64_MAX), !(cut & 8));
		bytes_free(&files);
		flow_free(&f);
	}
	bytes_free(&data);
	free_events(&set, &l);
}

/* Samples of an event that nobody knows are counted, even if the events have different fields. */
static void test_unknown_events_are_counted(void **state)
{
	struct attr attr = { .type = PERF_TYPE_SOFTWARE,
			     .size = ATTR_SIZE_VER7,
			     .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP,
			     .flags = ATTR_SAMPLE_ID_ALL };
	struct sample s = { .has = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP, .id = 7, .ip = 0x1000 };
	struct evlist l = { 0 };
	struct bytes data = { 0 };
	struct flow f;

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		evlist_add(&l, &attr, i ? "b" : "a", NULL);
		evlist_add_id(&l, i, i + 1);
		attr.sample_type |= PERF_SAMPLE_TIME;
	}
	assert_int_equal(evlist_seal(&l, NULL, "test"), 0);
	assert_int_equal(sample_encode(&l.events.v[0].layout, &s, &data), 0);
	flow_init(&f, &l, false);
	flow_look(&f, &(struct iovec){ data.p, data.len }, 1);
	assert_int_equal(f.samples, 1);
	flow_free(&f);
	bytes_free(&data);
	evlist_free(&l);
}

/* The next file has nothing of the one before: neither counts, nor hits, nor mappings. */
static void test_flow_restarts(void **state)
{
	struct event_set set = { 0 };
	struct evlist l = { 0 };
	struct bytes first = { 0 }, second = { 0 }, files = { 0 };
	struct record lost = { .h.type = PERF_RECORD_LOST, .lost = { 42, 5 } };
	struct flow f;

	(void)state;
	one_event(&set, &l);
	put_map(&l, 0x10000, PROT_READ | PROT_EXEC, "/old", &first);
	put_map(&l, 0x20000, PROT_READ | PROT_EXEC, "/new", &first);
	put_sample(&l, 2000, 0x20000, 0x20000, &first);
	record_encode(&lost, &l.trailer, &first);
	put_map(&l, 0x20000, PROT_READ | PROT_EXEC, "/new", &second);
	put_map(&l, 0x30000, PROT_READ | PROT_EXEC, "/cold", &second);
	put_sample(&l, 3000, 0x10000, 0x10000, &second);
	flow_init(&f, &l, true);
	flow_look(&f, &(struct iovec){ first.p, first.len }, 1);
	flow_restart(&f);
	assert_int_equal(f.samples + f.lost + f.throttled + f.first_time + f.last_time, 0);
	assert_int_equal(f.maps.n + f.build_ids.n + f.asked, 0);
	flow_look(&f, &(struct iovec){ second.p, second.len }, 1);
	assert_int_equal(f.samples, 1);
	assert_int_equal(f.first_time, 3000);
	flow_files(&f, count_file, &files);
	bytes_u8(&files, 0);
	assert_string_equal((char *)files.p, "");
	bytes_free(&files);
	flow_free(&f);
	bytes_free(&first);
	bytes_free(&second);
	free_events(&set, &l);
}

/* Processes that have ended are forgotten now and then, and those that live are not. */
static void test_flow_forgets_ended(void **state)
{
	struct event_set set = { 0 };
	struct evlist l = { 0 };
	struct bytes data = { 0 };
	pid_t ended = fork();
	struct flow f;

	(void)state;
	if (!ended)
		_exit(0);
	assert_int_equal(waitpid(ended, NULL, 0), ended);
	one_event(&set, &l);
	put_map_of(&l, (u32)getpid(), 0x10000, PROT_READ | PROT_EXEC, "/living", &data);
	put_map_of(&l, (u32)getppid(), 0x10000, PROT_READ | PROT_EXEC, "/parent", &data);
	put_map_of(&l, (u32)ended, 0x20000, PROT_READ | PROT_EXEC, "/ended", &data);
	flow_init(&f, &l, true);
	flow_look(&f, &(struct iovec){ data.p, data.len }, 1);
	flow_settle(&f); /* there is room for more */
	assert_int_not_equal(map_get(&f.pids, (u64)ended), ID_NONE);
	assert_int_equal(f.maps.n, 3);
	f.settle_at = 1;
	flow_settle(&f);
	assert_int_equal(map_get(&f.pids, (u64)ended), ID_NONE);
	assert_int_not_equal(map_get(&f.pids, (u64)getpid()), ID_NONE);
	assert_int_not_equal(map_get(&f.pids, (u64)getppid()), ID_NONE);
	assert_int_equal(f.maps.n, 2);
	assert_int_equal(f.asked, 2);
	flow_free(&f);
	bytes_free(&data);
	free_events(&set, &l);
}

static u64 count_records(const struct source *s)
{
	struct source_record r;
	u64 offset = 0, bad, n = 0;

	while (source_next(s, &offset, &r, &bad))
		n++;
	return n;
}

/* Without an end, after a round: all of it is there. With an end: the features too. Torn by a limit: cut clean. */
static void write_file(const char *path, bool end, u64 limit, bool early, u64 *records, u64 *features)
{
	struct rlimit old, now = { limit, RLIM_INFINITY };
	struct event_set set = { 0 };
	struct evlist l = { 0 };
	struct bytes data = { 0 };
	struct features f = { .hostname = "here" };
	struct source *s = NULL;
	struct writer w;
	struct stat st;

	one_event(&set, &l);
	for (u32 i = 0; i < 100; i++)
		put_sample(&l, i, i, i, &data);
	f.present[0] = 1ull << FEAT_HOSTNAME;
	getrlimit(RLIMIT_FSIZE, &old);
	now.rlim_max = old.rlim_max;
	assert_int_equal(writer_open(&w, path, NULL), 0);
	assert_int_equal(writer_begin(&w, &set, early ? &f : NULL), 0);
	if (limit)
		setrlimit(RLIMIT_FSIZE, &now);
	assert_int_equal(writer_round(&w, true), 0);
	assert_int_equal(writer_put_bytes(&w, &data), 0);
	assert_int_equal(writer_round(&w, false), limit ? ERR_IO : 0);
	if (!early)
		setrlimit(RLIMIT_FSIZE, &old);
	if (end) {
		assert_int_equal(writer_end(&w, &f), limit ? ERR_IO : 0);
	} else {
		close(w.fd);
		bytes_free(&w.held);
		bytes_free(&w.table);
		free(w.path);
	}
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(source_open(&s, path, NULL), 0);
	assert_int_equal(s->unfinished, early && (!end || limit));
	assert_int_equal(s->left_out, 0);
	assert_int_equal(s->events.events.n, 1);
	*records = count_records(s);
	*features = s->features.hostname != NULL;
	source_close(s);
	bytes_free(&data);
	evlist_free(&l);
	free(set.events.v[0].name);
	vec_free(&set.events.v[0].on);
	vec_free(&set.events);
}

static void test_writer(void **state)
{
	char dir[OWN_DIR_PATH], path[64], old[80];
	u64 records, features;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	own_dir_make(dir);
	snprintf(path, sizeof(path), "%s/perf.data", dir);
	snprintf(old, sizeof(old), "%s.old", path);
	write_file(path, true, 0, false, &records, &features);
	assert_int_equal(records, 101); /* a FINISHED_ROUND among them */
	assert_true(features);
	write_file(path, false, 0, false, &records, &features);
	assert_int_equal(records, 101);
	assert_false(features);
	/* Features that stand before the data, whose table each round carries on: one at the beginning and one at the
	 * end more. */
	write_file(path, true, 0, true, &records, &features);
	assert_int_equal(records, 103);
	assert_true(features);
	write_file(path, false, 0, true, &records, &features);
	assert_int_equal(records, 103);
	assert_true(features);
	/* When the disk is full, a last round takes the place of some records. */
	for (u64 limit = 2000; limit < 2064; limit += 4) {
		write_file(path, true, limit, true, &records, &features);
		assert_in_range(records, 25, 33);
		assert_true(features);
	}
	assert_int_equal(access(old, F_OK), 0);
	/* Every cut within a record, and between two. */
	for (u64 limit = 2000; limit < 2064; limit += 4) {
		write_file(path, true, limit, false, &records, &features);
		assert_in_range(records, 28, 33);
	}
	unlink(path);
	unlink(old);
	rmdir(dir);
}

/* What does not shrink fills more than one record for each piece, and comes back whole: one stream, in order. */
static void test_packer(void **state)
{
	size_t half = 300001, n = half + 100000, records = 0; /* the last piece is taken before it is written */
	u8 *data = malloc(n), *back = malloc(n + 1);
	const struct iovec parts[] = { { data, half }, { data + half, n - half } };
	struct packer *p = packer_open(1, 256 << 10);
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	ZSTD_outBuffer out = { back, n + 1, 0 };
	struct bytes packed = { 0 };
	u64 random = 1;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		random = random * 6364136223846793005 + 1442695040888963407;
		data[i] = (u8)(random >> 56);
	}
	assert_non_null(p);
	assert_int_equal(packer_pack(p, parts, 2, &packed), 0);
	for (size_t at = 0; at < packed.len; records++) {
		struct perf_event_header h;
		ZSTD_inBuffer in;

		memcpy(&h, packed.p + at, sizeof(h));
		assert_int_equal(h.type, PERF_RECORD_COMPRESSED);
		assert_in_range(h.size, sizeof(h) + 1, packed.len - at);
		in = (ZSTD_inBuffer){ packed.p + at + sizeof(h), h.size - sizeof(h), 0 };
		while (in.pos < in.size)
			assert_false(ZSTD_isError(ZSTD_decompressStream(zstd, &out, &in)));
		at += h.size;
	}
	assert_in_range(records, n / 65535 + 1, 30);
	assert_int_equal(out.pos, n);
	assert_memory_equal(back, data, n);
	ZSTD_freeDCtx(zstd);
	packer_close(p);
	bytes_free(&packed);
	free(data);
	free(back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpulist),
		cmocka_unit_test(test_maps_line),
		cmocka_unit_test(test_maps_line_wrong),
		cmocka_unit_test(test_maps_path),
		cmocka_unit_test(test_proc_stat),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_mapped_build_ids),
		cmocka_unit_test(test_flow),
		cmocka_unit_test(test_unknown_events_are_counted),
		cmocka_unit_test(test_flow_restarts),
		cmocka_unit_test(test_flow_forgets_ended),
		cmocka_unit_test(test_writer),
		cmocka_unit_test(test_packer),
		cmocka_unit_test(test_notes_of_file),
		cmocka_unit_test(test_other_root),
		cmocka_unit_test(test_hit_files_stay_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
