/*
 * reserve: asks for room for 50 MB of hits and writes 1 MB of it. The tiles beside them are written
 * from end to end, half of them late. The peak is at the start.
 */
#include <cstdio>
#include <cstring>
#include <memory>
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

class Frames {
public:
	Frames()
	{
		for (std::unique_ptr<char[]> &frame : frames_)
			frame.reset(new char[BYTES]);
	}

	void draw()
	{
		for (std::unique_ptr<char[]> &frame : frames_)
			std::memset(frame.get(), 1, BYTES);
	}

	char last() const { return frames_[COUNT - 1][BYTES - 1]; }

private:
	enum { COUNT = 8, BYTES = 2 << 20 };

	std::unique_ptr<char[]> frames_[COUNT];
};

}

int main()
{
	scan::Tiles tiles;
	scan::Hits hits;
	scan::Frames frames;
	Pace pace(100);
	std::vector<char> text;

	tiles.load(4);
	hits.prepare(50 << 20);
	hits.find(1 << 20);
	std::vector<char>(1 << 20, 'x').swap(text);
	std::vector<char>().swap(text);
	for (int i = 0; i < 100; i++) {
		pace.wait();
		if (i == 50)
			frames.draw();
	}
	std::printf("%zu tiles, %zu hits, %d, %ld ms late\n", tiles.count(), hits.count(), frames.last(),
		    pace.late_ms());
	return 0;
}
