// SPDX-License-Identifier: Apache-2.0
// Scopes in C++: an exception ends the activities of all blocks that it leaves. Who catches it works for the activity
// that its own block is in.
#include <stdexcept>

#include "example.h"

WORK(read_order)
WORK(reserve_stock)
WORK(ask_supplier)
WORK(apologise)
WORK(next_order)

namespace
{
constexpr unsigned rounds = 12;

const activity_ids order = example_ids(1, 1), reserve = example_ids(1, 2), supplier = example_ids(1, 3);

uint64_t buy(uint64_t x)
{
	reticle::scoped_activity here(supplier);

	x = ask_supplier(x);
	if (x) // always so
		throw std::runtime_error("sold out");
	return x;
}

uint64_t take_from_stock(uint64_t x)
{
	reticle::scoped_activity here(reserve);

	return buy(reserve_stock(x));
}

uint64_t serve(uint64_t x)
{
	reticle::scoped_activity here(order);

	example_attribute("/order");
	x = read_order(x);
	try {
		return take_from_stock(x);
	} catch (const std::runtime_error &) {
		return apologise(x);
	}
}
} // namespace

int main()
{
	uint64_t x = 1;

	example_publish("exceptions", "http.route");
	for (unsigned i = 0; i < rounds; i++)
		x = serve(next_order(x));
	example_truth("read_order", &order, "/order");
	example_truth("reserve_stock", &reserve, "-");
	example_truth("ask_supplier", &supplier, "-");
	example_truth("apologise", &order, "/order");
	example_truth("next_order", nullptr, "-");
	return 0;
}
