/* reduce-the-peak.md: reads everything, sorts a copy, keeps little. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 200000, KEPT = 10 };

static uint32_t *numbers_load(void)
{
	uint32_t *numbers = malloc(COUNT * sizeof(*numbers));

	for (uint32_t i = 0; i < COUNT; i++)
		numbers[i] = i * 2654435761u;
	return numbers;
}

static int compare(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a;
	const uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t *smallest(const uint32_t *numbers)
{
	uint32_t *copy = malloc(COUNT * sizeof(*copy));
	uint32_t *kept = malloc(KEPT * sizeof(*kept));

	memcpy(copy, numbers, COUNT * sizeof(*copy));
	qsort(copy, COUNT, sizeof(*copy), compare);
	memcpy(kept, copy, KEPT * sizeof(*kept));
	free(copy);
	return kept;
}

int main(void)
{
	uint32_t *numbers = numbers_load();
	uint32_t *kept = smallest(numbers);

	free(numbers);
	free(kept);
	return 0;
}
