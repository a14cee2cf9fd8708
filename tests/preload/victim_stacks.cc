/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A C++ program with stacks of many shapes: library templates, virtual calls, lambdas,
 * std::function, recursion, destructors that allocate while an exception unwinds, threads.
 */
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

struct Node {
	virtual ~Node() = default;
	virtual long sum() const = 0;
};

struct Leaf : Node {
	explicit Leaf(long number) : text(std::to_string(number) + std::string(30, ' ')) {}
	long sum() const override { return std::stol(std::string(text)); }
	std::string text;
};

struct Inner : Node {
	long sum() const override
	{
		std::vector<long> sums;

		for (const auto &child : children)
			sums.push_back(child->sum());
		return std::accumulate(sums.begin(), sums.end(), 0L);
	}
	std::vector<std::unique_ptr<Node>> children;
};

std::unique_ptr<Node> make_tree(int depth)
{
	if (depth == 0)
		return std::make_unique<Leaf>(1);
	auto inner = std::make_unique<Inner>();
	for (int i = 0; i < 3; i++)
		inner->children.push_back(make_tree(depth - 1));
	return inner;
}

/* Allocates while an exception unwinds. */
struct Witness {
	explicit Witness(std::vector<std::string> &to) : log(to) {}
	~Witness() { log.push_back("passed by an exception or not, this is long"); }
	std::vector<std::string> &log;
};

long throw_from(int depth, std::vector<std::string> &log)
{
	Witness witness(log);

	if (depth == 0)
		throw std::runtime_error("an exception whose text is kept on the heap");
	return throw_from(depth - 1, log) + 1;
}

long count_exceptions(int times)
{
	std::vector<std::string> log;
	long caught = 0;

	for (int i = 0; i < times; i++) {
		try {
			throw_from(i % 20, log);
		} catch (const std::exception &error) {
			caught += std::string(error.what()).size() > 0;
		}
	}
	return caught + static_cast<long>(log.size());
}

long call_through(const std::function<long(int)> &function, int depth)
{
	auto once_more = [&function, depth](int number) {
		std::function<long(int)> copy = function;
		return depth > 0 ? call_through(copy, depth - 1) : copy(number);
	};

	return once_more(depth);
}

long sort_strings(int count)
{
	std::vector<std::string> strings;
	std::map<std::string, int> index;

	for (int i = 0; i < count; i++)
		strings.push_back("a key for the heap " +
				  std::to_string(i * 7919 % count));
	/* By value, so that each comparison allocates. */
	std::sort(strings.begin(), strings.end(),
		  [](std::string a, std::string b) { return a < b; });
	for (const auto &string : strings)
		index[string]++;
	return static_cast<long>(index.size());
}

long work()
{
	long total = make_tree(5)->sum() + sort_strings(150) + count_exceptions(100);
	std::string kept(40, 'x');

	for (int i = 0; i < 30; i++)
		total += call_through([kept](int n) { return n + std::string(kept).size(); }, i);
	return total;
}

} // namespace

int main()
{
	std::vector<std::thread> threads;
	std::vector<long> totals(4);

	for (auto &total : totals)
		threads.emplace_back([&total] { total = work(); });
	for (auto &thread : threads)
		thread.join();
	std::printf("%d\n", std::count(totals.begin(), totals.end(), work()) == 4);
	return 0;
}
