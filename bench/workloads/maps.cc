// SPDX-License-Identifier: Apache-2.0
// A C++ program as many are: small methods through pointers, strings as keys of a tree, memory for each of them.
//
//     maps NUMBER
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

struct shape {
	virtual ~shape() {}
	virtual double area() const = 0;
};

struct square : shape {
	double a;
	explicit square(double x) : a(x) {}
	double area() const override { return a * a; }
};

struct circle : shape {
	double r;
	explicit circle(double x) : r(x) {}
	double area() const override { return 3.14 * r * r; }
};

int main(int argc, char **argv)
{
	std::map<std::string, double> sums;
	std::vector<std::unique_ptr<shape>> shapes;
	std::ostringstream out;

	for (int i = 0, n = argc > 1 ? atoi(argv[1]) : 150000; i < n; i++) {
		if (i & 1)
			shapes.emplace_back(new square(i));
		else
			shapes.emplace_back(new circle(i));
		sums["key" + std::to_string(i * 7919 % 5003)] += shapes.back()->area();
	}
	for (auto &s : sums)
		out << s.first << ' ' << s.second << '\n';
	std::cout << out.str().size() << '\n';
	return 0;
}
