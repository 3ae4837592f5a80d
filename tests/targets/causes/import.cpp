/*
 * import: reads records, and keeps a short label of every eighth. The labels lie among the
 * records, so that the memory of these cannot go back when they are gone.
 */
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "pace.h"

namespace etl {

struct Record {
	std::vector<char> fields;

	explicit Record(std::size_t bytes) : fields(bytes, 'f') {}
};

class Labels {
public:
	void remember(int number)
	{
		labels_.push_back(std::make_unique<std::string>(30 + number % 7, 'l')); /* the cause */
	}

	std::size_t count() const { return labels_.size(); }

private:
	std::vector<std::unique_ptr<std::string>> labels_;
};

/* For a while they are worked on. */
void load(Labels &labels, int count, Pace &pace)
{
	std::vector<std::unique_ptr<Record>> records;

	records.reserve(count);
	for (int i = 0; i < count; i++) {
		records.push_back(std::make_unique<Record>(300 + i % 200));
		if (i % 8 == 0)
			labels.remember(i);
	}
	for (int i = 0; i < 20; i++)
		pace.wait();
}

}

int main()
{
	etl::Labels labels;
	std::vector<int> table(100000, 1);
	Pace pace(50);

	etl::load(labels, 120000, pace);
	for (int i = 0; i < 30; i++)
		pace.wait();
	std::printf("%zu labels, %zu in the table, %ld ms late\n", labels.count(), table.size(),
		    pace.late_ms());
	std::fflush(stdout);
	_Exit(0);
}
