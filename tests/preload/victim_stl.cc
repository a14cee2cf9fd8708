/* SPDX-License-Identifier: BSD-2-Clause */
/* Fills containers of the C++ library. */
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "victim_truth.h"

extern "C" SITE void site_map(std::map<int, std::string> &map)
{
	for (int i = 0; i < 20000; i++)
		map[i] = std::string(100, 'x');
}

extern "C" SITE void site_unordered(std::unordered_map<std::string, int> &map)
{
	for (int i = 0; i < 20000; i++)
		map["a key that is too long to be kept inside " + std::to_string(i)] = i;
}

extern "C" SITE void site_shared(std::vector<std::shared_ptr<long>> &vector)
{
	for (long i = 0; i < 20000; i++)
		vector.push_back(std::make_shared<long>(i));
}

int main()
{
	std::map<int, std::string> map;
	std::unordered_map<std::string, int> unordered;
	std::vector<std::shared_ptr<long>> shared;

	site_map(map);
	site_unordered(unordered);
	site_shared(shared);
	std::printf("%zu\n", map.size() + unordered.size() + shared.size());
	return 0;
}
