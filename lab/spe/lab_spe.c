/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A PMU "arm_spe_0" for machines without Arm's Statistical Profiling Extension: it writes the packets that the
 * extension would write, into the AUX area that a recorder maps. For the lab's kernels only.
 *
 * In place of the hardware, a timer interrupts what runs. An operation counts as one nanosecond long, so the period is
 * one of time. What a record says of the interrupted instruction is true: its address and level, the thread, the time,
 * which kind of operation it is, and where it is simple, the data address. Latencies and events beyond "retired" are
 * made up, by a rule: see complete_record.
 *
 * Everything that is written is also counted, so that a recording can be compared with it: parameters of this module,
 * under /sys/module/lab_spe/parameters. Write 0 to set them back.
 */
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <asm/arch_timer.h>
#include <asm/irq_regs.h>
#include <asm/ptrace.h>

#define RECORD_BYTES 64 /* each, filled up with padding packets: none wraps around the end of the area */
#define MIN_INTERVAL 1000
#define FNV_START 0xcbf29ce484222325
#define FNV_PRIME 0x100000001b3

#define TS_ENABLE BIT_ULL(0)
#define JITTER BIT_ULL(16)
#define BRANCH_FILTER BIT_ULL(32)
#define LOAD_FILTER BIT_ULL(33)
#define STORE_FILTER BIT_ULL(34)
#define FILTERS (BRANCH_FILTER | LOAD_FILTER | STORE_FILTER)
#define MIN_LATENCY GENMASK_ULL(11, 0) /* of config2 */

#define EV_RETIRED BIT(1)
#define EV_L1D_ACCESS BIT(2)
#define EV_L1D_REFILL BIT(3)
#define EV_TLB_ACCESS BIT(4)

enum { CLASS_OTHER, CLASS_LOAD_STORE, CLASS_BRANCH };

/* How much was written, on all CPUs; the hash (FNV-1a) of all bytes, which makes sense with one CPU. */
static unsigned long records, truncated, collisions, areas;
static unsigned long long hash;
module_param(records, ulong, 0644);
module_param(truncated, ulong, 0644);
module_param(collisions, ulong, 0644);
module_param(areas, ulong, 0644); /* times that a record was written at the area's start */
module_param(hash, ullong, 0644);
/* Whether records name the thread, as with CONFIG_PID_IN_CONTEXTIDR. */
static bool context = true;
module_param(context, bool, 0644);
/* Another number, as on a machine whose first PMU failed, or is of CPUs that are off. */
static char *name = "arm_spe_0";
module_param(name, charp, 0444);

struct area {
	u8 *base;
	u64 size;
	bool snapshot;
};

struct writer {
	struct perf_output_handle handle;
	struct perf_event *event;
	struct area *area;
	struct hrtimer timer;
	u64 used, room; /* in this session, bytes from handle.head on; with handle.head, a multiple of pages */
	u64 seq;
	bool writing; /* a session is open */
};

static DEFINE_PER_CPU(struct writer, writers);

struct operation {
	u8 class, subclass;
	bool has_address;
	u64 address;
};

/* --- what the interrupted instruction is --- */

static bool read_instruction(struct pt_regs *regs, u32 *insn)
{
	u64 pc = instruction_pointer(regs);

	if (user_mode(regs))
		return !copy_from_user_nofault(insn, (const void __user *)pc, sizeof(*insn));
	return !copy_from_kernel_nofault(insn, (const void *)pc, sizeof(*insn));
}

static u64 base_register(struct pt_regs *regs, u32 insn)
{
	u32 n = insn >> 5 & 31;

	return n == 31 ? regs->sp : regs->regs[n];
}

static void load_store_address(struct pt_regs *regs, u32 insn, struct operation *o)
{
	u32 size = insn >> 30;

	if (!(insn & BIT(26)) && (insn & 0x3b000000) == 0x39000000) { /* [base, #unsigned] */
		o->address = base_register(regs, insn) + ((u64)(insn >> 10 & 0xfff) << size);
		o->has_address = true;
	} else if ((insn & 0x3b200c00) == 0x38000000) { /* [base, #signed], unscaled */
		o->address = base_register(regs, insn) + (u64)sign_extend64(insn >> 12 & 0x1ff, 8);
		o->has_address = true;
	} else if ((insn & 0x3b200c00) == 0x38000400) { /* [base], #post */
		o->address = base_register(regs, insn);
		o->has_address = true;
	}
}

