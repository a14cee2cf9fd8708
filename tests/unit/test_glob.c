/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of globs of program names. */
#include "base/options.h"
#include "check.h"

static void test_globs(void)
{
	CHECK(hs_glob_list_matches("", "anything"));
	CHECK(hs_glob_list_matches("srv", "srv"));
	CHECK(!hs_glob_list_matches("srv", "srv2"));
	CHECK(!hs_glob_list_matches("srv2", "srv"));
	CHECK(hs_glob_list_matches("a,b,srv", "srv"));
	CHECK(!hs_glob_list_matches("a,b", "a,b"));
	CHECK(!hs_glob_list_matches(",", "a"));
	CHECK(hs_glob_list_matches(",a,", "a"));
	CHECK(hs_glob_list_matches("s?v*", "srv"));
	CHECK(hs_glob_list_matches("s?v*", "srv-12"));
	CHECK(!hs_glob_list_matches("s?v", "sv"));
	CHECK(!hs_glob_list_matches("?", ""));
	CHECK(hs_glob_list_matches("*", ""));
	CHECK(hs_glob_list_matches("*", "x"));
	CHECK(hs_glob_list_matches("*ab*ba", "xabab-abba"));
	CHECK(hs_glob_list_matches("srv", "/opt/x/srv"));
	CHECK(!hs_glob_list_matches("*opt*", "/opt/x/srv"));
	CHECK(hs_glob_list_matches("a,/opt/x/srv", "/opt/x/srv"));
	CHECK(hs_glob_list_matches("/opt/*,a", "/opt/x/srv"));
	CHECK(!hs_glob_list_matches("/opt/srv", "/opt/x/srv"));
	CHECK(!hs_glob_list_matches("/opt,x/srv", "/opt/x/srv"));
	CHECK(!hs_glob_list_matches("*/srv", "srv"));
	CHECK(!hs_glob_list_matches("*ab*bc", "xabab-abba"));
	CHECK(hs_glob_list_matches("a**b", "ab"));
	CHECK(!hs_glob_list_matches("[a]", "a"));
	/* Ends soon: the work grows no faster than the product of the lengths. */
	CHECK(!hs_glob_list_matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*b",
				    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

int main(void)
{
	RUN(test_globs);
	return CHECK_RESULT();
}
