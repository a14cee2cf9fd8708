// SPDX-License-Identifier: BSD-2-Clause
//
// A workload of C++: fills, reads and destroys containers of the standard library.
//
// usage: work_stl ROUNDS
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{
struct Order {
	std::string name;
	std::vector<int> items;
};

using Orders = std::map<std::string, std::shared_ptr<Order>>;

Orders make_orders(int round)
{
	Orders orders;

	for (int i = 0; i < 2000; i++) {
		auto order = std::make_shared<Order>();
		order->name = "the order with the number " + std::to_string(round * 7 + i);
		for (int item = 0; item < i % 30; item++)
			order->items.push_back(item * i);
		orders.emplace(order->name, std::move(order));
	}
	return orders;
}

std::unordered_map<int, std::deque<std::string>> by_length(const Orders &orders)
{
	std::unordered_map<int, std::deque<std::string>> result;

	for (const auto &[name, order] : orders)
		result[static_cast<int>(order->items.size())].push_back(name);
	return result;
}

unsigned long long weigh(const Orders &orders)
{
	auto lengths = by_length(orders);
	std::vector<std::string> names;
	unsigned long long sum = 0;

	for (const auto &[length, list] : lengths) {
		sum += static_cast<unsigned long long>(length) * list.size();
		std::copy(list.begin(), list.end(), std::back_inserter(names));
	}
	std::sort(names.begin(), names.end());
	for (const auto &name : names)
		sum = sum * 31 + static_cast<unsigned char>(name.back());
	return sum;
}
} // namespace

int main(int argc, char **argv)
{
	std::deque<Orders> kept;
	unsigned long long sum = 0;

	if (argc != 2)
		return 2;
	for (int round = 0; round < std::atoi(argv[1]); round++) {
		kept.push_back(make_orders(round));
		sum += weigh(kept.back());
		if (kept.size() > 10)
			kept.pop_front();
	}
	std::printf("sum %llu, %zu kept\n", sum, kept.size());
	std::fflush(stdout);
	return 0;
}
