/* SPDX-License-Identifier: Apache-2.0 */
#include "state/dtype.h"

#include <dwarf.h>
#include <string.h>

#define MOST_STEPS 32	   /* from a type to the one that it stands for; and of parts within parts */
#define MOST_VISITS 128	   /* of parts, for one question */
#define MOST_MEMBERS 65536 /* of a type that are looked at */
#define MOST_NAMES 4	   /* of members that lie upon each other */
#define LONGEST_NAME 2048

static bool number_of(Dwarf_Die *die, unsigned name, u64 *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr_integrate(die, name, &attr) || dwarf_whatform(&attr) == DW_FORM_exprloc ||
	    dwarf_formudata(&attr, &value))
		return false;
	*out = value;
	return true;
}

static bool refers_to(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, out);
}

static bool is_pointer_tag(int tag)
{
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

static bool is_record_tag(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* Elements of all dimensions; 0: not known, or none. */
static u64 nr_elements(Dwarf_Die *array)
{
	u64 n = 1, one;
	Dwarf_Die die;

	if (dwarf_child(array, &die))
		return 0;
	for (u32 i = 0; i < MOST_STEPS; i++) {
		if (dwarf_tag(&die) == DW_TAG_subrange_type) {
			if (number_of(&die, DW_AT_upper_bound, &one))
				one++;
			else if (!number_of(&die, DW_AT_count, &one))
				return 0;
			if (__builtin_mul_overflow(n, one, &n))
				return 0;
		}
		if (dwarf_siblingof(&die, &die))
			return n;
	}
	return 0;
}

static bool strip(Dwarf_Die die, struct dtype *out, u32 depth);

static u64 size_of(Dwarf_Die *die, u32 depth)
{
	struct dtype element;
	u64 size;

	if (number_of(die, DW_AT_byte_size, &size))
		return size;
	if (is_pointer_tag(dwarf_tag(die)))
		return sizeof(u64);
	if (dwarf_tag(die) != DW_TAG_array_type || !refers_to(die, &element.die) ||
	    !strip(element.die, &element, depth + 1) || __builtin_mul_overflow(element.size, nr_elements(die), &size))
		return 0;
	return size;
}

static bool strip(Dwarf_Die die, struct dtype *out, u32 depth)
{
	*out = (struct dtype){ .die = die };
	for (; depth < MOST_STEPS; depth++) {
		switch (dwarf_tag(&out->die)) {
		case DW_TAG_typedef:
			out->alias = dwarf_diename(&out->die);
			break;
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			break;
		case DW_TAG_invalid:
			return false;
		default:
			out->size = size_of(&out->die, depth);
			return true;
		}
		if (!refers_to(&out->die, &die))
			return false;
		out->die = die;
	}
	return false;
}

bool dtype_of(Dwarf_Die *of, struct dtype *out)
{
	Dwarf_Die die;

	return refers_to(of, &die) && strip(die, out, 0);
}

bool dtype_is_pointer(const struct dtype *t)
{
	return is_pointer_tag(dwarf_tag((Dwarf_Die *)&t->die));
}

bool dtype_pointee(const struct dtype *t, struct dtype *out)
{
	Dwarf_Die die = t->die;

	return dtype_is_pointer(t) && dtype_of(&die, out);
}

bool dtype_element(struct dtype *t, u64 *offset)
{
	for (u32 i = 0; i < MOST_STEPS && dwarf_tag(&t->die) == DW_TAG_array_type; i++) {
		Dwarf_Die array = t->die;

		if (!dtype_of(&array, t) || !t->size)
			return false;
		*offset %= t->size;
	}
	return dwarf_tag(&t->die) != DW_TAG_array_type;
}

bool dtype_equal(const struct dtype *a, const struct dtype *b)
{
	struct dtype x = *a, y = *b, to;
	const char *name, *other;

	for (u32 i = 0; i < MOST_STEPS; i++) {
		if (x.die.addr == y.die.addr)
			return true;
		if (dwarf_tag(&x.die) != dwarf_tag(&y.die))
			return false;
		if (!is_pointer_tag(dwarf_tag(&x.die)))
			break;
		if (!dtype_pointee(&x, &to))
			return false;
		x = to;
		if (!dtype_pointee(&y, &to))
			return false;
		y = to;
	}
	name = dwarf_diename(&x.die);
	other = dwarf_diename(&y.die);
	return name && other && !strcmp(name, other) && x.size == y.size && x.die.cu != y.die.cu;
}

/* --- members --- */

/* Goes through the members of a record that hold a byte. */
struct members {
	Dwarf_Die die;
	u64 offset; /* of the byte */
	bool begun, of_union;
	u32 seen;
	/* The one that was found. */
	struct dtype type;
	const char *name; /* NULL: it has none, as a base class */
	u64 in;		  /* the byte, in it */
};

/* Where a member of whole bytes, or one of some bits, begins and ends, in bits. */
static bool place_of(Dwarf_Die *die, const struct members *m, u64 *from, u64 *to)
{
	u64 start = 0, bits, at, storage;

	if (number_of(die, DW_AT_data_member_location, &start))
		start *= 8;
	else if (dwarf_hasattr(die, DW_AT_data_member_location))
		return false; /* as expressions tell, of virtual base classes */
	else if (!m->of_union && !dwarf_hasattr(die, DW_AT_data_bit_offset))
		return false; /* a static one */
	if (!number_of(die, DW_AT_bit_size, &bits)) {
		*from = start;
		*to = start + MIN(m->type.size, UINT64_MAX / 16) * 8;
		return true;
	}
	if (number_of(die, DW_AT_data_bit_offset, &at)) {
		start = at;
	} else if (number_of(die, DW_AT_bit_offset, &at)) { /* from the highest bit of its storage */
		if (!number_of(die, DW_AT_byte_size, &storage))
			storage = m->type.size;
		start += storage * 8 - at - bits;
	}
	*from = start;
	*to = start + bits;
	return true;
}

static bool holds_byte(Dwarf_Die *die, struct members *m)
{
	u64 from, to;
	int tag = dwarf_tag(die);

	if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || !dtype_of(die, &m->type) ||
	    !place_of(die, m, &from, &to) || from >= m->offset * 8 + 8 || to <= m->offset * 8)
		return false;
	m->in = m->offset - MIN(m->offset, from / 8);
	m->name = tag == DW_TAG_member ? dwarf_diename(die) : NULL;
	return true;
}

static void members_begin(struct members *m, const struct dtype *record, u64 offset)
{
	*m = (struct members){ .die = record->die, .offset = offset };
	m->of_union = dwarf_tag(&m->die) == DW_TAG_union_type;
}

static bool members_next(struct members *m)
{
	while (m->seen++ < MOST_MEMBERS) {
		Dwarf_Die next;

		if (m->begun ? dwarf_siblingof(&m->die, &next) : dwarf_child(&m->die, &next))
			break;
		m->begun = true;
		m->die = next;
		if (holds_byte(&next, m))
			return true;
	}
	m->seen = MOST_MEMBERS;
	return false;
}

static bool is_record(const struct dtype *t)
{
	return is_record_tag(dwarf_tag((Dwarf_Die *)&t->die));
}

static void put_name(const char *name, struct bytes *out)
{
	bytes_put(out, name, MIN(strlen(name), (size_t)LONGEST_NAME));
}

static void put_members(struct dtype t, u64 offset, u32 *visits, struct bytes *out);

static void put_member(const struct members *m, u32 *visits, struct bytes *out)
{
	struct bytes inner = { 0 };

	put_members(m->type, m->in, visits, &inner);
	if (m->name)
		put_name(m->name, out);
	if (m->name && inner.len && inner.p[0] != '[')
		bytes_char(out, '.');
	bytes_put(out, inner.p, inner.len);
	bytes_free(&inner);
}

/* Recursion is bounded by the visits. */
static void put_members(struct dtype t, u64 offset, u32 *visits, struct bytes *out)
{
	struct members m;
	u32 n = 0;

	if (dwarf_tag(&t.die) == DW_TAG_array_type && dtype_element(&t, &offset)) {
		bytes_str(out, is_record(&t) ? "[]." : "[]");
	}
	if (!is_record(&t))
		return;
	members_begin(&m, &t, offset);
	while (n < MOST_NAMES && *visits < MOST_VISITS && members_next(&m)) {
		struct bytes one = { 0 };

		++*visits;
		put_member(&m, visits, &one);
		if (one.len) {
			if (n++)
				bytes_char(out, '|');
			bytes_put(out, one.p, one.len);
		}
		bytes_free(&one);
	}
	if (!n && out->len && out->p[out->len - 1] == '.')
		out->len--; /* no member of the element is there */
}

void dtype_put_members(const struct dtype *t, u64 offset, struct bytes *out)
{
	u32 visits = 0;

	put_members(*t, offset, &visits, out);
}

/* found: of them, what was found first; *n is how many there are that differ. */
static void find_pointers(struct dtype t, u64 offset, u32 *visits, struct dtype *found, u32 *n)
{
	struct dtype to;
	struct members m;

	if (++*visits > MOST_VISITS || (dwarf_tag(&t.die) == DW_TAG_array_type && !dtype_element(&t, &offset))) {
		*n += 2;
		return;
	}
	if (is_record(&t)) {
		members_begin(&m, &t, offset);
		while (*n < 2 && members_next(&m))
			find_pointers(m.type, m.in, visits, found, n);
		return;
	}
	if (offset || t.size != sizeof(u64) || !dtype_pointee(&t, &to))
		*n += 2;
	else if (!*n || !dtype_equal(found, &to))
		found[(*n)++ ? 1 : 0] = to;
}

bool dtype_pointer_at(const struct dtype *t, u64 offset, struct dtype *out)
{
	struct dtype found[2];
	u32 visits = 0, n = 0;

	find_pointers(*t, offset, &visits, found, &n);
	*out = found[0];
	return n == 1;
}

bool dtype_array_at(const struct dtype *t, u64 offset, struct dtype *element, u64 *in_element)
{
	struct dtype now = *t;
	bool found = false;

	for (u32 i = 0; i < MOST_STEPS; i++) {
		struct members m;

		if (dwarf_tag(&now.die) == DW_TAG_array_type) {
			u64 in = offset;

			u64 size = now.size;

			if (!dtype_element(&now, &in))
				return false;
			found = in == offset && now.size < size;
			*element = now;
			*in_element = offset = in;
		}
		if (!is_record(&now))
			return found;
		members_begin(&m, &now, offset);
		if (!members_next(&m))
			return found;
		now = m.type;
		offset = m.in;
		if (members_next(&m))
			return found; /* lie upon each other */
	}
	return false;
}

static bool holds(struct dtype b, u64 offset, const struct dtype *a, u32 *visits)
{
	struct members m;

	if (++*visits > MOST_VISITS || (dwarf_tag(&b.die) == DW_TAG_array_type && !dtype_element(&b, &offset)))
		return false;
	if (!offset && dtype_equal(&b, a))
		return true;
	if (!is_record(&b))
		return false;
	members_begin(&m, &b, offset);
	while (members_next(&m))
		if (holds(m.type, m.in, a, visits))
			return true;
	return false;
}

bool dtype_holds(const struct dtype *b, u64 offset, const struct dtype *a)
{
	u32 visits = 0;

	return holds(*b, offset, a, &visits);
}

/* --- names --- */

struct dtype dtype_behind_pointers(const struct dtype *t)
{
	struct dtype now = *t, next;

	for (u32 i = 0; i < MOST_STEPS && dtype_pointee(&now, &next); i++)
		now = next;
	return now;
}

static const char *prefix_of(int tag)
{
	return tag == DW_TAG_structure_type   ? "struct " :
	       tag == DW_TAG_union_type	      ? "union " :
	       tag == DW_TAG_enumeration_type ? "enum " :
						"";
}

void dtype_put_name(const struct dtype *t, const char *scope, struct bytes *out)
{
	struct dtype now = *t, next;
	const char *name;
	u32 stars = 0;

	for (; stars < MOST_STEPS && dtype_pointee(&now, &next); stars++)
		now = next;
	name = dwarf_diename(&now.die);
	if (dtype_is_pointer(&now)) {
		bytes_str(out, "void*");
	} else if (dwarf_tag(&now.die) == DW_TAG_subroutine_type) {
		bytes_str(out, "(function)");
	} else if (name && *name) {
		bytes_str(out, prefix_of(dwarf_tag(&now.die)));
		bytes_str(out, scope);
		put_name(name, out);
	} else if (now.alias && *now.alias) {
		put_name(now.alias, out);
	} else {
		bytes_str(out, prefix_of(dwarf_tag(&now.die)));
		bytes_str(out, "(anonymous)");
	}
	while (stars--)
		bytes_char(out, '*');
}
