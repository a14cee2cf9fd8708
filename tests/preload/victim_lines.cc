// SPDX-License-Identifier: BSD-2-Clause
// Allocates in functions of a template, one of them inlined; test_lines.sh knows the lines.
#include <cstdlib>

static void *held[2];

template <typename T> inline __attribute__((always_inline)) void *make(size_t count)
{
	return malloc(count * sizeof(T)); /* line 9 */
}

template <typename T> __attribute__((noinline)) void keep(int i, size_t count)
{
	held[i] = make<T>(count); /* line 14 */
}

int main()
{
	keep<char>(0, 1024); /* line 19 */
	keep<double>(1, 1024);
	return held[0] == nullptr;
}
