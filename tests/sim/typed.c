/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data of known types, of all storage classes, also as C++. It prints where its objects lie:
 *
 *	object TYPE FROM TO SIZE    one or several of SIZE bytes
 *	local FUNCTION TYPE FROM TO SIZE    likewise, in a frame that is there while FUNCTION runs
 *	array TYPE FROM TO SIZE    offsets FROM to TO of a TYPE are elements of SIZE bytes
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define NODES 48
#define ITEMS 32

struct point {
	int x, y;
	double weight;
};
typedef struct {
	long key;
	struct point at;
	char name[24];
} entry_t;
typedef struct {
	unsigned short low, high;
} pair_t;
union value {
	long as_long;
	double as_double;
	struct {
		int low, high;
	} halves;
};
struct node {
	struct node *next;
	entry_t entry;
	union value value;
	struct node *peer;
	unsigned flag : 3, kind : 5;
	pair_t pair;
	const struct ops *ops;
};
struct ops {
	long (*get)(struct node *n, long by);
	long calls;
};
struct link {
	struct link *next, *prev;
};
struct item {
	long id;
	struct link link;
	struct point places[4];
	void *data;
};
struct table {
	unsigned n;
	entry_t slots[16];
	struct item *items[8];
	struct {
		int a;
		long b;
	} inner;
};
enum colour { RED, GREEN = 100000 };

static struct table global_table;
static struct point grid[64];
static struct node *head;
static struct link ring = { &ring, &ring };
static long counters[8];
static struct item *lookup[ITEMS];
static enum colour colour;
static pair_t pairs[16];
static int scalar;
static char text[64];

static void say(const char *what, const char *type, const volatile void *p, size_t n, size_t size)
{
	printf("%s %s %#lx %#lx %lu\n", what, type, (unsigned long)p, (unsigned long)p + n * size,
	       (unsigned long)size);
}
#define OBJECTS(type, p, n, of) say("object", type, p, n, sizeof(of))
#define ARRAY(type, member)                                                                                           \
	say("array", #type, (void *)offsetof(type, member),                                                           \
	    sizeof(((type *)0)->member) / sizeof(((type *)0)->member[0]), sizeof(((type *)0)->member[0]))

static NOINLINE long get_sum(struct node *n, long by)
{
	return n->entry.at.x + n->entry.at.y * by;
}

static NOINLINE long get_value(struct node *n, long by)
{
	n->value.as_double += (double)by;
	return n->pair.low;
}

static struct ops ops[2] = { { get_sum, 0 }, { get_value, 0 } };

static NOINLINE struct node *new_node(long i)
{
	struct node *n = (struct node *)malloc(sizeof(*n));

	n->next = head;
	n->entry.key = i;
	n->entry.at.x = (int)i;
	n->entry.at.y = 2;
	n->entry.at.weight = 1.5;
	n->value.as_long = i;
	n->peer = head ? head->next : n;
	n->flag = 1;
	n->kind = 3;
	n->pair.low = n->pair.high = (unsigned short)i;
	n->ops = &ops[i & 1];
	return n;
}

static NOINLINE long walk(struct node *n)
{
	long sum = 0;

	for (; n; n = n->next) {
		sum += n->entry.key + n->entry.at.x;
		if (n->peer)
			sum += n->peer->entry.at.y + n->peer->pair.high;
		n->value.as_long += sum;
		n->kind += 1;
	}
	return sum;
}

static NOINLINE long dispatch(struct node *n)
{
	long sum = 0;

	for (long i = 0; n; n = n->next, i++)
		if (n->ops) {
			sum += n->ops->get(n, i);
			ops[i & 1].calls++;
		}
	return sum;
}

static NOINLINE struct node *find_node(struct node *n, long key)
{
	while (n && n->entry.key != key)
		n = n->next;
	return n;
}

static inline struct item *find(struct table *t, unsigned i)
{
	return t->items[i & 7];
}

static NOINLINE long use_table(struct table *t)
{
	long sum = 0;

	for (unsigned i = 0; i < t->n; i++) {
		entry_t *e = &t->slots[i];
		struct item *it;

		e->key += i;
		e->at.weight += e->key;
		sum += e->at.x + e->name[i & 15];
		it = find(t, i);
		it->id++;
		it->places[i & 3].y += (int)sum;
		sum += it->places[2].x;
		it->link.next->prev = &it->link;
	}
	t->inner.b += sum;
	t->inner.a++;
	return sum;
}

static NOINLINE void move(struct point *p, int n)
{
	for (int i = 0; i < n; i++) {
		p[i].x += i;
		p[i].weight *= 1.01;
	}
}

static NOINLINE long locals(int n)
{
	struct point here[8];
	struct node on_stack;
	static int said;

	memset(&on_stack, 0, sizeof(on_stack));
	if (!said) {
		say("local locals", "struct point", here, 8, sizeof(here[0]));
		say("local locals", "struct node", &on_stack, 1, sizeof(on_stack));
		said = 1;
	}
	for (int i = 0; i < 8; i++) {
		here[i].x = i + n;
		here[i].y = n;
		here[i].weight = i;
	}
	move(here, 8);
	on_stack.next = head;
	on_stack.entry.key = here[n & 7].x;
	return walk(&on_stack) + (long)here[3].weight;
}