static bool loads(u32 insn)
{
	bool literal = (insn & 0x3b000000) == 0x18000000;
	bool extends_sign = (insn & 0x3e800000) == 0x38800000;

	return insn & BIT(22) || literal || extends_sign;
}

static void classify(struct pt_regs *regs, struct operation *o)
{
	u32 insn;

	*o = (struct operation){ .class = CLASS_OTHER };
	if (!read_instruction(regs, &insn))
		return;
	if ((insn & 0x0a000000) == 0x08000000) {
		/* Bit 0: a store; bit 2: of a vector register. */
		o->class = CLASS_LOAD_STORE;
		o->subclass = (loads(insn) ? 0 : 1) | (insn & BIT(26) ? 4 : 0);
		load_store_address(regs, insn, o);
	} else if ((insn & 0x1c000000) == 0x14000000 && (insn & 0xff000000) != 0xd4000000 &&
		   (insn & 0xff000000) != 0xd5000000) {
		/* Bit 0: conditional; bit 1: indirect. */
		o->class = CLASS_BRANCH;
		if ((insn & 0xfe000000) == 0xd6000000)
			o->subclass = 2;
		else if ((insn & 0x7c000000) != 0x14000000)
			o->subclass = 1;
	}
}

static bool filtered(const struct perf_event *event, const struct operation *o, bool user)
{
	u64 config = event->attr.config, kind = 0;

	if (user ? event->attr.exclude_user : event->attr.exclude_kernel)
		return true;
	if (!(config & FILTERS))
		return false;
	if (o->class == CLASS_BRANCH)
		kind = BRANCH_FILTER;
	else if (o->class == CLASS_LOAD_STORE)
		kind = o->subclass & 1 ? STORE_FILTER : LOAD_FILTER;
	return !(config & kind);
}

/* --- packets --- */

struct packets {
	u8 bytes[RECORD_BYTES];
	u32 n;
};

static void put(struct packets *p, u8 header, u64 payload, u32 bytes)
{
	p->bytes[p->n++] = header;
	for (u32 i = 0; i < bytes; i++)
		p->bytes[p->n++] = payload >> 8 * i;
}

/* The level and the security state stand in the top byte. */
static u64 pc_payload(struct pt_regs *regs)
{
	u64 level = user_mode(regs) ? 0 : 1;

	return (instruction_pointer(regs) & GENMASK_ULL(55, 0)) | BIT_ULL(63) | level << 61;
}

/*
 * Issue latencies run from 1 to 8. Loads and stores take 10 to 40 cycles more, and each fourth of them misses the
 * first cache; everything else takes 2 more. False: the filter for events or latencies leaves it out.
 */
static bool complete_record(struct writer *w, const struct operation *o, struct packets *p)
{
	const struct perf_event_attr *attr = &w->event->attr;
	u64 seq = w->seq++;
	u16 issue = 1 + seq % 8, total = issue + 2, events = EV_RETIRED;

	if (o->class == CLASS_LOAD_STORE) {
		total = issue + 10 * (1 + seq % 4);
		events |= EV_L1D_ACCESS | EV_TLB_ACCESS | (seq % 4 == 3 ? EV_L1D_REFILL : 0);
	}
	if (total < (attr->config2 & MIN_LATENCY) || (events & attr->config1) != attr->config1)
		return false;
	put(p, 0x52, events, 2);
	put(p, 0x99, issue, 2);
	put(p, 0x98, total, 2);
	put(p, 0x48 | o->class, o->subclass, 1);
	if (o->has_address)
		put(p, 0xb2, o->address, 8);
	if (attr->config & TS_ENABLE)
		put(p, 0x71, arch_timer_read_counter(), 8);
	else
		put(p, 0x01, 0, 0);
	return true;
}

