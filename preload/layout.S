/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of the sections of base/hot.h, which linkers take from the first object that has them,
 * and where they begin, as what is hot does: at a page.
 */
	.section .text.hot, "ax", @progbits
	.p2align 12
	.section hs_hot, "aw", @progbits
	.p2align 12
	.section hs_each_sample, "aw", @progbits
	.section hs_sample_words, "aw", @progbits
	.p2align 6
	.section hs_sample_data, "aw", @progbits
	.section hs_sample_heaps, "aw", @progbits

	.section .note.GNU-stack, "", @progbits