static NOINLINE long globals(int n)
{
	long sum = 0;

	for (int i = 0; i < 64; i++) {
		grid[i].y += n;
		counters[i & 7] += grid[i].y;
		text[i] = (char)(text[i] + i);
		pairs[i & 15].high += (unsigned short)i;
	}
	scalar += n;
	colour = colour == RED ? GREEN : RED;
	global_table.inner.a += scalar;
	for (int i = 1; i < 16; i++)
		sum += global_table.slots[i - 1].key + global_table.slots[i].at.x;
	return lookup[n & 31]->id + counters[3] + sum;
}

/* What the kernel calls container_of. */
static NOINLINE long ring_sum(void)
{
	long sum = 0;

	for (struct link *l = ring.next; l != &ring; l = l->next)
		sum += ((struct item *)((char *)l - offsetof(struct item, link)))->id;
	return sum;
}

static NOINLINE long choose(struct node *n, struct item *it, int what)
{
	switch (what & 7) {
	case 0:
		return n->entry.key;
	case 1:
		return it->id;
	case 2:
		return n->peer ? n->peer->entry.at.x : 0;
	case 3:
		it->places[1].x++;
		/* fallthrough */
	case 4:
		return it->places[0].y;
	case 5:
		n->value.halves.high++;
		return n->value.halves.low;
	case 6:
		return n->pair.high;
	default:
		return it->link.next->prev == &it->link;
	}
}

static int by_key(const void *a, const void *b)
{
	const entry_t *x = (const entry_t *)a, *y = (const entry_t *)b;

	return x->key < y->key ? -1 : x->key > y->key;
}

#ifdef __cplusplus
namespace shapes
{
class shape
{
      public:
	virtual ~shape() {}
	virtual long area() const = 0;
	void grow(long by)
	{
		size += by;
		drawn++;
	}

      protected:
	long size = 1;
	int drawn = 0;
};

class square : public shape
{
      public:
	long area() const override { return size * size + corner.x; }
	point corner = { 1, 2, 3.0 };
};

template <typename T> struct box {
	T value;
	box *next;
	T &get() { return value; }
};
} // namespace shapes

static shapes::square *squares[16];
static shapes::box<long> *boxes;

static NOINLINE long use_classes(long by)
{
	long sum = 0;

	for (auto *s : squares) {
		s->grow(by);
		s->corner.y += (int)by;
		sum += s->area();
	}
	for (auto *b = boxes; b; b = b->next)
		b->get() += sum;
	return sum;
}

static void make_classes(void)
{
	for (auto &s : squares) {
		s = new shapes::square;
		OBJECTS("shapes::square", s, 1, *s);
	}
	for (int i = 0; i < 16; i++) {
		boxes = new shapes::box<long>{ i, boxes };
		OBJECTS("struct shapes::box<long>", boxes, 1, *boxes);
	}
}
#else
static long use_classes(long by)
{
	return by;
}

static void make_classes(void) {}
#endif

static void say_globals(void)
{
	OBJECTS("struct table", &global_table, 1, struct table);
	OBJECTS("struct point", grid, 64, struct point);
	OBJECTS("struct link", &ring, 1, struct link);
	OBJECTS("long int", counters, 8, long);
	OBJECTS("struct item*", lookup, ITEMS, void *);
	OBJECTS("struct node*", &head, 1, void *);
	OBJECTS("struct ops", ops, 2, struct ops);
	OBJECTS("enum colour", &colour, 1, enum colour);
	OBJECTS("pair_t", pairs, 16, pair_t);
	OBJECTS("int", &scalar, 1, int);
	OBJECTS("char", text, 64, char);
	ARRAY(entry_t, name);
	ARRAY(struct item, places);
	ARRAY(struct table, slots);
	ARRAY(struct table, items);
}

int main(void)
{
	struct table *t = (struct table *)calloc(1, sizeof(*t));
	struct point *points = (struct point *)calloc(100, sizeof(*points));
	long sum = 0;

	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	say_globals();
	OBJECTS("struct table", t, 1, struct table);
	OBJECTS("struct point", points, 100, struct point);
	for (int i = 0; i < ITEMS; i++) {
		struct item *it = (struct item *)calloc(1, sizeof(*it));

		OBJECTS("struct item", it, 1, struct item);
		it->link.next = ring.next;
		it->link.prev = &ring;
		ring.next->prev = &it->link;
		ring.next = &it->link;
		lookup[i] = it;
		t->items[i & 7] = it;
	}
	t->n = 16;
	for (int i = 0; i < NODES; i++) {
		head = new_node(i);
		OBJECTS("struct node", head, 1, struct node);
	}
	make_classes();
	for (int i = 0; i < 60; i++) {
		sum += walk(head) + dispatch(head) + use_table(t) + locals(i) + globals(i) + ring_sum() +
		       use_classes(i);
		for (int k = 0; k < 32; k++)
			sum += choose(find_node(head, k), lookup[k], i + k);
		move(points, 100);
		qsort(t->slots, 16, sizeof(t->slots[0]), by_key);
	}
	fprintf(stderr, "%ld\n", sum);
	return 0;
}
