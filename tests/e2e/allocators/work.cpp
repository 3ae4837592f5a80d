/*
 * As work.c, with the operators: plain, of arrays, aligned, that throw nothing, and in a container.
 */
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

struct alignas(64) Wide {
	char bytes[7104];
};

struct Count {
	int allocated = 0, freed = 0;
};

using Counts = std::map<size_t, Count>;

static void round_of(Counts &counts, int i)
{
	char *kept = new char[7001];

	counts[7001].allocated++;
	kept[7000] = 1;
	if (i % 10) {
		counts[7001].freed++;
		delete[] kept;
	}
	void *raw = ::operator new(7003, std::nothrow);
	::operator delete(raw, std::nothrow);
	counts[7003].allocated++, counts[7003].freed++;
	auto wide = std::make_unique<Wide[]>(1);
	counts[sizeof(Wide)].allocated++, counts[sizeof(Wide)].freed++;
	try {
		std::vector<char> vector(7013);
		counts[7013].allocated++, counts[7013].freed++;
		throw std::runtime_error("thrown");
	} catch (const std::runtime_error &) {
	}
}

int main()
{
	std::vector<Counts> counts(4);
	std::vector<std::thread> threads;
	Counts sum;

	for (auto &own : counts)
		threads.emplace_back([&own] {
			for (int i = 0; i < 200; i++)
				round_of(own, i);
		});
	for (auto &thread : threads)
		thread.join();
	for (auto &own : counts)
		for (auto &[size, count] : own) {
			sum[size].allocated += count.allocated;
			sum[size].freed += count.freed;
		}
	for (auto &[size, count] : sum)
		printf("%zu %d %d\n", size, count.allocated, count.freed);
}
