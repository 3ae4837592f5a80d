/*
 * reserve: asks for room for 50 MB of hits and writes 1 MB of it. The tiles beside them are written
 * from end to end.
 */
#include <cstdio>
#include <vector>

#include "pace.h"

namespace scan {

class Hits {
public:
	void prepare(std::size_t count)
	{
		hits_.reserve(count); /* the cause */
	}

	void find(std::size_t count)
	{
		for (std::size_t i = 0; i < count; i++)
			hits_.push_back(static_cast<char>(i));
	}

	std::size_t count() const { return hits_.size(); }

private:
	std::vector<char> hits_;
};

class Tiles {
public:
	void load(int count)
	{
		for (int i = 0; i < count; i++)
			tiles_.emplace_back(4 << 20, static_cast<char>(i + 1));
	}

	std::size_t count() const { return tiles_.size(); }

private:
	std::vector<std::vector<char>> tiles_;
};

}

int main()
{
	scan::Tiles tiles;
	scan::Hits hits;
	Pace pace(100);

	tiles.load(8);
	hits.prepare(50 << 20);
	hits.find(1 << 20);
	for (int i = 0; i < 100; i++)
		pace.wait();
	std::printf("%zu tiles, %zu hits, %ld ms late\n", tiles.count(), hits.count(), pace.late_ms());
	return 0;
}