static bool make_record(struct writer *w, struct pt_regs *regs, struct packets *p)
{
	struct operation o;

	classify(regs, &o);
	if (filtered(w->event, &o, user_mode(regs)))
		return false;
	*p = (struct packets){ 0 };
	put(p, 0xb0, pc_payload(regs), 8);
	if (context)
		put(p, 0x64, (u32)task_pid_nr(current), 4);
	return complete_record(w, &o, p);
}

/* --- sessions --- */

static void end_session(struct writer *w)
{
	if (w->area->snapshot)
		w->handle.head = (w->handle.head + w->used) & (w->area->size - 1);
	perf_aux_output_end(&w->handle, w->used);
	w->writing = false;
}

/* No room is left: the kernel switches the event off, until the recorder has read and switches it on again. */
static void give_up(struct writer *w)
{
	truncated++;
	perf_aux_output_flag(&w->handle, PERF_AUX_FLAG_TRUNCATED);
	end_session(w);
	w->event->hw.state |= PERF_HES_STOPPED;
}

/* As the driver of the extension: up to the end of the area, or the page that is not all read; 0: there is none. */
static u64 whole_pages(const struct writer *w)
{
	u64 mask = w->area->size - 1, head = w->handle.head & mask;
	u64 tail = (w->handle.head + w->handle.size) & mask;
	u64 limit = head < tail ? round_down(tail, PAGE_SIZE) : w->area->size;

	return limit > head ? limit - head : 0;
}

static bool begin_session(struct writer *w, struct perf_event *event)
{
	w->event = event;
	w->area = perf_aux_output_begin(&w->handle, event);
	w->used = 0;
	w->writing = w->area != NULL;
	if (!w->area) {
		event->hw.state |= PERF_HES_STOPPED;
		return false;
	}
	w->room = w->area->snapshot ? w->area->size : whole_pages(w);
	if (w->room)
		return true;
	give_up(w);
	return false;
}

static void write_record(struct writer *w, const struct packets *p)
{
	u64 at = (w->handle.head + w->used) & (w->area->size - 1), h = hash ? hash : FNV_START;

	areas += !at;
	memcpy(w->area->base + at, p->bytes, RECORD_BYTES);
	for (u32 i = 0; i < RECORD_BYTES; i++)
		h = (h ^ p->bytes[i]) * FNV_PRIME;
	hash = h;
	records++;
	w->used += RECORD_BYTES;
}

/* False: it stopped. */
static bool make_room(struct writer *w)
{
	if (w->area->snapshot ? w->used < w->area->size :
				w->used < w->room && w->handle.head + w->used < w->handle.wakeup)
		return true;
	end_session(w);
	return begin_session(w, w->event);
}

/* To the next operation. Jitter is the same in each run. */
static ktime_t interval(const struct writer *w)
{
	u64 jitter = w->event->attr.config & JITTER ? (u8)((u32)w->seq * 2654435769u >> 24) : 0;

	return ns_to_ktime(w->event->hw.sample_period + jitter);
}

static enum hrtimer_restart sample(struct hrtimer *timer)
{
	struct writer *w = container_of(timer, struct writer, timer);
	struct pt_regs *regs = get_irq_regs();
	struct packets p;

