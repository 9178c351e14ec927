/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modifiers: the letters after an event or a group.
 *
 * u, k, h name privilege levels: the first of them excludes all three, and then each includes its own level again. G
 * and H do the same for guest and host. Without any modifier an event excludes guests; an event's own modifiers start
 * with nothing excluded (so `cycles:k` counts guests, too, and `cycles:u`, `cycles:p` do not), while a group's
 * modifiers start with the settings of each member.
 */
#include "events/parse.h"

#define LEVELS (ATTR_EXCLUDE_USER | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV)
#define GUEST_HOST (ATTR_EXCLUDE_GUEST | ATTR_EXCLUDE_HOST)
#define ALL_EXCLUDES (LEVELS | GUEST_HOST | ATTR_EXCLUDE_IDLE)
#define PRECISE ((u64)3 << ATTR_PRECISE_IP_SHIFT)
#define PRECISE_MAX 3

static const char letters[] = "ukhpPGHSDIWeb";

struct mods {
	u64 excludes; /* of ALL_EXCLUDES */
	u32 precise;
	bool gh; /* G or H was seen */
	bool precise_max, sample_read, pinned, exclusive, weak, bpf_counter;
};

static u64 only(u64 excludes, u64 all, bool started, u64 one)
{
	return (started ? excludes : excludes | all) & ~one;
}

static void apply_letter(struct mods *m, char letter, bool *levels)
{
	switch (letter) {
	case 'u':
		if (!m->gh)
			m->excludes |= ATTR_EXCLUDE_GUEST;
		m->excludes = only(m->excludes, LEVELS, *levels, ATTR_EXCLUDE_USER);
		*levels = true;
		break;
	case 'k':
		m->excludes = only(m->excludes, LEVELS, *levels, ATTR_EXCLUDE_KERNEL);
		*levels = true;
		break;
	case 'h':
		m->excludes = only(m->excludes, LEVELS, *levels, ATTR_EXCLUDE_HV);
		*levels = true;
		break;
	case 'G':
		m->excludes = only(m->excludes, GUEST_HOST, m->gh, ATTR_EXCLUDE_GUEST);
		m->gh = true;
		break;
	case 'H':
		m->excludes = only(m->excludes, GUEST_HOST, m->gh, ATTR_EXCLUDE_HOST);
		m->gh = true;
		break;
	case 'I':
		m->excludes |= ATTR_EXCLUDE_IDLE;
		break;
	case 'p':
		m->precise++;
		if (!m->gh)
			m->excludes |= ATTR_EXCLUDE_GUEST;
		break;
	case 'P':
		m->precise_max = true;
		break;
	case 'S':
		m->sample_read = true;
		break;
	case 'D':
		m->pinned = true;
		break;
	case 'e':
		m->exclusive = true;
		break;
	case 'W':
		m->weak = true;
		break;
	case 'b':
		m->bpf_counter = true;
		break;
	}
}

/* 0 when all is well, else 1 + the index of the offending letter. */
static u32 bad_letter(span mods)
{
	u32 precise = 0;

	for (u32 i = 0; i < mods.len; i++) {
		char ch = mods.p[i];

		if (!ch || !strchr(letters, ch))
			return i + 1;
		if (ch == 'p' ? ++precise > PRECISE_MAX : memchr(mods.p, ch, i) != NULL)
			return i + 1;
	}
	return 0;
}

bool event_mods_valid(span mods)
{
	return mods.len && !bad_letter(mods);
}

static int explain_bad(struct event_ctx *c, span mods, u32 at)
{
	span one = { mods.p + at, 1 };

	if (mods.p[at] && strchr(letters, mods.p[at]))
		return event_fail(c, ERR_USAGE, one, NULL, "p may be given up to three times, the others once",
				  "modifier '%c' is repeated", mods.p[at]);
	return event_fail(c, ERR_USAGE, one, NULL,
			  "u user, k kernel, h hypervisor, G guest, H host, I not idle, p precise, P most precise, "
			  "S read the group, D pinned, e exclusive, W weak group, b BPF counter",
			  "not a modifier");
}

static void store(struct event_spec *s, const struct mods *m, bool leader)
{
	u32 precise = m->precise_max ? PRECISE_MAX : m->precise; /* who opens it steps down from there */

	s->attr.flags &= ~(ALL_EXCLUDES | PRECISE);
	s->attr.flags |= m->excludes | (u64)precise << ATTR_PRECISE_IP_SHIFT;
	s->exclude_gh = m->gh;
	s->precise_max = m->precise_max;
	s->sample_read = m->sample_read;
	s->weak = m->weak;
	s->bpf_counter = m->bpf_counter;
	if (!leader)
		return;
	s->pinned = m->pinned;
	s->exclusive = m->exclusive;
	s->attr.flags &= ~(ATTR_PINNED | ATTR_EXCLUSIVE);
	s->attr.flags |= (m->pinned ? ATTR_PINNED : 0) | (m->exclusive ? ATTR_EXCLUSIVE : 0);
}

int event_mods_apply(struct event_ctx *c, u32 first, span mods, bool group)
{
	u32 bad = bad_letter(mods);

	if (!mods.len)
		return 0;
	if (bad)
		return explain_bad(c, mods, bad - 1);
	for (u32 i = first; i < c->out->v.n; i++) {
		struct event_spec *s = &c->out->v.v[i];
		struct mods m = { 0 };
		bool levels = false;

		if (group) {
			m.excludes = s->attr.flags & ALL_EXCLUDES;
			m.precise = s->precise_max ? 0 : attr_precise_ip(&s->attr);
			m.gh = s->exclude_gh;
			m.pinned = s->pinned;
			m.exclusive = s->exclusive;
			levels = m.excludes & LEVELS;
		}
		for (u32 k = 0; k < mods.len; k++)
			apply_letter(&m, mods.p[k], &levels);
		if (m.precise > PRECISE_MAX)
			return event_fail(c, ERR_USAGE, mods, NULL, NULL,
					  "together with '%s' of this group, p is given more than three times",
					  s->name);
		store(s, &m, !group || s->leader == i);
	}
	return 0;
}
