#include "plot/palette.h"

#include <assert.h>

#include "core/hash.h"

/* The C and C++ runtimes are in every picture: grey, so that the program stands out. */
static const char *const system_modules[] = {
	"libc.so",     "libc-",	     "ld-linux", "ld-musl",  "libstdc++.so", "libc++.so",
	"libgcc_s.so", "libpthread", "libm.so",	 "libdl.so", "[vdso]",
};

struct hue {
	const char *class;
	int degrees;
	int saturation; /* percent */
};

/* As in flame.css: greens and blues, far enough apart. */
static const struct hue hues[] = {
	{ "c0", 152, 42 }, { "c1", 208, 62 }, { "c2", 176, 42 }, { "c3", 98, 36 },
	{ "c4", 226, 62 }, { "c5", 191, 52 }, { "c6", 134, 34 }, { "c7", 219, 50 },
	{ "c8", 164, 48 }, { "c9", 201, 38 }, { "c10", 76, 34 }, { "c11", 216, 38 },
};

static const struct hue system_hue = { "system", 212, 12 };
static const struct hue no_hue = { "none", 212, 4 };

/* Functions of one module differ a little. Lightness in tenths of a percent. */
static const struct shade {
	const char *class;
	int degrees;
	int lightness;
} shades[] = {
	{ "s0", 0, 720 }, { "s1", 6, 750 }, { "s2", -6, 780 }, { "s3", 9, 690 }, { "s4", -9, 735 },
};

static bool is_system(const char *module)
{
	for (size_t i = 0; i < array_size(system_modules); i++) {
		if (strncmp(module, system_modules[i], strlen(system_modules[i])) == 0)
			return true;
	}
	return false;
}

static const struct hue *hue_of(const struct name *name)
{
	const char *module = name->module_short;
	const char *version = strstr(module, ".so");
	const size_t len = version ? (size_t)(version - module) : strlen(module);

	if (len == 0)
		return &no_hue;
	if (is_system(module))
		return &system_hue;
	return &hues[hash_bytes(module, len, 0) % array_size(hues)];
}

static const struct shade *shade_of(const struct name *name)
{
	return &shades[hash_bytes(name->function, strlen(name->function), 0) % array_size(shades)];
}

const char *palette_hue(const struct name *name)
{
	return hue_of(name)->class;
}

const char *palette_shade(const struct name *name)
{
	return shade_of(name)->class;
}

/* One channel of HSL: f(n) = L - S min(L, 1 - L) max(-1, min(k - 3, 9 - k, 1)), n = 0, 8, 4. */
static uint32_t channel(int n, int degrees, int saturation, int lightness)
{
	const int k = (n * 30 + degrees) % 360; /* thirtieths of k */
	const int least = lightness < 1000 - lightness ? lightness : 1000 - lightness;
	int slope = k - 90 < 270 - k ? k - 90 : 270 - k;
	int value;

	slope = slope < -30 ? -30 : slope > 30 ? 30 : slope;
	value = lightness * 3000 - saturation * least * slope;
	return (uint32_t)((value / 1000 * 255 + 1500) / 3000);
}

uint32_t palette_rgb(const struct name *name)
{
	const struct hue *hue = hue_of(name);
	const struct shade *shade = shade_of(name);
	const int degrees = (hue->degrees + shade->degrees + 360) % 360;

	return channel(0, degrees, hue->saturation, shade->lightness) << 16 |
	       channel(8, degrees, hue->saturation, shade->lightness) << 8 |
	       channel(4, degrees, hue->saturation, shade->lightness);
}

/* --- differences --------------------------------------------------------------------------- */

/* From blue through grey to orange, distinguishable with any colour vision. */
static const struct change {
	const char *class;
	uint32_t rgb; /* as in flame.css */
} changes[PALETTE_CHANGES] = {
	{ "d0", 0x8ca7e4 }, { "d1", 0x9db3e4 }, { "d2", 0xaebfe4 },  { "d3", 0xbfcae4 },
	{ "d4", 0xd0d6e4 }, { "d5", 0xe1e2e4 }, { "d6", 0xe0d4c9 },  { "d7", 0xdec6af },
	{ "d8", 0xddb994 }, { "d9", 0xdbab7a }, { "d10", 0xda9d5f },
};

/* Makes small changes visible: step k in each direction begins at ((k - 1/2) / steps)^2. */
unsigned palette_change(uint64_t before, uint64_t after)
{
	const unsigned same = PALETTE_CHANGES / 2;
	const double most = (double)u64_max(before, after);
	const double part = most > 0 ? ((double)after - (double)before) / most : 0;
	const double size = part < 0 ? -part : part;
	unsigned step = 0;

	while (step < same && size * same * same >= ((double)step + .5) * ((double)step + .5))
		step++;
	assert(step <= same);
	return part < 0 ? same - step : same + step;
}

const char *palette_change_class(unsigned step)
{
	assert(step < PALETTE_CHANGES);
	return changes[step].class;
}

uint32_t palette_change_rgb(unsigned step)
{
	assert(step < PALETTE_CHANGES);
	return changes[step].rgb;
}
