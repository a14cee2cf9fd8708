/* SPDX-License-Identifier: BSD-2-Clause */
/* Prefixes of paths and of names. */
#include "profile/symbol_filter.h"

#include "check.h"

static void nothing_is_hidden_without_prefixes(void)
{
	CHECK(!hs_symbol_filter_has_names(""));
	CHECK(!hs_symbol_filter_hides_path("", "/lib/libc.so"));
	CHECK(!hs_symbol_filter_hides_name("", "main"));
	CHECK(!hs_symbol_filter_hides_name("", ""));
}

static void a_prefix_is_of_paths_or_of_names(void)
{
	static const char prefixes[] = "/opt/a,ssl_,[vd,ns::";

	CHECK(hs_symbol_filter_has_names(prefixes));
	CHECK(hs_symbol_filter_hides_path(prefixes, "/opt/a"));
	CHECK(hs_symbol_filter_hides_path(prefixes, "/opt/abc/x.so"));
	CHECK(!hs_symbol_filter_hides_path(prefixes, "/opt/"));
	CHECK(!hs_symbol_filter_hides_path(prefixes, "/x/opt/a"));
	CHECK(hs_symbol_filter_hides_path(prefixes, "[vdso]"));
	CHECK(!hs_symbol_filter_hides_path(prefixes, "[anon:vd]"));
	CHECK(!hs_symbol_filter_hides_path(prefixes, "ssl_object"));
	CHECK(!hs_symbol_filter_hides_path(prefixes, NULL));
	CHECK(hs_symbol_filter_hides_name(prefixes, "ssl_"));
	CHECK(hs_symbol_filter_hides_name(prefixes, "ssl_read"));
	CHECK(hs_symbol_filter_hides_name(prefixes, "ns::f"));
	CHECK(!hs_symbol_filter_hides_name(prefixes, "ssl"));
	CHECK(!hs_symbol_filter_hides_name(prefixes, "xssl_read"));
	CHECK(!hs_symbol_filter_hides_name(prefixes, "/opt/abc"));
	CHECK(!hs_symbol_filter_hides_name(prefixes, NULL));
	CHECK(!hs_symbol_filter_has_names("/opt,[vdso]"));
	CHECK(hs_symbol_filter_has_names("/opt,x"));
}

static void an_empty_prefix_is_of_everything(void)
{
	CHECK(hs_symbol_filter_has_names(","));
	CHECK(hs_symbol_filter_hides_path(",", "/lib/libc.so"));
	CHECK(hs_symbol_filter_hides_path(",", "relative.o"));
	CHECK(hs_symbol_filter_hides_name(",", "main"));
}

int main(void)
{
	RUN(nothing_is_hidden_without_prefixes);
	RUN(a_prefix_is_of_paths_or_of_names);
	RUN(an_empty_prefix_is_of_everything);
	return CHECK_RESULT();
}
