#include "plot/theme.h"

#include <math.h>

const struct theme theme_light = {
	.paper = 0xffffffff,
	.ink = 0x1c2430ff,
	.soft = 0x566070ff,
	.grid = 0xe6e9eeff,
	.axis = 0x9aa3b0ff,
	.heap = 0x0072b2ff,
	.rss = 0xd55e00ff,
	.stack = 0x009e73ff,
	.allocated = 0xaa4499ff,
	.total = 0x1c2430ff,
	.other = 0xb9c0caff,
	.bands = { 0x0072b2ff, 0xe69f00ff, 0x009e73ff, 0xcc79a7ff, 0x56b4e9ff, 0xd55e00ff,
		   0xc2b82bff, 0x332288ff, 0x7bc8a4ff, 0x882255ff, 0x9ec3e6ff, 0x8a5a2bff },
	.heat = { 0xfde4cfff, 0x7a0c2eff },
};

const struct theme theme_dark = {
	.paper = 0x14181dff,
	.ink = 0xe8edf3ff,
	.soft = 0xa3aebbff,
	.grid = 0x2a313aff,
	.axis = 0x5d6875ff,
	.heap = 0x56b4e9ff,
	.rss = 0xf0a23bff,
	.stack = 0x2fc49aff,
	.allocated = 0xd98cc0ff,
	.total = 0xe8edf3ff,
	.other = 0x5a6470ff,
	.bands = { 0x3a9ad9ff, 0xe6a11aff, 0x1fb58aff, 0xd98cb8ff, 0x86ccf2ff, 0xe2712bff,
		   0xe0d75aff, 0x8b7fe0ff, 0xa4dcc0ff, 0xb5537fff, 0xbdd6efff, 0xb58152ff },
	.heat = { 0x4a2a3cff, 0xffd08aff },
};

static uint32_t channel(uint32_t a, uint32_t b, unsigned shift, double share)
{
	const double from = (double)(a >> shift & 0xff), to = (double)(b >> shift & 0xff);

	return (uint32_t)lround(from + (to - from) * share) << shift;
}

uint32_t theme_mix(uint32_t a, uint32_t b, double share)
{
	return channel(a, b, 24, share) | channel(a, b, 16, share) | channel(a, b, 8, share) |
	       channel(a, b, 0, share);
}