	if (!w->writing)
		return HRTIMER_NORESTART;
	if (hrtimer_forward_now(timer, interval(w)) > 1) {
		collisions++;
		perf_aux_output_flag(&w->handle, PERF_AUX_FLAG_COLLISION);
	}
	if (!regs || !make_record(w, regs, &p))
		return HRTIMER_RESTART;
	write_record(w, &p);
	return make_room(w) ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/* --- the PMU --- */

static void spe_start(struct perf_event *event, int flags)
{
	struct writer *w = this_cpu_ptr(&writers);

	event->hw.state = 0;
	if (begin_session(w, event))
		hrtimer_start(&w->timer, interval(w), HRTIMER_MODE_REL_PINNED_HARD);
}

static void spe_stop(struct perf_event *event, int flags)
{
	struct writer *w = this_cpu_ptr(&writers);

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	hrtimer_cancel(&w->timer);
	if (w->writing)
		end_session(w);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int spe_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_UPTODATE | PERF_HES_STOPPED;
	if (flags & PERF_EF_START) {
		spe_start(event, PERF_EF_RELOAD);
		if (event->hw.state & PERF_HES_STOPPED)
			return -EINVAL;
	}
	return 0;
}

static void spe_del(struct perf_event *event, int flags)
{
	spe_stop(event, PERF_EF_UPDATE);
}

static void spe_read(struct perf_event *event) {}

static struct pmu spe_pmu;

static int spe_event_init(struct perf_event *event)
{
	if (event->attr.type != spe_pmu.type)
		return -ENOENT;
	if (event->attr.exclude_idle)
		return -EOPNOTSUPP;
	if (event->attr.freq)
		return -EINVAL;
	/* As the driver of the extension does. */
	if (event->hw.sample_period < MIN_INTERVAL)
		event->hw.sample_period = MIN_INTERVAL;
	return 0;
}

static void *spe_setup_aux(struct perf_event *event, void **pages, int nr_pages, bool snapshot)
{
	struct page **list;
	struct area *area;

	/* The driver of the extension needs two pages as well. */
	if (nr_pages < 2 || !is_power_of_2(nr_pages))
		return NULL;
	area = kzalloc(sizeof(*area), GFP_KERNEL);
	list = kcalloc(nr_pages, sizeof(*list), GFP_KERNEL);
	if (area && list) {
		for (int i = 0; i < nr_pages; i++)
			list[i] = virt_to_page(pages[i]);
		area->base = vmap(list, nr_pages, VM_MAP, PAGE_KERNEL);
		area->size = (u64)nr_pages << PAGE_SHIFT;
		area->snapshot = snapshot;
	}
	kfree(list);
	if (area && area->base)
		return area;
	kfree(area);
	return NULL;
}

static void spe_free_aux(void *aux)
{
	struct area *area = aux;

	vunmap(area->base);
	kfree(area);
}

PMU_FORMAT_ATTR(ts_enable, "config:0");
PMU_FORMAT_ATTR(jitter, "config:16");
PMU_FORMAT_ATTR(branch_filter, "config:32");
PMU_FORMAT_ATTR(load_filter, "config:33");
PMU_FORMAT_ATTR(store_filter, "config:34");
PMU_FORMAT_ATTR(event_filter, "config1:0-63");
PMU_FORMAT_ATTR(min_latency, "config2:0-11");

static struct attribute *format_attrs[] = {
	&format_attr_ts_enable.attr,	 &format_attr_jitter.attr,
	&format_attr_branch_filter.attr, &format_attr_load_filter.attr,
	&format_attr_store_filter.attr,	 &format_attr_event_filter.attr,
	&format_attr_min_latency.attr,	 NULL,
};
static const struct attribute_group format_group = { .name = "format", .attrs = format_attrs };

static ssize_t min_interval_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", MIN_INTERVAL);
}
static DEVICE_ATTR_RO(min_interval);
static struct attribute *caps_attrs[] = { &dev_attr_min_interval.attr, NULL };
static const struct attribute_group caps_group = { .name = "caps", .attrs = caps_attrs };

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return cpumap_print_to_pagebuf(true, buf, cpu_possible_mask);
}
static DEVICE_ATTR_RO(cpumask);
static struct attribute *other_attrs[] = { &dev_attr_cpumask.attr, NULL };
static const struct attribute_group other_group = { .attrs = other_attrs };

static const struct attribute_group *attr_groups[] = { &format_group, &caps_group, &other_group, NULL };

static struct pmu spe_pmu = {
	.module = THIS_MODULE,
	.capabilities = PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE,
	.attr_groups = attr_groups,
	.task_ctx_nr = perf_sw_context,
	.event_init = spe_event_init,
	.add = spe_add,
	.del = spe_del,
	.start = spe_start,
	.stop = spe_stop,
	.read = spe_read,
	.setup_aux = spe_setup_aux,
	.free_aux = spe_free_aux,
};

static int __init spe_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
	{
		struct writer *w = per_cpu_ptr(&writers, cpu);

		hrtimer_init(&w->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
		w->timer.function = sample;
	}
	return perf_pmu_register(&spe_pmu, name, -1);
}

static void __exit spe_exit(void)
{
	perf_pmu_unregister(&spe_pmu); /* no event of it is left, else it could not be unloaded */
}
module_init(spe_init);
module_exit(spe_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("stands in for Arm's Statistical Profiling Extension");
